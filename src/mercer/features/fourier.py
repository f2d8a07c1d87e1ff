"""Random Fourier features of scalar and of operator-valued kernels."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._base.arrays import Array, Items, dense, is_foreign, like, namespace, take
from .._base.linalg import PositiveDefinite, add_ridge
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


class RandomOperatorFourier(FeatureMap):
    r"""Random Fourier features of a shift-invariant operator-valued kernel.

    :math:`\Psi(x)_s = u_{r(s)}(x)\, a_s` with :math:`K(x, x') \approx \Psi(x)^\top \Psi(x')`. The
    coordinates :math:`u(x)` are cosines and sines of random phases
    :math:`\langle \omega_r, x \rangle`, and the vectors :math:`a_s` are the directions in which a
    wave of frequency :math:`\omega_r` may point. For `CurlFree` a wave points along its frequency,
    for `DivergenceFree` in a direction orthogonal to it, and for :math:`k B` along the rows of
    :math:`B^{1/2}`.

    Parameters
    ----------
    rank : int, default=1000
        The number of coordinates u, two for each frequency; an odd one is rounded up.
    random_state : int, RandomState or None, default=None
        The seed, or a generator.

    Attributes
    ----------
    operator_kernel_
        The kernel, fitted.
    frequencies_
        The frequencies :math:`\omega_r`, one per row.
    source_, along_
        The coordinate :math:`r(s)` of each feature s, and its vector :math:`a_s`.

    Notes
    -----
    :math:`g(x) = \Psi(x)^\top \theta` is linear in the coordinates :math:`u(x)`: row r of its
    coefficients is :math:`\sum_s \theta_s a_s` over the features s with :math:`r(s) = r`. The
    normal equations :math:`(\sum_i \Psi_i \Psi_i^\top + \alpha I) \theta = \sum_i \Psi_i v_i` are

    .. math:: (S_{uu}[r, r] \circ A A^\top + \alpha I) \theta = \sum_c S_{uv}[r, c] \circ A_c,

    where r is the array `source_` and A the array `along_` with the columns :math:`A_c`. They
    need only the moments of u and v, which are sums over rows: a curl-free model on a stream is
    as fast as a scalar one.

    References
    ----------
    Brault, Heinonen, d'Alché-Buc (2016): Random Fourier features for operator-valued kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.features import RandomOperatorFourier
    >>> from mercer.operators import CurlFree
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(500, 2))
    >>> map = RandomOperatorFourier(rank=200, random_state=0)
    >>> model = KernelDependency(CurlFree(1.0), alpha=1e-3, features=map).fit(X, 2 * X)
    >>> model.predict([[0.5, -0.25]]).round(1)
    array([[ 1. , -0.5]])
    """

    operator_valued = True
    depends_on_data = False

    def __init__(self, rank: int = 1000, random_state: int | np.random.RandomState | None = None):
        self.rank = rank
        self.random_state = random_state

    def fit(self, kernel: Any, A: Items) -> RandomOperatorFourier:
        """Draw the frequencies and directions of a fitted operator-valued kernel."""
        check_rank(self.rank)
        if not kernel.has_waves:
            raise ValueError(
                f"{kernel} is not a function of x - x' with a known spectrum: "
                "RandomOperatorFourier is for CurlFree, DivergenceFree, RBF * operator "
                "and sums of these. Leave features at None."
            )
        random = check_random_state(self.random_state)
        omega, source, along = kernel.waves(random, (self.rank + 1) // 2, int(A.shape[1]))
        self.operator_kernel_, self.kernel_, self.frequencies_ = kernel, kernel.inputs, omega
        self.source_ = np.concatenate([source, source + len(omega)])
        self.along_ = np.concatenate([along, along])
        return self

    def transform(self, A: Items) -> Array:
        """Return cosines, then sines, of inner products of items and frequencies."""
        A = self.kernel_.check(A, "A")
        return _cosines_and_sines(A, self.frequencies_)

    def solve(self, uu: Array, vu: Array, alpha: float) -> Array:
        """Return the coefficients C of the ridge model g(x) = u(x) C, given moments.

        `uu` is the moment U.T @ U of the coordinates U, and `vu` is V.T @ U with the outputs V. C
        has the shape (coordinates, outputs).
        """
        N = PositiveDefinite.of(add_ridge(self.normal(uu), alpha))
        theta = N.solve(self.right_side(vu)[:, None])
        summation = np.eye(2 * len(self.frequencies_))[:, self.source_]
        return like(summation, vu) @ (theta * like(self.along_, vu))

    def normal(self, uu: Array) -> Array:
        """Return the matrix of the normal equations, given the moment uu = U.T @ U.

        It is Σ_i Ψ_i Ψ_iᵀ with the features Ψ_i of item i; U are the coordinates.
        """
        along = like(self.along_, uu)
        N = take(take(uu, self.source_).T, self.source_).T
        N *= along @ along.T
        return N

    def features(self, U: Array) -> Array:
        r"""Return the features :math:`\Psi`, (n, q, features), given coordinates U, (n, p)."""
        return take(U.T, self.source_).T[:, None, :] * like(self.along_, U).T[None, :, :]

    def right_side(self, vu: Array) -> Array:
        """Return the right side of the normal equations, given the moment vu = V.T @ U.

        It is Σ_i Ψ_i v_i with the features Ψ_i of item i and its output v_i, row i of V.
        """
        T = take(vu.T, self.source_)
        return namespace(vu).sum(T * like(self.along_, vu), axis=1)
