"""References as literal as the paper: slow, short, and without any code of mercer's."""

from math import exp, sqrt

import numpy as np

# -- kernels, one pair at a time --------------------------------------------------------------


def matrix_of(function, A, B):
    """The matrix of function(a, b) over all pairs, by two loops."""
    return np.array([[function(a, b) for b in B] for a in A])


def rbf(ell):
    return lambda a, b: exp(-sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) / (2 * ell**2))


def laplacian(ell):
    return lambda a, b: exp(-sum(abs(x - y) for x, y in zip(a, b, strict=True)) / ell)


def matern(ell, nu):
    def value(a, b):
        r = sqrt(sum((x - y) ** 2 for x, y in zip(a, b, strict=True))) / ell
        if nu == 0.5:
            return exp(-r)
        if nu == 1.5:
            return (1 + sqrt(3) * r) * exp(-sqrt(3) * r)
        if nu == 2.5:
            return (1 + sqrt(5) * r + 5 * r**2 / 3) * exp(-sqrt(5) * r)
        return exp(-(r**2) / 2)

    return value


def rational_quadratic(ell, exponent):
    def value(a, b):
        square = sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) / ell**2
        return (1 + square / (2 * exponent)) ** -exponent

    return value


def linear(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def polynomial(degree, gamma, coef0):
    return lambda a, b: (gamma * linear(a, b) + coef0) ** degree


def normalized(k):
    def value(a, b):
        norm = sqrt(k(a, a) * k(b, b))
        return k(a, b) / norm if norm > 0 else 0.0

    return value


def gaussian(k, ell):
    return lambda a, b: exp(-(k(a, a) - 2 * k(a, b) + k(b, b)) / (2 * ell**2))


def solve(A, b, refinements=2):
    """A⁻¹b, refined with residuals in extended precision: the reference must not be the error."""
    x = np.linalg.solve(A, b)
    for _ in range(refinements):
        residual = b - A.astype(np.longdouble) @ x.astype(np.longdouble)
        x = x + np.linalg.solve(A, residual.astype(float))
    return x


# -- the paper --------------------------------------------------------------------------------


def operator_T(k, L, epsilon=None):
    """T of Proposition 1: L, or L - (k + nεI)⁻¹ k L."""
    n = len(k)
    return L if epsilon is None else L - np.linalg.solve(k + n * epsilon * np.eye(n), k @ L)


def proposition_1(k, T, k_x, L_y, alpha):
    """L_yᵀ (k_xᵀ ⊗ T)(k ⊗ T + nλI)⁻¹ vec(I), one row an input, one column an output."""
    n = len(k)
    system = np.kron(k, T) + n * alpha * np.eye(n * n)
    solution = solve(system, np.eye(n).reshape(-1, order="F"))
    return np.array([np.kron(row[None, :], T) @ solution for row in k_x]) @ L_y.T


def appendix_c(U, V, U_x, V_y, alpha, epsilon=None):
    """Formula (e) of Appendix C in coordinates of low rank, k = UUᵀ and L = VVᵀ.

    As the paper has it, T = L. With ε it is T = AL, which is not symmetric: T = FVᵀ with F = AV
    takes the place of VVᵀ in every step of its derivation.
    """
    n, m_1, m_2 = len(U), U.shape[1], V.shape[1]
    k = U @ U.T
    T = operator_T(k, V @ V.T, epsilon)
    F = operator_T(k, V, epsilon)
    system = n * alpha * np.eye(m_1 * m_2) + np.kron(U.T @ U, V.T @ F)
    inner = np.linalg.solve(system, (V.T @ U).reshape(-1, order="F"))
    rows = []
    for u in U_x:
        k_x = U @ u
        rows.append(T @ k_x - np.kron((k_x @ U)[None, :], T @ F) @ inner)
    return np.array(rows) @ (V_y @ V.T).T / (n * alpha)


# -- the ridge equation in coordinates --------------------------------------------------------


def coordinates(K):
    """Rows whose inner products are K."""
    values, vectors = np.linalg.eigh(K)
    keep = values > len(K) * np.finfo(float).eps * values[-1]
    return vectors[:, keep] * np.sqrt(values[keep])


def covariance(U, V):
    return V.T @ V / len(V)


def conditional_covariance(epsilon):
    def matrix(U, V):
        n = len(U)
        S_uu = U.T @ U + n * epsilon * np.eye(U.shape[1])
        return (V.T @ V - V.T @ U @ np.linalg.solve(S_uu, U.T @ V)) / n

    return matrix


def refit(U, V, B, alpha, u, intercept):
    """g(u) of a fit on U, V; with an intercept both lose their means first.

    g(x) = Σ_i k(x, x_i) h_i, where Σ_j k(x_i, x_j) B h_j + αh_i = B v_i: nq equations.
    """
    mean_u, mean_v = (A.mean(axis=0) * intercept for A in (U, V))
    U, V, u = U - mean_u, V - mean_v, u - mean_u
    system = np.kron(U @ U.T, B) + alpha * np.eye(V.size)
    h = solve(system, (V @ B).reshape(-1)).reshape(V.shape)
    return mean_v + u @ U.T @ h


def left_out(U, V, B, alpha, labels, intercept=False):
    """What refits without each label's rows predict for them, B held fixed."""
    points = np.empty_like(V)
    for label in np.unique(labels):
        out = labels == label
        points[out] = refit(U[~out], V[~out], B, alpha, U[out], intercept)
    return points


# -- derivatives ------------------------------------------------------------------------------


def numerical_gradient(function, A, step=1e-5):
    """Central differences of a number with respect to every entry of A."""
    gradient = np.empty_like(A)
    for index in np.ndindex(*A.shape):
        up, down = A.copy(), A.copy()
        up[index] += step
        down[index] -= step
        gradient[index] = (function(up) - function(down)) / (2 * step)
    return gradient
