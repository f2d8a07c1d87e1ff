"""Left-out predictions equal literal refits; B, landmarks and length scales are those of all."""

import mpmath
import numpy as np
import pytest

from laws.cases import (
    PROBLEMS,
    crossed,
    off,
    posed,
    size,
    under,
    vectors,
)
from mercer import KernelDependency, KernelDependencyCV
from mercer.decoders import Candidates
from mercer.features import Nystroem
from mercer.kernels import RBF, Labels, Linear, Normalized, Spectrum
from tolerances import LEFT_OUT

RELATIVE = 1e-5
FLOOR = 1e-11


def checked(model, problem, alpha):
    """Compare the left-out points and the risk of a fit with literal refits."""
    points = problem.ridge(alpha).left_out(problem.labels)
    model.fit(problem.X, problem.Y, **problem.fit)
    found = model.loo_embed().inner(problem.Y)
    assert off(found, points @ problem.outputs.T) <= LEFT_OUT
    errors = ((points - problem.outputs) ** 2).sum(axis=1)
    return problem.weights @ errors / problem.weights.sum()


@pytest.mark.parametrize(("name", "condition"), under())
def test_of_a_choice(name, condition):
    problem = posed(name, condition)
    alpha = RELATIVE * size(problem)
    model = KernelDependencyCV(alphas=[alpha], **problem.params)
    risk = checked(model, problem, alpha)
    assert model.loo_risk_ == pytest.approx(risk, rel=1e-8)
    assert model.cv_results_["risk"][0] == pytest.approx(risk, rel=1e-8)


@pytest.mark.parametrize("condition", ["plain", "weights, intercept, groups"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_of_one_fit(name, condition):
    problem = posed(name, condition)
    alpha = RELATIVE * size(problem)
    checked(KernelDependency(alpha=alpha, **problem.params), problem, alpha)


@pytest.mark.parametrize(
    ("name", "solver"),
    [("identity", "cholesky"), ("identity", "spectral"), ("rbf outputs", "cholesky"),
     ("sum", "dense"), ("fields", "dense")],
)  # fmt: skip
def test_of_one_fit_by_every_solver(name, solver):
    problem = posed(name, "intercept, groups")
    alpha = RELATIVE * size(problem)
    checked(KernelDependency(alpha=alpha, solver=solver, **problem.params), problem, alpha)


# -- small ridges ------------------------------------------------------------------------------

EXACT = {"identity": 20, "line": 20, "linear kernel": 20, "rbf outputs": 12}
AT = [
    "plain",
    "intercept",
    "intercept, groups",
    "wide, intercept, groups",
    "repeated, intercept, groups",
]


@pytest.mark.parametrize(("name", "condition"), crossed(EXACT, AT))
def test_small_ridges(name, condition):
    """Against refits at 50 digits, a hundred times the error of refits by Cholesky: H is near 1."""
    problem = posed(name, condition, EXACT[name])
    alpha, V = 1e-10 * size(problem), problem.outputs
    ridge = problem.ridge(alpha)
    with mpmath.workdps(50):
        wanted = problem.ridge(alpha, exactly=True).left_out(problem.labels).astype(float) @ V.T
    plain = off(ridge.left_out(problem.labels, by_cholesky=True) @ V.T, wanted)
    model = KernelDependencyCV(alphas=[alpha], **problem.params)
    found = model.fit(problem.X, problem.Y, **problem.fit).loo_embed().inner(problem.Y)
    assert off(found, wanted) <= max(100 * plain, FLOOR)


# -- what literal formulas do not reach: refits by the estimator itself ------------------------

GROUPS = np.arange(18) * 5 % 7


def refitted(make, X, Y, labels, report):
    """What models fitted without each label say of its examples, in order."""
    found = [None] * len(labels)
    for label in np.unique(labels):
        (out,), (rest,) = np.nonzero(labels == label), np.nonzero(labels != label)
        model = make().fit([X[i] for i in rest], [Y[i] for i in rest])
        for i, value in zip(out, report(model, [X[i] for i in out]), strict=True):
            found[i] = value
    return found


WORDS = ["abc", "bcd", "cda", "dab", "abd", "bca", "cab", "dcb"]
STRINGS = Normalized(Spectrum(2))
DECODED = {
    "candidates": {"output_kernel": STRINGS, "decoder": Candidates()},
    "candidates, low rank": {
        "output_kernel": STRINGS,
        "decoder": Candidates(),
        "features": Nystroem(landmarks=np.eye(3)),
    },
    "vectors": {"output_kernel": Linear()},
}


@pytest.mark.parametrize(
    "make",
    [KernelDependencyCV, KernelDependency],
)
@pytest.mark.parametrize(("grouped", "intercept"), [(False, False), (True, True)])
@pytest.mark.parametrize("name", DECODED)
def test_decoded(name, grouped, intercept, make):
    X, Y = vectors(12)
    Y = Y if name == "vectors" else WORDS + WORDS[:4]
    labels = GROUPS[:12] if grouped else np.arange(12)
    parts = {"kernel": RBF(1.0), "fit_intercept": intercept, **DECODED[name]}
    ridge = {"alphas": [0.05]} if make is KernelDependencyCV else {"alpha": 0.05}
    model = make(**ridge, **parts).fit(X, Y, groups=labels if grouped else None)
    wanted = refitted(
        lambda: KernelDependency(alpha=0.05, **parts), X, Y, labels,
        lambda model, A: model.predict(A),
    )  # fmt: skip
    if name == "vectors":
        assert off(model.loo_predict(), np.array(wanted)) <= LEFT_OUT
    else:
        assert list(model.loo_predict()) == wanted


@pytest.mark.parametrize(
    "make",
    [KernelDependencyCV, KernelDependency],
)
def test_a_decoder_is_calibrated_on_what_is_left_out(make):
    """The threshold of label sets: both estimators settle on the same one."""
    X, _ = vectors(18)
    tags = [{"a"} if x[0] > 0 else {"b", "c"} if x[1] > 0 else {"c"} for x in X]
    ridge = {"alphas": [0.05]} if make is KernelDependencyCV else {"alpha": 0.05}
    model = make(RBF(1.0), Labels(), fit_intercept=True, **ridge).fit(X, tags, groups=GROUPS)
    points = KernelDependencyCV(RBF(1.0), Labels(), [0.05], fit_intercept=True)
    points = points.fit(X, tags, groups=GROUPS).loo_embed()
    assert [set(y) for y in model.loo_predict()] == [set(y) for y in model.decoder_.decode(points)]
