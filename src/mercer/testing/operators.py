"""Checks of operators and operator-valued kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from .._base.arrays import Array, Items, host
from .._base.symmetric import full
from ..operators import Moments, Operator, OperatorKernel
from ..operators.separable import SpectralMoments
from .claims import IDENTITY, ROOT, claim, claim_close, items_at


def check_operator(operator: Operator, moments: Moments | None = None) -> None:
    """Check that an operator is positive semidefinite, has the right size and is reproducible.

    Unless it has `own_coordinates`, it must also not depend on the basis of the outputs.

    Parameters
    ----------
    operator : Operator
        The operator.
    moments : Moments, default=None
        Moments of data that are checked next to those of six simulated data sets; None for these
        alone, with three output coordinates.

    Examples
    --------
    >>> from mercer.operators import Covariance
    >>> from mercer.testing import check_operator
    >>> check_operator(Covariance())
    """
    samples = _simulated_moments(3 if moments is None else int(moments.vu.shape[0]))
    for sample in samples if moments is None else [moments, *samples]:
        _check_matrix(operator, sample)
    if not operator.own_coordinates:
        _check_diagonal_moments(operator)
        _check_rotation(operator)


def _simulated_moments(q: int) -> list[Moments]:
    """Return moments of simulated data with q output coordinates.

    Outputs are independent of the inputs, explained by them, in units far apart, almost equal or
    opposite to each other, small, and fewer than their coordinates.
    """
    rng = np.random.default_rng(0)
    U, V = rng.normal(size=(20, 4)), rng.normal(size=(20, q))
    alike = V[:, :1] * (-1.0) ** np.arange(q) + 1e-3 * V
    outputs = [
        V,
        U @ rng.normal(size=(4, q)) + 0.01 * V,
        V * np.logspace(-3, 3, q),
        alike,
        -0.01 * V,
    ]
    return [Moments.of(U, Y) for Y in outputs] + [Moments.of(U[:2], V[:2])]


def _check_matrix(operator: Operator, moments: Moments) -> None:
    """Check the matrix of an operator that is fitted to the moments of one data set."""
    operator = operator.at_ridge(moments, 1.0)
    B = host(full(operator.matrix(moments)))
    q = int(moments.vu.shape[0])
    claim(B.shape == (q, q), f"the matrix has shape {B.shape}, not {(q, q)}")
    scale = max(1e-300, float(np.abs(B).max()))
    claim_close(B, B.T, IDENTITY * scale, "the matrix is not symmetric")
    smallest = float(np.linalg.eigvalsh(B)[0])
    claim(smallest > -1e-9 * scale, f"the operator is not positive: eigenvalue {smallest:.3g}")
    again = full(clone(operator).at_ridge(moments, 1.0).matrix(moments))
    claim_close(again, B, 0.0, "a clone gives another matrix")


def _check_diagonal_moments(operator: Operator) -> None:
    """Check that an operator gives equal matrices for diagonal and for dense moments."""
    rng = np.random.default_rng(1)
    s, EV = rng.uniform(1, 2, size=5), np.linalg.qr(rng.normal(size=(5, 3)))[0] * [1.0, 2.0, 3.0]
    known: Any = SpectralMoments(20, EV, s)
    plain = Moments(20, np.diag(s), known.vu, known.vv)
    left, right = (full(operator.at_ridge(m, 1.0).matrix(m)) for m in (known, plain))
    claim_close(left, right, ROOT, "diagonal moments give another matrix than dense ones")


def _check_rotation(operator: Operator) -> None:
    """Check that the matrix B of an operator becomes RᵀBR if outputs are rotated by R."""
    rng = np.random.default_rng(2)
    U, V = rng.normal(size=(20, 4)), rng.normal(size=(20, 3)) * [1.0, 2.0, 3.0]
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    moments = Moments.of(U, V), Moments.of(U, V @ R)
    B, rotated = (host(full(operator.at_ridge(m, 1.0).matrix(m))) for m in moments)
    claim_close(
        rotated,
        R.T @ B @ R,
        ROOT * max(1e-300, float(np.abs(B).max())),
        "the matrix depends on the basis of the outputs, so the operator needs own_coordinates = "
        "True and output kernels with finite features",
    )


def check_operator_kernel(kernel: OperatorKernel, items: Items, outputs: Array) -> None:
    """Check that an operator-valued kernel is positive and agrees with its blocks.

    Parameters
    ----------
    kernel : OperatorKernel
        The operator-valued kernel.
    items : array or sequence of items
        A sample of its inputs.
    outputs : array of shape (n, q)
        Coordinates of as many outputs.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.operators import CurlFree
    >>> from mercer.testing import check_operator_kernel
    >>> X = np.random.default_rng(0).normal(size=(6, 2))
    >>> check_operator_kernel(CurlFree(1.0), X, X)
    """
    kernel = clone(kernel)
    kernel.fit(kernel.inputs.check(items, "X"), outputs)
    items = kernel.inputs.check(items, "X")
    n, q = outputs.shape
    gram = kernel.gram(items)
    blocks = gram.blocks()
    scale = max(1e-300, float(np.abs(blocks).max()))
    claim(blocks.shape == (n, n, q, q), f"the blocks have shape {blocks.shape}")
    transposed = blocks.transpose(1, 0, 3, 2)
    claim_close(blocks, transposed, IDENTITY * scale, "K(x, x') is not K(x', x)ᵀ")
    G = host(gram.matrix())
    smallest = float(np.linalg.eigvalsh((G + G.T) / 2)[0])
    claim(smallest > -1e-9 * scale * n * q, f"the kernel is not positive: {smallest:.3g}")
    C = np.random.default_rng(0).normal(size=(n, q))
    product = np.einsum("ijpq,jq->ip", blocks, C)
    claim_close(gram @ C, product, ROOT * scale * n, "a product is not that of the blocks")
    written = gram.rows.join(G @ gram.columns.split(C))
    claim_close(written, product, ROOT * scale * n, "matrix() is not the map written out")
    pairings = np.einsum("ijpq,ip,jq->ij", blocks, C, C)
    claim_close(gram.pairings(C, C), pairings, ROOT * scale * q**2, "pairings are not the blocks'")
    column = np.einsum("ipq,q->ip", blocks[:, 1], C[1])
    claim_close(gram.column(1, C[1]), column, ROOT * scale * q, "a column is not the blocks'")
    if kernel.componentwise:
        diagonal = kernel.by_component(items).blocks()
        claim_close(diagonal, blocks, ROOT * scale, "by_component gives other values")
    some = np.array([n * q - 1, 0]) % gram.columns.size
    columns = host(gram.some_columns(some))
    claim_close(columns, G[:, some], ROOT * scale, "some_columns are not of matrix()")
    if gram.terms is not None:
        total = np.sum([np.kron(host(K), host(full(B))) for K, B in gram.terms], axis=0)
        claim_close(total, G, ROOT * scale, "the terms do not add up to matrix()")
    part = kernel.gram(items_at(items, [1, 0]), items)
    claim_close(part.blocks(), blocks[[1, 0]], ROOT * scale, "a part of the items has other values")
