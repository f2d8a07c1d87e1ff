"""What a user does with fields: learn a flow on a circle, refine it, save it, and bound it."""

import numpy as np

import mercer
from mercer import ConformalSets, KernelDependency, KernelDependencyCV, LocalLaw
from mercer.fields import Shared, ShiftEquivariant, predict_on
from mercer.kernels import Matern
from mercer.metrics import relative_error
from mercer.spaces import Fields


def advected(n, points, seed=0):
    """Profiles on a circle, and the profiles after high parts moved faster than low ones."""
    rng = np.random.default_rng(seed)
    x = np.arange(points) / points
    phase, size = rng.uniform(size=(2, n, 3))
    waves = [np.sin(2 * np.pi * (k * x + phase[:, k - 1 : k])) for k in (1, 2, 3)]
    X = sum(size[:, k : k + 1] * wave / (k + 1) for k, wave in enumerate(waves))
    return X, X - 0.02 * X * np.gradient(X, x, axis=1)


def test_a_flow_on_a_circle(tmp_path):
    X, Y = advected(160, 32)
    train, new = slice(0, 100), slice(100, 160)
    ring = Fields(periodic=("x",), spacing=1 / 32)
    kernels = [Matern(s) for s in (4.0, 16.0)]
    plain = KernelDependencyCV(kernels).fit(X[train], Y[train])
    moved = KernelDependencyCV([ShiftEquivariant(kernel, "x") for kernel in kernels])
    moved.fit(X[train], Y[train])
    errors = [relative_error(Y[new], model.predict(X[new])) for model in (plain, moved)]
    assert errors[1] < 0.5 * errors[0] < 0.5
    assert moved.loo_risk_ < plain.loo_risk_

    windows = Shared(Matern(8.0), None, 0.1, 0.0, 0.1, rank=300, fields=ring, output_fields=ring)
    shared = KernelDependency(windows, alpha=1e-4).fit(X[train], Y[train])
    assert relative_error(Y[new], shared.predict(X[new])) < 0.05
    finer = predict_on(shared, X[new], Fields(spacing=1 / 64))
    assert relative_error(advected(160, 64)[1][new], finer) < 0.1

    for model in (moved, shared):
        loaded = mercer.load(mercer.save(model, tmp_path / "model.mercer"))
        np.testing.assert_array_equal(loaded.predict(X[new]), model.predict(X[new]))
    sets = ConformalSets(moved, coverage=0.8, kind="band", calibration="split")
    covered = sets.fit(X[train], Y[train]).covers(X[new], Y[new])
    assert 0.6 < np.mean(covered) <= 1.0


def test_a_law_of_neighbours(tmp_path):
    springs = np.random.default_rng(0).uniform(0.1, 1.0, size=(60, 16))
    systems = [np.diag(2 + s) - np.eye(16, k=1) - np.eye(16, k=-1) for s in springs]
    shapes = np.linalg.solve(np.array(systems), np.ones((60, 16, 1)))[:, :, 0]
    law = LocalLaw(rank=40).fit(springs[:50], shapes[:50])
    loaded = mercer.load(mercer.save(law, tmp_path / "law.mercer"))
    assert relative_error(shapes[50:], loaded.predict(springs[50:])) < 1e-3
