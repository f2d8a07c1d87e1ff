from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._arrays import Array, Items, dense, is_foreign, like, namespace, take
from ..kernels import Kernel
from .base import FeatureMap, check_width
from .landmarks import check_rank


class RandomFourier(FeatureMap):
    """u(a) = √(2k(0) / rank) [cos ⟨ω_j, a⟩, sin ⟨ω_j, a⟩]_j, ω_j drawn from the kernel's spectrum.

    A kernel of the difference a - b alone is the Fourier transform of a probability measure
    (times k(0)); `RBF`, `Matern`, `Laplacian`, their sums, dense and multiples know theirs.
    No landmarks, no kernel values: the map depends on the data's width only.

    Parameters
    ----------
    rank
        The number of coordinates, two for each frequency; an odd one is rounded up.
    orthogonal
        Whether frequencies come in orthogonal batches, which have less error than independent
        ones. Only where the spectrum is the same in all directions; ignored otherwise.
    random_state
        The seed, or a generator.

    Notes
    -----
    ⟨u(a), u(b)⟩ = k(0) mean_j cos ⟨ω_j, a - b⟩, whose expectation is k(a, b). The diagonal is
    exact, so that the trace of the error is zero and no certificate; the error of a value falls
    as 1/√rank, where landmarks follow the spectrum of the data. They need fewer coordinates
    nearly always; random frequencies are for streams of which no sample can be taken.

    References
    ----------
    Rahimi and Recht (2007). Orthogonal batches: Yu et al. (2016).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features import RandomFourier
    >>> from mercer.kernels import RBF
    >>> A = np.array([[0.0, 0.0], [1.0, 0.0]])
    >>> U = RandomFourier(rank=4000, random_state=0).fit_transform(RBF(1.0), A)
    >>> bool(np.abs(U @ U.T - RBF(1.0)(A)).max() < 0.03)
    True
    """

    def __init__(self, rank: int = 1000, orthogonal: bool = True, random_state: Any = None):
        self.rank = rank
        self.orthogonal = orthogonal
        self.random_state = random_state

    def fit(self, kernel: Kernel, A: Items) -> RandomFourier:
        """Draw the frequencies."""
        if self.rank is None:
            raise ValueError("RandomFourier needs a rank, the number of its coordinates.")
        check_rank(self.rank)
        fourier = kernel.fourier
        if fourier is None:
            raise ValueError(
                f"{kernel} has no spectrum to draw frequencies from: RandomFourier is for RBF, "
                "Matern, Laplacian, their sums and dense. Use RandomPivotedCholesky(rank)."
            )
        A = kernel.check(A, "A")
        random, shape = check_random_state(self.random_state), ((self.rank + 1) // 2, A.shape[1])
        omega = fourier.sample(random, shape)
        if self.orthogonal and fourier.isotropic:
            omega = _orthogonal(random, shape) * np.linalg.norm(omega, axis=1)[:, None]
        self.kernel_, self.frequencies_ = kernel, omega
        self.scale_ = sqrt(float(kernel.diag(take(A, [0]))[0]) / shape[0])
        return self

    def transform(self, A: Items) -> Array:
        """Cosines, then sines, of the phases."""
        A = self.kernel_.check(A, "A")
        check_width(A.shape[1], self.frequencies_.shape[1], self.kernel_)
        omega = like(self.frequencies_, A) if is_foreign(A) else self.frequencies_
        phases = dense(A @ omega.T)
        xp = namespace(phases)
        return self.scale_ * xp.concat([xp.cos(phases), xp.sin(phases)], axis=1)


def _orthogonal(random: np.random.RandomState, shape: tuple[int, int]) -> np.ndarray:
    """Unit vectors, uniform each, orthogonal within batches of as many as there are dimensions."""
    number, width = shape
    batches = []
    for _ in range(0, number, width):
        Q, R = np.linalg.qr(random.normal(size=(width, width)))
        batches.append((Q * np.sign(R.diagonal())).T)
    return np.concatenate(batches)[:number]
