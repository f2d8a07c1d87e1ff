"""The short way to left-out points is the leave-one-out of the general one."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import KernelDependency, KernelDependencyCV
from mercer.decoders import Candidates
from mercer.kernels import Spectrum


class Keeper(Candidates):
    """Keeps the left-out points that it is given."""

    calibrates = True

    def calibrate(self, points, y):
        self.points_ = points
        return self


@pytest.mark.parametrize("groups", [None, [0, 0, 1, 2, 2, 2, 3, 1]])
def test_left_out_points_of_wide_features(groups):
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("0123"), 6)) for _ in range(8)]
    y = ["".join(rng.choice(list("abcd"), 6)) for _ in range(8)]
    kernel, output_kernel = Spectrum(2, blended=True), Spectrum(3, blended=True, width=2)
    model = KernelDependency(kernel, output_kernel, alpha=0.3, decoder=Keeper())
    model.fit(X, y, groups=groups)
    general = KernelDependencyCV(kernel, output_kernel, alphas=[0.3]).fit(X, y, groups=groups)
    expected = general.loo_embed().inner(y)
    np.testing.assert_allclose(model.decoder_.points_.inner(y), expected, atol=1e-8)
    np.testing.assert_allclose(model.embed(X).inner(y), general.embed(X).inner(y), atol=1e-8)
    assert model.score(X, y) == pytest.approx(general.score(X, y), abs=1e-8)
