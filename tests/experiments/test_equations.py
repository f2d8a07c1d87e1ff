"""The simulated equations of the operator benchmarks: each against another way to solve it."""

import numpy as np
import pytest
from scipy.sparse import bmat
from scipy.sparse.linalg import spsolve

from experiments.equations import EQUATIONS, advection, darcy, helmholtz, navier_stokes
from experiments.equations.burgers import initial_values, velocity
from experiments.equations.darcy import pressure
from experiments.equations.helmholtz import CELLS, stiffness_blocks, top_load
from experiments.equations.navier_stokes import forces_of, vorticity
from experiments.equations.random_fields import cosine_modes, smallest_waves


def test_helmholtz_solves_the_finite_element_equations():
    c, u = helmholtz(1, seed=3)
    diagonal, above = (blocks[0] for blocks in stiffness_blocks(c))
    size = CELLS + 1
    cells = [[None] * size for _ in range(size)]
    for j in range(size):
        cells[j][j] = diagonal[j]
        if j < CELLS:
            cells[j][j + 1], cells[j + 1][j] = above[j], above[j].T
    load = np.zeros(size * size)
    load[-size:] = top_load()
    expected = spsolve(bmat(cells, format="csc"), load).reshape(size, size)
    np.testing.assert_allclose(u[0], expected, atol=1e-9 * np.abs(expected).max())


def test_helmholtz_elements_reproduce_linear_functions():
    # Without the term of order zero, -Δu = 0 holds for u = y, whose normal derivative is 1 on top.
    c = np.full((1, CELLS + 1, CELLS + 1), 1e9)
    diagonal, above = (blocks[0] for blocks in stiffness_blocks(c))
    u = np.repeat(np.linspace(0, 1, CELLS + 1)[:, None], CELLS + 1, axis=1)
    top = diagonal[-1] @ u[-1] + above[-1].T @ u[-2]
    middle = diagonal[50] @ u[50] + above[49].T @ u[49] + above[50] @ u[51]
    step = np.full(CELLS + 1, 1 / CELLS)
    step[[0, -1]] /= 2
    np.testing.assert_allclose(top, step, atol=1e-12)
    np.testing.assert_allclose(middle, 0, atol=1e-12)
    assert top_load().sum() == pytest.approx(0.3)


def test_navier_stokes_converges_in_time():
    rng = np.random.default_rng(0)
    force, start = forces_of(rng.normal(size=(1, 100))), forces_of(rng.normal(size=(1, 100)))[0]
    exact, coarse = (vorticity(force, start, steps) for steps in (100, 25))
    assert np.abs(coarse - exact).max() < 1e-6 * np.abs(exact).max()


def test_navier_stokes_of_one_wave_is_a_diffusion():
    # One wave and a force of the same wave: no transport, w' = -|k|²w/40 + f.
    x = 2 * np.pi * np.arange(64) / 64
    wave = np.cos(x)[:, None] + 0 * x
    decay = np.exp(-10 / 40)
    expected = (decay + 0.1 * 40 * (1 - decay)) * wave
    np.testing.assert_allclose(vorticity(0.1 * wave[None], wave)[0], expected, atol=1e-6)


def test_burgers_keeps_the_mean_and_converges():
    start = initial_values(np.random.default_rng(0).normal(size=(2, 129)))
    exact, coarse = (velocity(start, steps) for steps in (1000, 500))
    assert np.abs(coarse - exact).max() < 1e-8
    np.testing.assert_allclose(exact.mean(axis=1), start.mean(axis=1), atol=1e-12)
    slow = velocity(1e-6 * start, 200)  # almost the heat equation
    heat = np.exp(-0.1 * (2 * np.pi * np.fft.rfftfreq(512, 1 / 512)) ** 2)
    moved = 1e-6 * np.fft.irfft(np.fft.rfft(start) * heat)
    np.testing.assert_allclose(slow, moved, atol=1e-11)


def test_darcy_of_a_constant_permeability_is_the_torsion_of_a_square():
    u = pressure(np.full((57, 57), 12.0))
    assert 12.0 * u[28, 28] == pytest.approx(0.0736713, rel=1e-3)
    assert not u[0].any() and not u[:, -1].any()


def test_advection_moves_half_a_circle():
    X, Y = advection(20)
    np.testing.assert_array_equal(np.roll(X, 20, axis=1), Y)


def test_waves_are_orthonormal_and_shortest_first():
    waves = smallest_waves(100)
    lengths = (waves**2).sum(axis=1)
    assert len({tuple(wave) for wave in waves}) == 100 and (np.diff(lengths) >= 0).all()
    middles = (np.arange(64) + 0.5) / 64
    modes = cosine_modes(waves[:20], middles).reshape(20, -1)
    np.testing.assert_allclose(modes @ modes.T / 64**2, np.eye(20), atol=1e-12)


def test_a_seed_gives_the_same_pairs():
    for function in EQUATIONS.values():
        first, again, other = (function(1, seed=seed) for seed in (5, 5, 6))
        for values, repeated, different in zip(first, again, other, strict=True):
            assert np.isfinite(values).all()
            np.testing.assert_array_equal(values, repeated)
            assert np.abs(values - different).max() > 0


def test_batches_do_not_change_pairs():
    for function, n in ((navier_stokes, 3), (helmholtz, 2), (darcy, 2)):
        some, more = function(n - 1, seed=1), function(n, seed=1)
        np.testing.assert_allclose(some[1], more[1][: n - 1], atol=1e-12)
