"""Factorisations and solves, for numpy and for other array libraries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from array_api_compat import device, is_cupy_array, is_torch_array

from .arrays import Array, host, is_foreign, like, namespace, take
from .threads import in_worker_thread

EPS = float(np.finfo(np.float64).eps)
INDEFINITE = 1e-8
"""Eigenvalues below -INDEFINITE times the largest are more than rounding errors."""
GRADED = 1e-4
"""Ratio of weights below which `graded_eigh` is used, which keeps rows of small weight accurate."""
NUMPY_ROWS = 512
"""Matrices with up to this many rows are factored by numpy, larger ones by scipy.

Both libraries have their own BLAS threads, which compete for the cores if calls alternate; this
takes longer than a small factorisation. scipy factors large matrices in half the time.
"""
TOGETHER = 20
"""From about this many diagonal matrices on, `congruences` uses one product for all of them."""
TALL = 128
"""From this many rows on, `times` tests whether a matrix is triangular, to halve the work."""


class NotPositiveSemidefinite(ValueError):
    """Error for a Gram matrix or an operator with a negative eigenvalue."""


def eigh(
    S: Array,
    what: str = "matrix",
    drop: bool = True,
    scale: float = 0.0,
    overwrite: bool = False,
    weight_ratio: float = 1.0,
) -> tuple[Array, Array | None]:
    """Return the positive eigenvalues of a positive semidefinite matrix, and their eigenvectors.

    Eigenvalues up to n · (machine precision) · max(largest eigenvalue, `scale`) · `weight_ratio`
    are dropped with their vectors, or set to zero if `drop` is False.

    Parameters
    ----------
    S
        The matrix; or the diagonal of a diagonal matrix, as a 1-D array. Then the vectors are None,
        and negative entries are set to zero but no entry is dropped.
    what
        The name of the matrix in the error message, if it is not positive semidefinite.
    drop
        Whether to drop small eigenvalues, rather than set them to zero.
    scale
        The size of the numbers that `S` was computed from, if they are larger than its eigenvalues.
    overwrite
        Whether the array `S` may be changed.
    weight_ratio
        The smallest weight of a row divided by the largest, if `S` is a weighted Gram matrix whose
        rows are in the order of decreasing weight. Below `GRADED`, `graded_eigh` keeps the
        eigenvalues of rows of small weight accurate; this is for numpy arrays only.
    """
    xp = namespace(S)
    if S.ndim == 1:
        return xp.where(S > 0, S, xp.zeros_like(S)), None
    if S.shape[0] == 0:
        return xp.sum(S, axis=1), None
    graded = None
    if weight_ratio < GRADED and not is_foreign(S):
        graded = graded_eigh(S, S.shape[0] * EPS * scale * weight_ratio)
    if graded is not None:
        values, vectors = graded
    elif is_foreign(S):
        values, vectors = xp.linalg.eigh(S)
    else:  # a symmetric matrix is its own transpose: LAPACK works in place in the Fortran view
        S = S.T if S.flags.c_contiguous and S.dtype.kind != "c" else S
        values, vectors = scipy.linalg.eigh(
            S, driver="evd", overwrite_a=overwrite, check_finite=False
        )
    largest, smallest = float(values[-1]), float(values[0])
    if smallest < -INDEFINITE * max(largest, -smallest, scale):
        raise NotPositiveSemidefinite(
            f"the {what} is not positive semidefinite: its eigenvalues go from {smallest:.3g} to "
            f"{largest:.3g}. Use a positive semidefinite kernel, or add {-smallest:.3g} to its "
            "diagonal."
        )
    kept = values > values.shape[0] * EPS * max(largest, 0.0, scale) * weight_ratio
    if not drop:
        return xp.where(kept, values, xp.zeros_like(values)), vectors
    dropped = values.shape[0] - int(xp.sum(xp.astype(kept, xp.int64)))
    return values[dropped:], vectors[:, dropped:]


def graded_eigh(S: np.ndarray, floor: float) -> tuple[np.ndarray, np.ndarray] | None:
    """Return eigenvalues and eigenvectors of a positive semidefinite matrix with very uneven rows.

    They are the squared singular values and left singular vectors of a pivoted Cholesky factor,
    which keeps small rows accurate next to any number of large ones. The usual reduction to a
    tridiagonal matrix keeps them accurate next to one or two large rows only.

    Pivots up to `floor` count as zero. Return None if the matrix is not positive semidefinite.
    """
    L, pivots, rank, _ = scipy.linalg.lapack.dpstrf(S, tol=floor, lower=1)
    rows = np.empty((len(S), rank))
    rows[pivots - 1] = np.tril(L)[:, :rank]
    if np.abs(S - rows @ rows.T).max() > INDEFINITE * np.abs(S).max():
        return None
    vectors, roots, _ = scipy.linalg.svd(rows, check_finite=False)
    values = np.zeros(len(S))
    values[:rank] = roots**2
    return values[::-1], vectors[:, ::-1]


def add_ridge(K: Array, alpha: float | Array) -> Array:
    """Return K + alpha I, or K + diag(alpha) for an array; K is changed where possible."""
    if is_torch_array(K):
        K.diagonal().add_(alpha)
        return K
    if is_foreign(K):
        xp = namespace(K)
        return K + alpha * xp.eye(K.shape[0], dtype=K.dtype, device=device(K))
    K.flat[:: K.shape[0] + 1] += alpha
    return K


def congruence(S: Array, W: Array) -> Array:
    """Return Wᵀ S W for a symmetric matrix S, in half the time if W is upper triangular."""
    if _is_upper(W):
        trmm = scipy.linalg.blas.dtrmm
        return trmm(1.0, W, trmm(1.0, W, S, side=1), trans_a=1)
    return W.T @ (S @ W)


def product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the matrix product A B by scipy's BLAS, so that only its thread pool is active."""
    (b, tb), (a, ta) = ((M.T, 0) if M.flags.c_contiguous else (M, 1) for M in (B, A))
    return scipy.linalg.blas.dgemm(1.0, b, a, trans_a=tb, trans_b=ta).T


