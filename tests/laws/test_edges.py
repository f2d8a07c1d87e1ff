"""Laws at the edges of what data can be: constants, rows far away, a handful of pairs."""

from itertools import product

import numpy as np
import pytest
from sklearn.base import clone

from mercer import KernelDependency, KernelDependencyCV
from mercer.decoders import Candidates
from mercer.features import Explicit, IncompleteCholesky, KernelPCA, Nystroem
from mercer.kernels import (
    RBF,
    Gaussian,
    Linear,
    Polynomial,
    Standardized,
    VectorKernel,
)
from mercer.operators import Covariance, CurlFree, Identity


@pytest.mark.parametrize("operator", [Identity(), Covariance()])
@pytest.mark.parametrize(
    ("kernel", "features"),
    [
        (RBF(1.0), IncompleteCholesky()),
        (RBF(1.0), Nystroem(3, random_state=0)),
        (Linear(), Explicit()),
        (Linear(), IncompleteCholesky(2)),
    ],
)
@pytest.mark.parametrize("choose", [False, True])
def test_constant_inputs_leave_the_mean_of_the_other_outputs(kernel, features, operator, choose):
    X, Y = np.ones((6, 2)), np.random.default_rng(0).normal(size=(6, 2))
    parts = {"kernel": kernel * operator, "features": features}
    model = KernelDependencyCV(alphas=[0.1], **parts) if choose else KernelDependency(**parts)
    wanted = (Y.sum(axis=0) - Y) / 5
    assert np.allclose(model.fit(X, Y).loo_predict(), wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("outputs", [Linear(), RBF(1.0)])
def test_groups_of_constant_inputs(outputs):
    X, Y = np.ones((6, 2)), np.arange(12.0).reshape(6, 2) % 5
    groups = np.array([0, 0, 1, 1, 1, 2])
    model = KernelDependencyCV(
        RBF(1.0), outputs, alphas=[0.1], features=Nystroem(2, random_state=0)
    )
    found = model.fit(X, Y, groups=groups).loo_embed().inner(Y)
    apart = (groups[:, None] != groups) / (groups[:, None] != groups).sum(axis=1, keepdims=True)
    assert np.allclose(found, apart @ outputs(Y), rtol=0, atol=1e-12)


# -- outputs far from zero ---------------------------------------------------------------------

FAR = 1.7e9  # seconds since 1970
RNG = np.random.default_rng(3)
INPUTS = RNG.normal(size=(40, 2))
OUTPUTS = np.column_stack([np.sin(INPUTS[:, 0]), INPUTS[:, 1]]) + FAR


def test_scores_and_distances_of_outputs_far_from_zero():
    model = KernelDependency(RBF(1.0), alpha=0.1).fit(INPUTS, OUTPUTS)
    g = model.predict(INPUTS)
    spread = ((OUTPUTS - OUTPUTS.mean(axis=0)) ** 2).sum()
    assert model.score(INPUTS, OUTPUTS) == pytest.approx(1 - ((g - OUTPUTS) ** 2).sum() / spread)
    apart = np.linalg.norm(g[:5, None] - OUTPUTS[None, :7], axis=2)
    assert np.allclose(model.embed(INPUTS[:5]).distances(OUTPUTS[:7]), apart, rtol=0, atol=1e-6)


@pytest.mark.parametrize("index", [None, "faiss", "hnsw"])
def test_the_nearest_candidate_far_from_zero(index):
    pytest.importorskip("faiss")
    points = KernelDependency(RBF(1.0), alpha=0.1).fit(INPUTS, OUTPUTS).predict(INPUTS)
    nearest = np.linalg.norm(points[:, None] - OUTPUTS[None], axis=2).argmin(axis=1)
    model = KernelDependency(RBF(1.0), alpha=0.1, decoder=Candidates(index=index))
    found = model.fit(INPUTS, OUTPUTS).predict(INPUTS)
    assert np.array_equal(found, OUTPUTS[nearest])
    lists = [OUTPUTS] * len(INPUTS)
    assert np.array_equal(model.predict(INPUTS, lists, leave_out_candidates=False), found)


@pytest.mark.parametrize("model", [KernelDependency(), KernelDependencyCV()])
@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("given", ["yes", 1, None])
def test_an_intercept_is_there_or_not(model, blocks, given):
    model = clone(model).set_params(fit_intercept=given, kernel=Linear())
    with pytest.raises(ValueError, match="fit_intercept must be True or False"):
        model.fit([(INPUTS, OUTPUTS)]) if blocks else model.fit(INPUTS, OUTPUTS)


def test_variances_beside_a_row_far_away_are_positive():
    X = np.random.default_rng(5).normal(size=(300, 6))
    X[100] = 1e5
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2])
    features = Nystroem(30, random_state=0)
    model = KernelDependency(Polynomial(2), alpha=0.1, features=features).fit(X, Y)
    points = model.embed(X[:40])
    assert np.all(points.variance() > 0)
    left = model.predict(X)[:, 0] - Y[:, 0]
    assert points.posterior.noise > (left @ left) / 600 / 10


# -- what is settled on the data is settled on weighted data, however they come -----------------


