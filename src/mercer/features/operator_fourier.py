from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils import check_random_state

from .._arrays import Array, Items, dense, is_foreign, like, namespace, take
from .._linalg import PositiveDefinite, ridged
from .base import FeatureMap
from .landmarks import check_rank


class RandomOperatorFourier(FeatureMap):
    """Ψ(x)_s = u_r(s)(x) a_s: finite features of a shift-invariant operator-valued kernel.

    u(x) are cosines and sines of random phases ⟨ω_r, x⟩, and the vectors a_s say where a wave of
    frequency ω_r may point, such that K(x, x') ≈ Ψ(x)ᵀ Ψ(x'). For `CurlFree` a wave points along
    its frequency, for `DivergenceFree` across it; for k B it points along the rows of B^{1/2}.

    Parameters
    ----------
    rank
        The number of coordinates u, two for each frequency; an odd one is rounded up.
    random_state
        The seed, or a generator.

    Attributes
    ----------
    operator_kernel_
        The kernel, fitted.
    frequencies_
        The ω_r.
    source_, along_
        The coordinate u that each feature is made of, and its vector a_s.

    Notes
    -----
    g(x) = Ψ(x)ᵀθ is linear in the plain coordinates u(x): row r of its coefficients is
    Σ_s θ_s a_s over the s of r. The normal equations (Σ_i Ψ_iΨ_iᵀ + αI) θ = Σ_i Ψ_i v_i are

        (S_uu[source, source] ∘ A Aᵀ + αI) θ = Σ_c S_uv[source, c] ∘ A[:, c],

    so all that is needed of the data are the ordinary moments of u and v, which add over blocks
    of rows: a stream costs a curl-free model no more than a scalar one.

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

    def __init__(self, rank: int = 1000, random_state: Any = None):
        self.rank = rank
        self.random_state = random_state

    def fit(self, kernel: Any, A: Items) -> RandomOperatorFourier:
        """Draw the waves of a fitted operator-valued kernel."""
        check_rank(self.rank)
        if not kernel.spectral:
            raise ValueError(
                f"{kernel} is no function of x - x' with a known spectrum: RandomOperatorFourier "
                "is for CurlFree, DivergenceFree, RBF * operator and sums of these. "
                "Leave features at None."
            )
        random = check_random_state(self.random_state)
        omega, source, along = kernel.spectrum(random, (self.rank + 1) // 2, int(A.shape[1]))
        self.operator_kernel_, self.kernel_, self.frequencies_ = kernel, kernel.inputs, omega
        self.source_ = np.concatenate([source, source + len(omega)])
        self.along_ = np.concatenate([along, along])
        return self

    def transform(self, A: Items) -> Array:
        """The coordinates u: cosines, then sines."""
        A = self.kernel_.check(A, "A")
        phases = dense(A @ like(self.frequencies_, A).T)
        xp = namespace(phases)
        return xp.concat([xp.cos(phases), xp.sin(phases)], axis=1)

    def solve(self, uu: Array, vu: Array, alpha: float) -> Array:
        """The coefficients of g(x) = u(x) @ coef, (p, q), from the moments S_uu and S_vu."""
        N = PositiveDefinite.of(ridged(self.normal(uu), alpha))
        theta = N.solve(self.right_side(vu)[:, None])
        gather = like(self._gather().toarray(), vu) if is_foreign(vu) else self._gather()
        return gather @ (theta * like(self.along_, vu))

    def normal(self, uu: Array) -> Array:
        """Σ_i Ψ_iΨ_iᵀ, from the moment S_uu."""
        along = like(self.along_, uu)
        N = take(take(uu, self.source_).T, self.source_).T
        N *= along @ along.T
        return N

    def features(self, U: Array) -> Array:
        """Ψ from the coordinates u, (n, q, number of features)."""
        return take(U.T, self.source_).T[:, None, :] * like(self.along_, U).T[None, :, :]

    def right_side(self, vu: Array) -> Array:
        """Σ_i Ψ_i v_i, from the moment S_vu."""
        T = take(vu.T, self.source_)
        return namespace(vu).sum(T * like(self.along_, vu), axis=1)

    def _gather(self) -> csr_array:
        """The sum over the features of every coordinate, as a matrix."""
        size = (2 * len(self.frequencies_), len(self.source_))
        return csr_array((np.ones(size[1]), (self.source_, np.arange(size[1]))), shape=size)
