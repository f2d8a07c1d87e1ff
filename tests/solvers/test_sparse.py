import numpy as np
import pytest

from mercer import KernelDependency
from mercer.features import Explicit
from mercer.kernels import Labels, Spectrum
from mercer.solvers import sparse as sparse_solver
from mercer.solvers.parts import Parts

RNG = np.random.default_rng(0)
WORDS = ["".join(RNG.choice(list("abcd"), RNG.integers(3, 7))) for _ in range(30)]
REVERSED = [word[::-1] for word in WORDS]
NEW = ["abab", "dcba", "aacd"]


def fitted(monkeypatch, alone, intercept=True, weights=None, groups=None, decoder=None):
    """The fit with sparse outputs, or the same fit with dense features of both sides."""
    if alone:
        monkeypatch.setattr(sparse_solver, "DENSE_OUTPUTS", 0)
    kernel, output = 2.0 * Spectrum(2, blended=True), Spectrum(2, blended=True)
    features = Explicit(sparse=alone)
    model = KernelDependency(
        kernel, output, 0.3, decoder, features, Explicit(), fit_intercept=intercept
    )
    return model.fit(WORDS, REVERSED, groups=groups, sample_weight=weights)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("grouped", [True, False])
def test_sparse_outputs_give_the_points_of_dense_ones(monkeypatch, intercept, weighted, grouped):
    weights = RNG.integers(1, 4, 30).astype(float) if weighted else None
    groups = np.arange(30) // 4 if grouped else None
    dense = fitted(monkeypatch, False, intercept, weights, groups)
    sparse = fitted(monkeypatch, True, intercept, weights, groups)
    a, b = dense.embed(NEW).coordinates, sparse.embed(NEW).coordinates
    np.testing.assert_allclose(a, b, atol=1e-9)
    left, right = dense.loo_embed(), sparse.loo_embed()
    np.testing.assert_allclose(left.coordinates, right.coordinates, atol=1e-8)
    np.testing.assert_array_equal(left.left_out, right.left_out)


def test_a_decoder_is_calibrated_on_whole_groups_of_a_sample(monkeypatch):
    from mercer.decoders import Search

    monkeypatch.setattr(sparse_solver, "SAMPLED_ROWS", 12)
    groups = np.arange(30) // 3
    model = fitted(monkeypatch, True, groups=groups, decoder=Search(floor=1.0, beam=2, rounds=2))
    factorization = model.fitted_.factorization
    points, rows = factorization.left_out_sample(0.3)
    assert len(rows) == 12 and set(groups[rows]) == set(points.left_out)
    np.testing.assert_array_equal(np.bincount(groups[rows])[list(set(groups[rows]))], 3)
    every = model.loo_embed()
    np.testing.assert_allclose(points.coordinates, every.coordinates[rows], atol=1e-10)
    residuals = model.output_kernel_.features(np.array(REVERSED, object)[rows])
    variances = ((residuals - points.coordinates) ** 2).mean(axis=0)
    expected = 1.0 / (variances + variances.mean())
    np.testing.assert_allclose(model.decoder_.weights_, expected, rtol=1e-6)


def test_small_outputs_are_solved_by_their_moments():
    sets = [[word[0]] for word in WORDS]
    model = KernelDependency(
        Spectrum(2), Labels(), 0.3, features=Explicit(sparse=True), fit_intercept=False
    )
    assert isinstance(model.fit(WORDS, sets).fitted_.factorization, Parts)
