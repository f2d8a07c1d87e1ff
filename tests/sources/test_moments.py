"""Moments add over rows, move to other origins and other coordinates, on every array library."""

import pickle

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mercer._base.arrays import host
from mercer._base.linalg import congruence, spectral_norm
from mercer.features import Explicit, IncompleteCholesky, KernelPCA, Nystroem
from mercer.kernels import RBF, Linear
from mercer.operators import Moments
from mercer.sources import Gathering
from tolerances import IDENTITY

FIELDS = ("uu", "vu", "vv", "u", "v")


def plain(A):
    return host(getattr(A, "full", A))


def same(a, b, tolerance=IDENTITY):
    assert a.n == b.n
    for name in FIELDS:
        wanted = plain(getattr(b, name))
        scale = max(1.0, float(np.abs(wanted).max()))
        assert_allclose(plain(getattr(a, name)), wanted, rtol=0, atol=tolerance * scale)


@settings(max_examples=20)
@given(st.integers(1, 19), st.integers(0, 3))
def test_moments_add(cut, seed):
    rng = np.random.default_rng(seed)
    U, V = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    whole = Moments.of(U, V)
    same(Moments.of(U[:cut], V[:cut]) + Moments.of(U[cut:], V[cut:]), whole)
    a, b = rng.normal(size=3), rng.normal(size=2)
    same(whole.about(a, b), Moments.of(U - a, V - b))
    same(whole.about(*whole.means), Moments.of(U - U.mean(0), V - V.mean(0)))
    M = rng.normal(size=(3, 4))
    same(whole.mapped(M), Moments.of(U @ M, V))


def test_moments_without_sums_still_add(rng):
    U, V = rng.normal(size=(9, 3)), rng.normal(size=(9, 2))
    plain = Moments(9, U.T @ U, V.T @ U, V.T @ V)
    assert (plain + Moments.of(U, V)).u is None
    assert plain.mapped(np.eye(3)).u is None


def test_triangular_congruence_and_norm(rng):
    A = rng.normal(size=(30, 5))
    W = np.triu(rng.normal(size=(5, 5)))
    assert_allclose(congruence(A.T @ A, W), (A @ W).T @ (A @ W), atol=IDENTITY)
    assert_allclose(congruence(A.T @ A, W.T), (A @ W.T).T @ (A @ W.T), atol=IDENTITY)
    assert spectral_norm(A) == pytest.approx(np.linalg.norm(A, 2), rel=0.05)


MAPS = {
    "explicit": lambda: Explicit(),
    "Nyström": lambda: Nystroem(rank=8, random_state=0),
    "greedy": lambda: IncompleteCholesky(8),
    "kernel PCA": lambda: KernelPCA(4),
    "centred kernel PCA": lambda: KernelPCA(4, center=True),
}


@pytest.mark.parametrize("steady", [0.0, np.inf], ids=["turned", "bare"])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("name", MAPS)
def test_gathered_moments_are_those_of_the_coordinates(name, center, steady, rng, monkeypatch):
    monkeypatch.setattr("mercer.features.landmarks.MAGNIFICATION", steady)
    monkeypatch.setattr("mercer._base.threads.MOST_BLOCK_ROWS", 7)
    X, Y = rng.normal(size=(60, 3)) + 2, rng.normal(size=(60, 2)) + 5
    inputs = MAPS[name]().fit(Linear() if name == "explicit" else RBF(1.0), X)
    outputs = Explicit().fit(Linear(), Y)
    gathering = Gathering.of(inputs, outputs, X[:20], Y[:20], center)
    for start in range(0, 60, 13):
        rows = slice(start, start + 13)
        gathering = gathering.plus(gathering.moments_of(X[rows], Y[rows]))
    origins = gathering.origins if center else (0.0, 0.0)
    same(gathering.moments, Moments.of(inputs.transform(X) - origins[0], Y - origins[1]), 1e-9)
    landmarks = name not in ("explicit", "centred kernel PCA")
    assert (gathering.weights is not None) == (landmarks and steady > 0)
    same(pickle.loads(pickle.dumps(gathering)).moments, gathering.moments)


@pytest.mark.parametrize("steady", [0.0, np.inf], ids=["turned", "bare"])
@pytest.mark.parametrize("center", [False, True])
def test_weighted_moments_are_those_of_repeated_rows(center, steady, rng, monkeypatch):
    monkeypatch.setattr("mercer.features.landmarks.MAGNIFICATION", steady)
    monkeypatch.setattr("mercer._base.threads.MOST_BLOCK_ROWS", 7)
    X, Y, times = rng.normal(size=(30, 3)), rng.normal(size=(30, 2)), np.arange(30) % 4
    inputs, outputs = Nystroem(landmarks=X[:8]).fit(RBF(1.0), X), Explicit().fit(Linear(), Y)
    gathering = Gathering.of(inputs, outputs, X, Y, center)
    weighted = gathering.plus(gathering.moments_of(X, Y, times.astype(float))).moments
    repeated = gathering.moments_of(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0))
    same(weighted, gathering.plus(repeated).moments)


def test_adding_leaves_the_original_alone(rng):
    X = rng.normal(size=(30, 3))
    gathering = Gathering.of(Explicit().fit(Linear(), X), Explicit().fit(Linear(), X), X, X)
    gathering = gathering.plus(gathering.moments_of(X[:10], X[:10]))
    before = gathering.moments
    gathering.plus(gathering.moments_of(X[10:], X[10:]))
    same(gathering.moments, before, 0.0)


def test_what_is_sent_to_workers_gathers_the_same(rng):
    X = rng.normal(size=(40, 3))
    inputs = Nystroem(rank=5, random_state=0).fit(RBF(1.0), X)
    whole = Gathering.of(inputs, Explicit().fit(Linear(), X), X, X)
    sent = pickle.loads(pickle.dumps(whole.for_worker()))
    assert sent.weights is None
    same(whole.plus(sent.moments_of(X, X)).moments, Moments.of(inputs.transform(X), X))


def test_other_array_libraries(rng):
    X = rng.normal(size=(30, 3))
    foreign = array_api_strict.asarray(X)
    map = Explicit().fit(Linear(), foreign)
    gathering = Gathering.of(map, map, foreign, foreign, center=True)
    moments = gathering.plus(gathering.moments_of(foreign, foreign)).moments
    same(moments.about(*moments.means), Moments.of(X - X.mean(0), X - X.mean(0)))
