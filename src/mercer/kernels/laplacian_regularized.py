"""Manifold regularisation: a kernel that depends on labelled and unlabelled inputs."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from .._base.arrays import (
    Array,
    Items,
    concatenated,
    count,
    host,
    is_foreign,
    like,
    namespace,
    take,
)
from .._base.parameters import field, integer, non_negative, parameters
from .base import Kernel, as_kernel
from .gradients import ParameterGradient, Values, add_values, total
from .wrapper import Wrapper


@parameters
class LaplacianRegularized(Wrapper):
    r"""Kernel whose functions are smooth along a graph of all inputs, labelled or not.

    .. math:: \tilde k(a, b) = k(a, b) - k_a^\top (I + \gamma L K)^{-1} \gamma L k_b.

    :math:`K` is the Gram matrix of all inputs (those of the fit, and unlabelled ones),
    :math:`k_a` the vector of kernel values between :math:`a` and them, and :math:`L` the normalised
    Laplacian of the graph that links each input to its nearest neighbours in the feature space of
    :math:`k`.

    Parameters
    ----------
    kernel : Kernel
        The kernel k, on any set.
    gamma : float, default=1.0
        The weight of the roughness along the graph; the kernel is k if gamma is 0.
    neighbors : int, default=10
        The number of nearest neighbours to which each input is linked.
    unlabelled : sequence of items or None, default=None
        Inputs whose outputs are not known.

    Notes
    -----
    The new kernel belongs to the norm :math:`\lVert f \rVert^2 + \gamma \sum_{ij}
    L_{ij} f(z_i) f(z_j)`, where the sum is over all known inputs :math:`z` (Sindhwani, Niyogi,
    Belkin 2005). With the identity operator a model therefore minimises

    .. math::

        \sum_i \lVert g(x_i) - \Phi(y_i) \rVert^2 + \alpha \Bigl( \lVert g \rVert^2
        + \gamma \sum_{ij} L_{ij} \langle g(z_i), g(z_j) \rangle \Bigr),

    the vector-valued manifold regularisation of Minh and Sindhwani (2011) and of Brouard,
    d'Alché-Buc and Szafranski (2011). With another operator B the roughness is measured by
    :math:`\langle g(z_i), B^{-1} g(z_j) \rangle`: directions with large eigenvalues of :math:`B`
    are also smoothed less. As it is a kernel, closed-form leave-one-out, operators, decoders and
    losses apply unchanged. Leaving out an example removes its output; its input stays in the graph.

    The graph is built at fit: :math:`n` known inputs take one :math:`n \times n` solve.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF, LaplacianRegularized
    >>> t = np.linspace(0, 3, 40)
    >>> moons = np.vstack([np.c_[np.cos(t), np.sin(t)], np.c_[1 - np.cos(t), 0.4 - np.sin(t)]])
    >>> k = LaplacianRegularized(RBF(0.3), gamma=100.0, neighbors=3, unlabelled=moons)
    >>> model = KernelDependency(k, alpha=1e-3).fit(moons[[0, 40]], [[1.0], [-1.0]])
    >>> float(np.mean(np.sign(model.predict(moons)[:, 0]) == np.repeat([1, -1], 40)))
    1.0
    """

    kernel: Kernel
    gamma: float = 1.0
    neighbors: int = 10
    unlabelled: Items | None = None

    known_: Items = field(init=False)
    correction_: Array | None = field(init=False)

    def __str__(self) -> str:
        return f"LaplacianRegularized({self.kernel}, gamma={self.gamma:g})"

    depends_on_data = True

    def fit(self, A: Items) -> LaplacianRegularized:
        """Fit the inner kernel on all inputs, labelled or not, and build their neighbour graph."""
        non_negative(self.gamma, "gamma")
        inner = clone(as_kernel(self.kernel))
        if inner.pairwise:
            raise ValueError(
                'LaplacianRegularized cannot see the inputs behind "precomputed": use '
                "Precomputed(gram) with indices as X."
            )
        known = [inner.check(A, "X")]
        if self.unlabelled is not None:
            more = inner.check(self.unlabelled, "unlabelled")
            known.append(like(more, known[0]) if is_foreign(known[0]) else more)
        if inner.on_vectors and len({part.shape[1] for part in known}) > 1:
            raise ValueError(
                f"unlabelled inputs have {known[1].shape[1]} features, labelled ones "
                f"{known[0].shape[1]}: both must be inputs of one kind."
            )
        # A copy, because a kernel treats two batches that are the same object differently.
        items = take(concatenated(known), np.arange(sum(map(count, known))))
        self.kernel_ = inner.fit(items)
        self.known_ = inner.check(items, "X")  # `Labels` encodes items only once it is fitted
        self.correction_ = self._correction() if self.gamma > 0 else None
        return self

    def _correction(self) -> Array:
        """Return the correction B in k(a, b) - k(a, Z) B k(Z, b), with Z all inputs of the fit.

        It is (I + γLK)⁻¹ γL with K the Gram matrix of Z and L the Laplacian of its neighbour graph.

        It is symmetric, because it equals γL^{1/2}(I + γL^{1/2}KL^{1/2})⁻¹L^{1/2}.
        """
        K = self.inner._gram(self.known_, self.known_)
        xp, n = namespace(K), count(self.known_)
        M = like(float(self.gamma) * laplacian(host(K), integer(self.neighbors, "neighbors")), K)
        correction = xp.linalg.solve(like(np.eye(n), K) + M @ K, M)
        return (correction + correction.T) / 2.0

    def _gram(self, A: Items, B: Items) -> Array:
        """Return the matrix of the inner kernel minus the correction by the neighbour graph."""
        K = self.inner._gram(A, B)
        if self._fitted_correction() is None:
            return K
        left = self.inner._gram(A, self.known_)
        right = left if A is B else self.inner._gram(B, self.known_)
        G = (left @ self.correction_) @ right.T
        if A is B:  # exactly symmetric, as factorisations require
            G = (G + G.T) / 2.0
        return K - G

    def _diag(self, A: Items) -> Array:
        """Return the diagonal of the inner kernel minus the correction by the neighbour graph."""
        diagonal = self.inner._diag(A)
        if self._fitted_correction() is None:
            return diagonal
        left = self.inner._gram(A, self.known_)
        return diagonal - namespace(left).sum((left @ self.correction_) * left, axis=1)

    @property
    def parameter_gradient(self) -> ParameterGradient:
        r"""Derivatives with respect to gamma and the inner parameters, for a fixed graph.

        With :math:`T = (I + \gamma L K)^{-1} \gamma L` the kernel is :math:`k(a, b) - k_a^\top T
        k_b`. The derivatives of :math:`T` are :math:`dT = -T\, dK\, T` with respect to the inner
        parameters and :math:`\partial T / \partial \gamma = (I - TK) L (I - KT)`.
        """
        inner = self.inner.parameter_gradient.prefixed("kernel")
        if self._fitted_correction() is None:
            return inner

        known, correction = self.known_, self.correction_
        K = self.inner._gram(known, known)
        L = like(laplacian(host(K), integer(self.neighbors, "neighbors")), K)

        def vjp(A: Items, B: Items, C: Array) -> Values:
            """Return Σ_ij C_ij ∂k(A_i, B_j)/∂θ for each parameter θ by name."""
            left, right = (self.inner._gram(Z, known) for Z in (A, B))
            left_times_B, right_times_B = left @ correction, right @ correction
            derivatives = add_values(
                inner.vjp(A, B, C), inner.vjp(A, known, C @ right_times_B), -1.0
            )
            derivatives = add_values(derivatives, inner.vjp(B, known, C.T @ left_times_B), -1.0)
            derivatives = add_values(
                derivatives, inner.vjp(known, known, left_times_B.T @ C @ right_times_B)
            )
            left_rest_times_L = (left - left_times_B @ K) @ L
            return derivatives | {
                "gamma": -total((left_rest_times_L.T @ C) * (right - right_times_B @ K).T)
            }

        def diag_vjp(A: Items, c: Array) -> Values:
            """Return Σ_i c_i ∂k(A_i, A_i)/∂θ for each parameter θ by name."""
            left = self.inner._gram(A, known)
            left_times_B = left @ correction
            derivatives = add_values(
                inner.diag_vjp(A, c), inner.vjp(A, known, c[:, None] * left_times_B), -2.0
            )
            derivatives = add_values(
                derivatives, inner.vjp(known, known, (c[:, None] * left_times_B).T @ left_times_B)
            )
            rest = left - left_times_B @ K
            return derivatives | {"gamma": -total(c[:, None] * (rest @ L) * rest)}

        gamma_gradient = ParameterGradient({"gamma": float(self.gamma)})
        return gamma_gradient.plus(inner).with_functions(vjp, diag_vjp)

    def _fitted_correction(self) -> Array | None:
        """Return the correction matrix computed at fit, or None if gamma is zero."""
        if "known_" not in vars(self):
            raise ValueError("LaplacianRegularized is not fitted: fit it first.")
        return self.correction_


def laplacian(K: np.ndarray, neighbors: int) -> np.ndarray:
    """Return the normalised Laplacian of the nearest-neighbour graph of items with Gram matrix K.

    It is I - D^{-1/2} W D^{-1/2}, with W the weights of the graph and D its degrees.

    Examples
    --------
    >>> import numpy as np
    >>> laplacian(np.diag([1.0, 1.0]) + 0.5, neighbors=1)
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    n = len(K)
    diagonal = K.diagonal()
    D2 = diagonal[:, None] + diagonal[None, :] - 2.0 * K
    np.fill_diagonal(D2, np.inf)
    nearest = np.argsort(D2, axis=1, kind="stable")[:, : min(neighbors, n - 1)]
    W = np.zeros((n, n))
    np.put_along_axis(W, nearest, 1.0, axis=1)
    W = np.maximum(W, W.T)
    scale = 1.0 / np.sqrt(W.sum(axis=1))
    return np.eye(n) - W * scale[:, None] * scale[None, :]