def times(A: Array, W: Array) -> Array:
    """Return the matrix product A W, in half the time if W is upper triangular."""
    alone = A.shape[0] >= TALL and not in_worker_thread()  # scipy keeps other threads waiting
    if alone and isinstance(A, np.ndarray) and _is_upper(W):
        rows = W.flags.c_contiguous  # then the transpose is what BLAS takes without a copy
        return scipy.linalg.blas.dtrmm(1.0, W.T if rows else W, A.T, lower=rows, trans_a=not rows).T
    return A @ W


def _is_upper(W: Array) -> bool:
    """Return whether a matrix is a numpy array and upper triangular."""
    square = not is_foreign(W) and W.shape[0] == W.shape[1]
    return square and scipy.linalg.bandwidth(W)[0] == 0


def adjoint(A: Array) -> Array:
    """Return the conjugate transpose of a matrix, or of each matrix of a stack."""
    xp = namespace(A)
    transposed = xp.matrix_transpose(A)
    return xp.conj(transposed) if xp.isdtype(A.dtype, "complex floating") else transposed


def inner_product(A: Array, B: Array) -> float:
    """Return the Frobenius inner product of two real matrices, Σ_ij A_ij B_ij."""
    return float(namespace(A).sum(A * B))


def frobenius_norm(A: Array) -> float:
    """Return the Frobenius norm of a real matrix."""
    return inner_product(A, A) ** 0.5


def unit_columns(n: int, rows: np.ndarray, like_this: Array) -> Array:
    """Return columns `rows` of the n × n identity, as an array like `like_this`."""
    eye = np.zeros((n, len(rows)))
    eye[rows, np.arange(len(rows))] = 1.0
    return like(eye, like_this)


def congruences(E: Array, d: Array) -> Array:
    """Return E_g diag(d_j) E_gᵀ for every matrix E_g of a stack E and every column d_j of d.

    The result has the shape (matrices, columns, rows, rows).
    """
    xp, (size, columns) = namespace(E), (E.shape[1], d.shape[1])
    complex_valued = xp.isdtype(E.dtype, "complex floating")
    if complex_valued or columns * (size + 2 * TOGETHER) <= TOGETHER * size:
        transposed = adjoint(E)
        return xp.stack([(E * d[:, j]) @ transposed for j in range(columns)], axis=1)
    # one product for all columns, of the entries on and above the diagonal alone
    upper = xp.concat([(E[:, i:, :] * E[:, i : i + 1, :]) @ d for i in range(size)], axis=1)
    row = np.zeros((size, size), dtype=np.int64)
    row[np.triu_indices(size)] = np.arange(upper.shape[1])
    row = np.maximum(row, row.T).reshape(-1)
    full = take(xp.permute_dims(upper, (1, 2, 0)), row)
    return xp.permute_dims(xp.reshape(full, (size, size, columns, -1)), (3, 2, 0, 1))


def spectral_norm(A: Array, steps: int = 20) -> float:
    """Return an estimate of the largest singular value of A by the power method."""
    xp = namespace(A)
    x = like(np.random.default_rng(0).normal(size=A.shape[1]), A)
    for _ in range(steps):
        x = x / xp.sqrt(xp.sum(x * x))
        x = A.T @ (A @ x)
    return float(xp.sqrt(xp.sqrt(xp.sum(x * x))))


