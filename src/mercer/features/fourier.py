"""Random Fourier features."""

from __future__ import annotations

from math import sqrt

import numpy as np
from sklearn.utils import check_random_state

from .._base.arrays import Array, Items, dense, is_foreign, like, namespace, take
from .._base.parameters import parameters
from ..kernels import Kernel
from .base import FeatureMap, check_width
from .landmarks import check_rank


@parameters
class RandomFourier(FeatureMap):
    r"""Random Fourier features: cosines and sines of frequencies from a kernel's spectrum.

    :math:`u(a) = \sqrt{2k(0) / \text{rank}}\, [\cos \langle \omega_j, a \rangle, \sin \langle
    \omega_j, a \rangle]_j`.

    A kernel of the difference a - b alone is the Fourier transform of a probability measure
    (times k(0)); `RBF`, `Matern`, `RationalQuadratic`, `Laplacian`, their sums, products and
    multiples know theirs.
    The map needs neither landmarks nor kernel values, only the number of columns of the data.

    Parameters
    ----------
    rank : int, default=1000
        The number of coordinates, two for each frequency; an odd one is rounded up.
    orthogonal : bool, default=True
        Whether frequencies come in orthogonal batches, which have less error than independent
        ones. Only where the spectrum is the same in all directions; ignored otherwise.
    random_state : int, RandomState or None, default=None
        The seed, or a generator.

    Notes
    -----
    The expectation of :math:`\langle u(a), u(b) \rangle` is :math:`k(a, b)`. The
    diagonal is exact: the trace of the error is zero and says nothing about the error. The error of
    a value decreases as :math:`1/\sqrt{\text{rank}}`. Landmarks nearly always need fewer
    coordinates; random frequencies are for streams of which no sample can be taken.

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

    depends_on_data = False
    rank: int = 1000
    orthogonal: bool = True
    random_state: int | np.random.RandomState | None = None

    def fit(self, kernel: Kernel, A: Items) -> RandomFourier:
        """Draw random frequencies from the spectrum of a stationary kernel."""
        if self.rank is None:
            raise ValueError("RandomFourier needs a rank, the number of its coordinates.")
        check_rank(self.rank)
        fourier = kernel.fourier
        if fourier is None:
            raise ValueError(
                f"{kernel} has no spectrum to draw frequencies from: RandomFourier is for RBF, "
                "Matern, RationalQuadratic, Laplacian, their sums and products. Use "
                "RandomPivotedCholesky(rank)."
            )
        A = kernel.check(A, "A")
        random, shape = check_random_state(self.random_state), ((self.rank + 1) // 2, A.shape[1])
        omega = fourier.sample(random, shape)
        if self.orthogonal and fourier.isotropic:
            omega = _orthogonal_directions(random, shape) * np.linalg.norm(omega, axis=1)[:, None]
        self.kernel_, self.frequencies_ = kernel, omega
        self.scale_ = sqrt(float(kernel.diag(take(A, [0]))[0]) / shape[0])
        return self

    def transform(self, A: Items) -> Array:
        """Return scaled cosines, then sines, of inner products of items and frequencies."""
        A = self.kernel_.check(A, "A")
        check_width(A.shape[1], self.frequencies_.shape[1], self.kernel_)
        return self.scale_ * _cosines_and_sines(A, self.frequencies_)


def _cosines_and_sines(A: Items, omega: np.ndarray) -> Array:
    """Return cosines, then sines, of inner products of the rows of A and the frequencies."""
    phases = dense(A @ (like(omega, A) if is_foreign(A) else omega).T)
    xp = namespace(phases)
    return xp.concat([xp.cos(phases), xp.sin(phases)], axis=1)


def _orthogonal_directions(random: np.random.RandomState, shape: tuple[int, int]) -> np.ndarray:
    """Draw random unit vectors (rows), orthogonal in batches as large as the dimension."""
    number, width = shape
    batches = []
    for _ in range(0, number, width):
        Q, R = np.linalg.qr(random.normal(size=(width, width)))
        batches.append((Q * np.sign(R.diagonal())).T)
    return np.concatenate(batches)[:number]
