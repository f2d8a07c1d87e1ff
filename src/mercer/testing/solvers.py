"""Checks of operator-valued kernels that bring their solver."""

from __future__ import annotations

import tempfile
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.base import clone

from .._base.arrays import Array, host, like
from ..estimators import KernelDependency
from ..operators import OperatorKernel
from ..persistence import load, save
from ..solvers import Cache
from .claims import ROOT, claim, claim_close

ALPHA = 0.1
"""The ridge of the checks."""


def check_solver(
    kernel: OperatorKernel, items: Array, outputs: Array, tolerance: float = ROOT
) -> None:
    """Check that the solver that an operator-valued kernel brings solves its ridge equation.

    Solutions and left-out predictions are compared with the dense equation, with sample weights
    and groups. With an intercept, a constant added to all outputs must move the predictions by it,
    and integer weights must equal repeated examples. The saved model must predict the same.

    Parameters
    ----------
    kernel : OperatorKernel
        The kernel, whose `factor` returns a factorisation. Parameters such as length scales should
        be given as numbers.
    items : array
        At least six inputs.
    outputs : array
        As many outputs, arrays of numbers.
    tolerance : float, default=1e-7
        The largest difference, relative to the largest output.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.fields import ShiftEquivariant
    >>> from mercer.kernels import RBF
    >>> from mercer.testing import check_solver
    >>> X = np.random.default_rng(0).normal(size=(8, 4))
    >>> check_solver(ShiftEquivariant(RBF(2.0)), X, X**2)
    """
    X, Y = np.asarray(items, dtype=float), np.asarray(outputs, dtype=float)
    tolerance = tolerance * max(1e-300, float(np.abs(Y).max()))
    for weighted, grouped in product((False, True), (False, True)):
        _check_against_dense(kernel, X, Y, weighted, grouped, tolerance)
    _check_intercept(kernel, X, Y, tolerance)
    _check_saving(kernel, X, Y)


def _model(kernel: OperatorKernel, intercept: bool) -> KernelDependency:
    """Return an unfitted model with the kernel."""
    return KernelDependency(clone(kernel), alpha=ALPHA, fit_intercept=intercept)


def _weights(n: int) -> np.ndarray:
    """Return integer sample weights of n examples."""
    return 1.0 + np.arange(n) % 3


def _check_against_dense(
    kernel: OperatorKernel, X: Array, Y: Array, weighted: bool, grouped: bool, tolerance: float
) -> None:
    """Check predictions and left-out predictions without an intercept against dense solutions."""
    n = len(X)
    w = _weights(n) if weighted else np.ones(n)
    labels = np.arange(n) // 2 if grouped else np.arange(n)
    model = _model(kernel, False)
    model.fit(X, Y, groups=labels if grouped else None, sample_weight=w if weighted else None)
    fitted = model.fitted_
    brought = fitted.problem.kernel.factor(fitted.problem, fitted.want, Cache())
    claim(brought is not None, "factor returns None: the kernel brings no solver")
    gram = model.kernel_.gram(X)
    G, owners = host(gram.matrix()), gram.rows.owners
    T = host(gram.rows.split(like(Y.reshape(n, -1), G)))

    def predictions(at: np.ndarray, training: np.ndarray) -> np.ndarray:
        """Return the dense solution of some examples at other examples, one row per slot."""
        rows, new = (np.isin(owners, examples) for examples in (training, at))
        system = G[np.ix_(rows, rows)] + np.diag(ALPHA / w[owners[rows]])
        return G[np.ix_(new, rows)] @ np.linalg.solve(system, T[rows])

    def by_example(values: np.ndarray) -> np.ndarray:
        """Return values of all slots as outputs."""
        return host(gram.rows.join(values)).reshape(Y.shape)

    every = np.arange(n)
    wanted = by_example(predictions(every, every))
    claim_close(model.predict(X), wanted, tolerance, "predictions do not solve the ridge equation")
    left_out = np.empty_like(T)
    for label in np.unique(labels):
        out = np.flatnonzero(labels == label)
        left_out[np.isin(owners, out)] = predictions(out, np.setdiff1d(every, out))
    wanted = by_example(left_out)
    claim_close(model.loo_predict(), wanted, tolerance, "left-out predictions are not refits")


def _check_intercept(kernel: OperatorKernel, X: Array, Y: Array, tolerance: float) -> None:
    """Check models with an intercept: constants, and weights that count examples."""
    model = _model(kernel, True)
    plain = model.fit(X, Y).predict(X)
    level = float(np.abs(Y).max())
    moved = model.fit(X, Y + level).predict(X)
    claim_close(moved, plain + level, tolerance, "the intercept does not fit a constant")
    weights = _weights(len(X)).astype(int)
    counted = model.fit(X, Y, sample_weight=weights).predict(X)
    repeated = model.fit(np.repeat(X, weights, axis=0), np.repeat(Y, weights, axis=0)).predict(X)
    claim_close(counted, repeated, tolerance, "integer weights do not equal repeated examples")


def _check_saving(kernel: OperatorKernel, X: Array, Y: Array) -> None:
    """Check that a saved model predicts the same, variances included."""
    model = _model(kernel, True).fit(X, Y)
    with tempfile.TemporaryDirectory() as folder:
        again = load(save(model, Path(folder) / "model.mercer", variance=True))
    claim_close(again.predict(X), model.predict(X), 0.0, "a saved model predicts differently")
    known = host(model.embed(X).variance())
    scale = float(np.abs(known).max())
    found = host(again.embed(X).variance())
    claim_close(found, known, ROOT * scale, "a saved model has other variances")