@dataclass(frozen=True)
class PositiveDefinite:
    """The Cholesky factorisation of a positive definite matrix K, for solving many systems."""

    factor: Array

    @classmethod
    def of(cls, K: Array) -> PositiveDefinite:
        """Return the factorisation of K, which is overwritten; raise LinAlgError if indefinite."""
        if is_foreign(K):
            return cls(_foreign_cholesky(K))
        if K.shape[0] <= NUMPY_ROWS:
            return cls(np.linalg.cholesky(K))
        K = K.T if K.flags.c_contiguous and K.dtype.kind != "c" else K  # or it is conjugated
        return cls(scipy.linalg.cholesky(K, lower=True, overwrite_a=True, check_finite=False))

    def solve(self, B: Array) -> Array:
        """Return the solution X of K X = B."""
        L = self.factor
        if not is_foreign(L):
            return scipy.linalg.cho_solve((L, True), B, check_finite=False)
        return solve_triangular(adjoint(L), solve_triangular(L, B), lower=False)

    def inverse(self) -> Array:
        """Return the inverse of K as a dense matrix."""
        L = self.factor
        if is_torch_array(L):
            from torch import cholesky_inverse

            return cholesky_inverse(L)
        if is_foreign(L):
            return self.solve(like(np.eye(L.shape[0]), L))
        (invert,) = scipy.linalg.get_lapack_funcs(("potri",), (L,))
        inverse = np.tril(invert(L, lower=1)[0])
        return inverse + adjoint(np.tril(inverse, -1))

    def log_determinant(self) -> float:
        """Return the logarithm of the determinant of K."""
        xp = namespace(self.factor)
        return 2.0 * float(xp.sum(xp.log(abs(xp.linalg.diagonal(self.factor)))))


def factor_with_ridge(K: Array, alpha: float) -> PositiveDefinite:
    """Return the factorisation of K + αI; raise LinAlgError if α is lost in rounding errors."""
    xp = namespace(K)
    scale = float(xp.max(abs(xp.linalg.diagonal(K)))) if K.shape[0] else 0.0
    if not exceeds_rounding(alpha, int(K.shape[0]), scale):
        raise np.linalg.LinAlgError("alpha is lost in the rounding of the Gram matrix")
    return PositiveDefinite.of(add_ridge(K, alpha))


def exceeds_rounding(alpha: float, n: int, scale: float) -> bool:
    """Return whether α exceeds the rounding errors of an n × n matrix of norm `scale`."""
    return alpha > 100 * n * EPS * scale


def solve_triangular(L: Array, B: Array, lower: bool = True) -> Array:
    """Return the solution X of L X = B for a triangular matrix L."""
    if not is_foreign(L):
        return scipy.linalg.solve_triangular(L, B, lower=lower, check_finite=False)
    if is_torch_array(L):
        import torch

        return torch.linalg.solve_triangular(L, B, upper=not lower)
    if is_cupy_array(L):
        import cupyx.scipy.linalg

        return cupyx.scipy.linalg.solve_triangular(L, B, lower=lower)
    return namespace(L).linalg.solve(L, B)


def triangular_inverse(L: Array, lower: bool = True) -> Array:
    """Return the inverse of a triangular matrix, whose other triangle must be zero."""
    if is_foreign(L) or not L.shape[0]:
        return solve_triangular(L, like(np.eye(L.shape[0]), L), lower)
    (invert,) = scipy.linalg.get_lapack_funcs(("trtri",), (L,))
    inverse, failed = invert(L, lower=lower)
    if failed:
        raise np.linalg.LinAlgError("a triangular matrix with a zero on its diagonal is singular")
    return inverse


def _foreign_cholesky(K: Array) -> Array:
    """Return the Cholesky factor of K, an array of a library other than numpy."""
    try:
        return namespace(K).linalg.cholesky(K)
    except RuntimeError as error:  # torch's own kind of LinAlgError
        raise np.linalg.LinAlgError(str(error)) from error


def check_gram(K: Array, what: str) -> None:
    """Raise an error unless K is square, symmetric and positive semidefinite."""
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(
            f"the {what} must be square, one row and one column an item; got shape {K.shape}."
        )
    K = host(K)
    if not np.isfinite(K).all():
        raise ValueError(f"the {what} contains NaN or infinity.")
    scale = float(np.abs(K).max())
    if not np.allclose(K, K.T, rtol=0, atol=INDEFINITE * scale):
        raise ValueError(
            f"the {what} is not symmetric (largest difference {np.abs(K - K.T).max():.3g}): "
            "pass (K + K.T) / 2 if that is rounding, the right matrix otherwise."
        )
    try:
        # One Cholesky is six times cheaper than the spectrum, and enough for yes or no.
        PositiveDefinite.of(add_ridge(K.copy(), K.shape[0] * INDEFINITE * scale + 1e-300))
    except np.linalg.LinAlgError:
        eigh(K, what)  # raises, with the eigenvalues in its message
