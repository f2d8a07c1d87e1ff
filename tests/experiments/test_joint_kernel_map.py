"""Joint kernel maps: the optimum of the quadratic program, and the image that it predicts."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import LinearConstraint, minimize
from sklearn.exceptions import ConvergenceWarning

from experiments.peers import JointKernelMap, joint, joint_kernel_map
from experiments.peers.margins import JointMargins, PointMargins, margin_ascent
from mercer.decoders import Candidates, Threshold
from mercer.kernels import RBF, Function, Kernel, Linear
from mercer.operators import Covariance, Identity, Patchwise, Pointwise
from mercer.testing import check_structured_estimator

KERNELS = [RBF(1.0), RBF(1.0) * Covariance(), Patchwise(RBF(1.0), size=1, overlap=0),
           0.5 * RBF(1.0) * Identity() + 0.5 * Pointwise()]  # fmt: skip


class Precise(Kernel):
    """The joint kernel of a fitted operator-valued kernel, one pair at a time."""

    def __init__(self, fitted):
        self.fitted = fitted

    def __sklearn_clone__(self):
        return self

    def _gram(self, A, B):
        grams = {}

        def value(a, b):
            key = (a[0].tobytes(), b[0].tobytes())
            if key not in grams:
                grams[key] = self.fitted.gram(a[0][None], b[0][None]).blocks()[0, 0]
            return a[1] @ grams[key] @ b[1]

        return np.array([[value(a, b) for b in B] for a in A])


@pytest.fixture
def pairs(rng):
    return rng.normal(size=(6, 4)), rng.normal(size=(6, 4))


def quadratic_program(blocks, V, C):
    """The dual by a general solver: the weights (n, m), and the optimal value."""
    n = len(V)
    D = V[:, None] - V[None]  # (example, candidate, component)
    Q = np.einsum("ica,ijab,jdb->icjd", D, blocks, D).reshape(n * n, n * n)
    ell = np.einsum("ia,ica->ic", V, D).ravel()
    simplices = LinearConstraint(np.kron(np.eye(n), np.ones(n)), C, C)
    start = np.full(n * n, C / n)
    found = minimize(
        lambda a: 0.5 * a @ Q @ a - ell @ a, start, jac=lambda a: Q @ a - ell,
        bounds=[(0, None)] * (n * n), constraints=[simplices], method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-14},
    )  # fmt: skip
    return found.x.reshape(n, n), -found.fun


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("C", [0.3, 3.0])
def test_the_optimum_is_that_of_a_general_solver(kernel, C, pairs):
    X, Y = pairs
    model = JointKernelMap(kernel, C=C, tol=1e-9, max_iter=20_000).fit(X, Y)
    V = Y - Y.mean(axis=0)
    weights, value = quadratic_program(model.kernel_.gram(X).blocks(), V, C)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    assert model.objective_ - model.dual_gap_ <= value * (1 + 1e-8)
    coef = C * V - weights @ V
    expected = model.kernel_.gram(X) @ coef + Y.mean(axis=0)
    assert_allclose(model.predict(X), expected, atol=1e-3)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_slacks_are_those_of_the_distances(kernel, pairs):
    """The primal of the class docstring, literally, at the solution."""
    X, Y = pairs
    model = JointKernelMap(kernel, C=2.0, tol=1e-8, max_iter=20_000).fit(X, Y)
    H = model.predict(X)
    slacks = []
    for h, y in zip(H, Y, strict=True):
        further = ((h - Y) ** 2).sum(axis=1) - ((h - y) ** 2).sum()
        slacks.append(((((y - Y) ** 2).sum(axis=1) - further) / 2).max())
    coef = model.coef_
    norm = float((coef * (model.kernel_.gram(X) @ coef)).sum())
    assert 0.5 * norm + 2.0 * sum(slacks) == pytest.approx(model.objective_, rel=1e-7)


def test_both_ways_to_keep_scores_agree(pairs):
    X, Y = pairs
    V = Y - Y.mean(axis=0)
    kernel = Patchwise(RBF(1.0), size=1, overlap=0).fit(X, V)
    losses = (V**2).sum(axis=1)[:, None] - V @ V.T
    own = np.arange(6)
    found = [
        margin_ascent(margins, losses, own, C=2.0, tol=1e-6)
        for margins in (JointMargins(kernel.gram(X).joint(V)), PointMargins(kernel.gram(X), V))
    ]
    assert found[0][1] == pytest.approx(found[1][1], rel=1e-5)
    points = [kernel.gram(X) @ (2.0 * V - weights @ V) for weights, *_ in found]
    assert_allclose(*points, atol=1e-2)


def test_a_constant_added_to_outputs_is_added_to_predictions(pairs):
    X, Y = pairs
    model = JointKernelMap(RBF(1.0), C=0.5, tol=1e-8, max_iter=20_000)
    near, far = (model.fit(X, Y + c).predict(X) for c in (0.0, 100.0))
    assert_allclose(far, near + 100.0, atol=1e-3)


def test_a_large_c_meets_the_training_outputs_where_they_surround_each_other(rng):
    X = rng.normal(size=(30, 1))
    Y = np.hstack([np.sin(X), np.cos(X)])
    error = [
        float(((JointKernelMap(RBF(0.5), C=C, tol=1e-2).fit(X, Y).predict(X) - Y) ** 2).mean())
        for C in (1e-3, 10.0)
    ]
    assert error[1] < 0.05 * error[0]


def test_linear_outputs_are_predicted_as_new_points_and_others_as_candidates(pairs):
    X, Y = pairs
    new = JointKernelMap(RBF(1.0)).fit(X, Y).predict(X)
    assert not any((new[0] == y).all() for y in Y)
    for model in (JointKernelMap(RBF(1.0), RBF(1.0)), JointKernelMap(decoder=Candidates())):
        best = model.fit(X, Y).predict(X)
        assert all(any((b == y).all() for y in Y) for b in best)


def test_a_joint_kernel_says_the_same_as_its_parts(pairs):
    X, Y = pairs
    parts = JointKernelMap(Pointwise(), Linear(), tol=1e-2).fit(X, Y)
    whole = JointKernelMap(joint(Pointwise()), tol=1e-2).fit(X, Y)
    assert_allclose(whole.predict(X), parts.predict(X))
    with pytest.raises(ValueError, match="has its output kernel already"):
        JointKernelMap(joint(Pointwise()), Linear()).fit(X, Y)


def test_equal_outputs_are_one_candidate(pairs):
    X, Y = pairs
    model = JointKernelMap(RBF(1.0)).fit(X, Y[[0, 0, 1, 1, 2, 2]])
    assert model.candidates_.shape == (3, 4)
    assert_allclose(model.dual_coef_.sum(axis=1), 1.0)


def test_too_few_passes_warn_and_say_the_gap(pairs):
    with pytest.warns(ConvergenceWarning, match=r"stopped after 1 passes at a duality gap"):
        model = JointKernelMap(C=100.0, max_iter=1, tol=1e-9).fit(*pairs)
    assert model.n_iter_ == 1 and model.dual_gap_ > 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"C": 0.0}, "C must be a positive number, got 0.0"),
        ({"C": "big"}, "C must be a positive number"),
        ({"tol": -1.0}, "tol must be a positive number"),
        ({"max_iter": 0}, "max_iter must be a positive integer"),
        ({"decoder": Threshold()}, "is calibrated on left-out predictions"),
    ],
)
def test_bad_parameters_are_named(settings, message, pairs):
    with pytest.raises(ValueError, match=message):
        JointKernelMap(**settings).fit(*pairs)


def test_contract(pairs, rng):
    check_structured_estimator(JointKernelMap(RBF(1.0)), *pairs)
    images = rng.normal(size=(7, 3, 3))
    check_structured_estimator(JointKernelMap(Patchwise(size=2, overlap=1)), images, images)


@pytest.mark.parametrize("small", [0, 4000])
def test_another_array_library_stays_itself(small, pairs, monkeypatch):
    xp = pytest.importorskip("array_api_strict")
    monkeypatch.setattr(joint_kernel_map, "JOINT_PAIRS", small)
    for kernel in (KERNELS[1], KERNELS[2]):
        model = JointKernelMap(kernel, C=0.3, tol=1e-4)
        expected = model.fit(*pairs).predict(pairs[0])
        X, Y = (xp.asarray(A) for A in pairs)
        got = model.fit(X, Y).predict(X)
        assert hasattr(got, "__array_namespace__")
        assert_allclose(np.asarray(got), expected, atol=3e-2)


def test_a_pickled_model_predicts_the_same(pairs):
    X, Y = pairs
    for kernel in KERNELS:
        model = JointKernelMap(kernel, C=0.3, tol=1e-2).fit(X, Y)
        again = pickle.loads(pickle.dumps(model))
        assert_allclose(again.predict(X), model.predict(X), atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_any_joint_kernel_gives_the_scores_of_the_operator_valued_one(kernel, pairs):
    """Said both ways, on outputs of mean zero: a joint kernel as such cannot centre them."""
    X, Y = pairs
    Y = Y - Y.mean(axis=0)
    settings = {"C": 0.5, "tol": 1e-8, "max_iter": 50_000}
    parts = JointKernelMap(kernel, decoder=Candidates(), **settings).fit(X, Y)
    J = Precise(parts.kernel_)
    whole = JointKernelMap(joint=J, **settings).fit(X, Y)
    assert whole.objective_ == pytest.approx(parts.objective_, rel=1e-6)
    assert_allclose(whole.embed(X).inner(Y), parts.embed(X).inner(Y), atol=1e-3)
    assert_allclose(whole.predict(X), parts.predict(X))


def test_a_joint_kernel_that_is_not_bilinear_chooses_among_training_outputs():
    def rhyme(a, b):
        return float((a[0][-1] == b[0][-1]) * (a[1][-1] == b[1][-1])) + 0.1 * float(a == b)

    words, rhymes = ["cat", "dog", "hat", "log"], ["mat", "fog", "mat", "fog"]
    same = Function(lambda a, b: float(a == b), of_items=True)
    model = JointKernelMap(joint=Function(rhyme, of_items=True), output_kernel=same, C=10.0)
    assert model.fit(words, rhymes).predict(["bat", "frog"]).tolist() == ["mat", "fog"]
    assert [len(top) for top in model.predict_top(["bat"], k=5)] == [2]
    with pytest.raises(ValueError, match="scores but no predicted points"):
        model.score(words, rhymes)
    with pytest.raises(ValueError, match="is none of them"):
        model.embed(["bat"]).inner(["cat"])


def test_joint_and_kernel_are_one_or_the_other(pairs):
    with pytest.raises(ValueError, match="give kernel= or joint=, not both"):
        JointKernelMap(RBF(1.0), joint=joint(RBF(1.0))).fit(*pairs)


def test_a_joint_kernel_of_too_many_pairs_is_refused(rng, pairs):
    X = rng.normal(size=(70, 2))
    with pytest.raises(ValueError, match="all 70 inputs with all 70 outputs, up to 4000 pairs"):
        JointKernelMap(joint=joint(RBF(1.0))).fit(X, X)