@pytest.mark.parametrize("n", [60, 5000])
@pytest.mark.parametrize("kernel", [RBF(), Standardized(Linear()), Standardized(RBF(1.0))])
def test_scales_of_weighted_pairs_in_blocks(kernel, n):
    X = np.random.default_rng(0).normal(size=(n, 2)) ** 3
    Y, w = X[:, :1] + X[:, 1:] ** 2, np.arange(n) % 4 + 0.0
    landmarks = np.array([[0.0, 0.0], [1.0, 2.0]])
    features = Explicit() if kernel.features else Nystroem(landmarks=landmarks)
    model = KernelDependency(kernel, Standardized(Linear()), features=features)
    wanted = clone(model).fit(X, Y, sample_weight=w).predict(X[:9])
    half = n // 2
    blocks = [(X[:half], Y[:half], w[:half]), (X[half:], Y[half:], w[half:])]
    assert np.allclose(model.fit(blocks).predict(X[:9]), wanted, rtol=0, atol=1e-9)
    if n == 60:
        times = w.astype(int)
        again = model.fit(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0))
        assert np.allclose(again.predict(X[:9]), wanted, rtol=0, atol=1e-9)


def test_coupled_kernels_have_no_draws():
    model = KernelDependency(CurlFree(1.0), alpha=0.1).fit(INPUTS, OUTPUTS - FAR)
    with pytest.raises(ValueError, match="draws are for a scalar kernel times an operator"):
        model.embed(INPUTS).sample()


# -- kernels of other people -------------------------------------------------------------------


class Kept(VectorKernel):
    """Keeps the matrices that it gives, which are then not ours to destroy."""

    def _gram(self, A, B):
        key = A.tobytes(), B.tobytes()
        if key not in self.__dict__.setdefault("kept_", {}):
            self.kept_[key] = RBF(1.0)(A, B)
            self.kept_[key].flags.writeable = False
        return self.kept_[key]


class Single(VectorKernel):
    """Gives single precision, in which small eigenvalues are negative."""

    def _gram(self, A, B):
        return (np.round(A) @ np.round(B).T).astype(np.float32)


PARTS = {
    "plain": {},
    "spectral": {"solver": "spectral"},
    "covariance": {"operator": Covariance()},
    "exact features": {"features": IncompleteCholesky()},
    "landmarks": {"features": Nystroem(landmarks=np.vstack([INPUTS[:5], INPUTS[:1]]))},
    "outputs": {"output_kernel": True},
    "centred outputs": {"output_kernel": True, "output_features": KernelPCA(2, center=True)},
}


@pytest.mark.parametrize(
    ("name", "n", "intercept"),
    [*product(PARTS, [20], [False, True]), ("plain", 1001, False), ("covariance", 260, False)],
)
def test_matrices_that_a_kernel_keeps_stay_what_they_are(name, n, intercept):
    X = np.random.default_rng(0).normal(size=(n, 2))
    given = {"operator": Identity(), **PARTS[name]}

    def predicted(make):
        parts = {**given, "kernel": make() * given["operator"], "fit_intercept": intercept}
        parts.pop("operator")
        if "output_kernel" in parts:
            parts["output_kernel"] = make()
        models = [KernelDependency(**parts)]
        if intercept or name != "centred outputs":
            models.append(KernelDependencyCV(alphas=[1.0], **parts))
        return [model.fit(X, X[:, ::-1]).embed(X).inner(X[:9]) for model in models]

    for found, wanted in zip(predicted(Kept), predicted(lambda: RBF(1.0)), strict=True):
        assert np.allclose(found, wanted, rtol=0, atol=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
def test_kernel_values_of_single_precision(intercept):
    parts = {"alpha": 0.1, "fit_intercept": intercept}
    model = KernelDependency(Single() * Covariance(), **parts).fit(INPUTS, OUTPUTS - FAR)
    wanted = KernelDependency(Linear() * Covariance(), **parts)
    wanted = wanted.fit(np.round(INPUTS), OUTPUTS - FAR).predict(np.round(INPUTS))
    assert np.allclose(model.predict(INPUTS), wanted, rtol=0, atol=1e-9)


# -- few pairs, and constant outputs -----------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [{"kernel": RBF(1.0), "criterion": "evidence"}, {"search": "gradient"}],
    ids=["evidence", "gradient"],
)
@pytest.mark.filterwarnings("ignore")
def test_the_evidence_of_constant_outputs(given):
    model = KernelDependencyCV(**given).fit(INPUTS[:9], np.full(9, 2.5))
    assert np.allclose(model.predict(INPUTS), 2.5)


def test_a_gaussian_of_a_kernel_keeps_its_digits_far_from_zero():
    def wrap(kernel):
        return Gaussian(kernel, 1.0)

    near = np.round(INPUTS * 2.0**10) / 2.0**10
    wanted = wrap(Linear()).fit(near)(near)
    for kernel in (Linear(), Linear() + Linear(), 2.0 * Linear()):
        far, close = (wrap(kernel).fit(A)(A) for A in (near + 1e6, near))
        assert np.allclose(far, close, rtol=0, atol=1e-8)
    assert np.allclose(wrap(Linear()).fit(near + 1e6).diag(near + 1e6), wanted.diagonal())
