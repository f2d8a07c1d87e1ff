"""Leave-group-out for the identity operator without any output coordinates."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotri

from .._arrays import Array, host
from .cholesky import Cholesky
from .leave_one_out import _members


def left_out_weights(K: Array, alpha: float, groups: Array) -> np.ndarray:
    """Weights on the training outputs of every left-out prediction, (n, n), exact.

    Parameters
    ----------
    K
        The Gram matrix of the inputs.
    alpha
        The ridge.
    groups
        A label for each example: examples of one label are left out together.

    Notes
    -----
    With A = (K + αI)⁻¹ the left-out residuals of a group are A_gg⁻¹ (AΦ)_g, so that its left-out
    points are Φ_g - A_gg⁻¹ A_g Φ: weights I_g - A_gg⁻¹ A_g on Φ, which vanish on the group itself.
    One inverse for each α, where coordinates of the outputs would cost two eigendecompositions.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.dual import left_out_weights
    >>> left_out_weights(np.ones((2, 2)), 1.0, [0, 1])
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    factor = Cholesky().factor(np.array(host(K), dtype=np.float64), alpha).factor
    A, _ = dpotri(factor, lower=1)
    A = np.tril(A) + np.tril(A, -1).T
    C = np.zeros_like(A)
    for members in _members(np.asarray(groups)):
        C[members] = -np.linalg.solve(A[np.ix_(members, members)], A[members])
        C[np.ix_(members, members)] = 0.0
    return C
