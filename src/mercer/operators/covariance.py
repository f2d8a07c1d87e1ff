from __future__ import annotations

from math import inf

from .._base.arrays import Array, namespace
from .._base.linalg import eigh
from .._base.parameters import non_negative, parameters, positive
from .base import Operator
from .moments import Moments


@parameters
class Covariance(Operator):
    r"""Power of the output covariance, :math:`B = (S_{vv} / n)^{\text{power}}`.

    This is the paper's :math:`C_{YY}`; directions with more variance are penalised less. Outputs
    are centred if the model has an intercept. With ``fit_intercept=False`` they are not, and the
    operator is the matrix of second moments, as in the paper.

    Parameters
    ----------
    power : float, default=1.0
        1 is the paper's operator and 0 the identity on the span of the outputs. Values in between
        are compromises, among which leave-one-out can choose.

    References
    ----------
    Kadri et al. (2013), equation (6).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.operators import Covariance, Moments
    >>> V = np.array([[1.0, 1.0], [1.0, -1.0]])
    >>> Covariance().matrix(Moments.of(V, V))
    array([[1., 0.],
           [0., 1.]])
    """

    power: float = 1.0

    @property
    def unexplained_at(self) -> float | None:  # type: ignore[override]
        """The ridge at which `Moments.unexplained` is n times the operator; else None."""
        return inf if self.power == 1 else None

    def matrix(self, moments: Moments) -> Array:
        """Return the output covariance to the power of `power`."""
        if self.power == 1:
            return moments.covariance
        b, Q = self.eigh(moments)
        return b if Q is None else (Q * b) @ Q.T

    def eigh(self, moments: Moments) -> tuple[Array, Array | None]:
        """Return eigenvalues and eigenvectors of the operator; the latter None if diagonal."""
        values, vectors = eigh(moments.covariance, "output covariance", drop=False)
        if self.power == 1:
            return values, vectors
        power = non_negative(self.power, "power")
        xp = namespace(values)  # a power of 0 is the identity on what the outputs span
        return xp.where(values > 0, values**power, xp.zeros_like(values)), vectors


@parameters
class ConditionalCovariance(Operator):
    r"""Covariance of the part of the outputs that the inputs do not explain.

    :math:`B = (S_{vv} - S_{vu} (S_{uu} + n\varepsilon I)^{-1} S_{uv}) / n`. As for `Covariance`,
    these are moments of centred inputs and outputs if the model has an intercept, and raw second
    moments with ``fit_intercept=False``.

    Parameters
    ----------
    epsilon : float, default=0.1
        The regulariser of the inverse; as it grows the operator becomes `Covariance`.

    Notes
    -----
    In the dual, :math:`nB` has the spectrum of :math:`A^{1/2} L A^{1/2}` with
    :math:`A = n\varepsilon (k + n\varepsilon I)^{-1}`, which is that of the paper's
    :math:`T = L - (k + n\varepsilon I)^{-1} k L = A L`; :math:`T` itself is not symmetric.

    References
    ----------
    Kadri et al. (2013), equation (7) and Proposition 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.operators import ConditionalCovariance, Moments
    >>> V = np.array([[1.0], [-1.0]])
    >>> ConditionalCovariance(epsilon=1.0).matrix(Moments.of(V, V)).round(4)
    array([[0.5]])
    """

    epsilon: float = 0.1

    @property
    def unexplained_at(self) -> float:  # type: ignore[override]
        """The ridge at which `Moments.unexplained` is n times the operator: `epsilon`."""
        return positive(self.epsilon, "epsilon")

    def matrix(self, moments: Moments) -> Array:
        r"""Return the covariance of the outputs that a ridge regression does not explain."""
        return moments.unexplained(self.unexplained_at) / moments.n

    def eigh(self, moments: Moments) -> tuple[Array, Array | None]:
        """Return eigenvalues (rounding errors set to zero) and eigenvectors of the operator."""
        size = moments.total_variance
        return eigh(self.matrix(moments), "conditional covariance", drop=False, scale=size)
