"""What a transducer refuses, and in which words."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone

from ..._arrays import Items
from ...estimators.checks import positive_alpha
from ...kernels import LocalWindow
from ...kernels._sequences import as_sequences
from ...operators import ConditionalCovariance, as_operator_kernel
from ...solvers import ConjugateGradient
from .contexts import Contexts
from .emission import Ridge

TOLERANCE = 3e-3
"""Of the ridge equation: a tenth of it decodes the same words."""
WHOLE = {"max_chunk": 1, "history": 0, "order": 1, "folds": 2}
"""Parameters that are whole numbers, and the least that each may be."""


def checked_parameters(model: Any) -> tuple[Contexts, Ridge]:
    """The parameters of a `SequenceTransducer`, in the form that its parts take them."""
    for name, least in WHOLE.items():
        whole(getattr(model, name), name, least)
    if model.beam is not None:
        whole(model.beam, "beam", 1)
    if model.unalignable not in ("raise", "skip"):
        raise ValueError(f'unalignable must be "raise" or "skip", got {model.unalignable!r}.')
    _number_or_none(model.temperature, "temperature", 1e-6)
    _number_or_none(model.lm_weight, "lm_weight", 0.0)
    chosen = LocalWindow() if model.kernel is None else model.kernel
    chosen = as_operator_kernel(chosen).separated()
    if not isinstance(chosen.scalar, LocalWindow):
        raise TypeError(
            f"kernel must be a LocalWindow (or one times an operator), got {chosen.scalar}."
        )
    if chosen.operator.own_coordinates or isinstance(chosen.operator, ConditionalCovariance):
        raise ValueError(
            f"{chosen.operator} is not diagonal on chunks: use Identity() or Covariance()."
        )
    ridge = Ridge(chosen.operator, positive_alpha(model.alpha), ConjugateGradient(TOLERANCE))
    return Contexts(clone(chosen.scalar), model.history), ridge


def alignable(n: np.ndarray, m: np.ndarray, longest: int, otherwise: str) -> np.ndarray:
    """The pairs whose m output symbols can be cut into chunks, one for each of n symbols."""
    fits = m <= n * longest
    if not fits.all() and otherwise == "raise":
        i = int(np.argmin(fits))
        raise ValueError(
            f"y[{i}] has {m[i]} symbols, more than max_chunk = {longest} for each of the {n[i]} "
            f"of X[{i}] (and so have {int((~fits).sum()) - 1} other pairs): raise max_chunk, or "
            'leave such pairs out with unalignable="skip".'
        )
    keep = np.flatnonzero(fits)
    if not n[keep].sum():
        raise ValueError("there is no pair to learn from: all inputs are empty or skipped.")
    return keep


def checked_pairs(X: Items, y: Items) -> tuple[np.ndarray, np.ndarray]:
    """As many outputs as inputs, all of them sequences."""
    if y is None:
        raise ValueError("SequenceTransducer requires y to be passed, but the target y is None.")
    X, y = as_sequences(X, "X"), as_sequences(y, "y")
    if len(X) != len(y):
        raise ValueError(
            f"X and y must have the same length, one output for each input: got {len(X)} inputs "
            f"and {len(y)} outputs."
        )
    return X, y


def _number_or_none(value: Any, name: str, least: float) -> None:
    if value is not None and not (isinstance(value, Real) and least <= float(value) < np.inf):
        raise ValueError(f"{name} must be a number ≥ {least:g} or None, got {value!r}.")


def whole(value: Any, name: str, least: int) -> int:
    """A whole number that is large enough."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number ≥ {least}, got {value!r}.")
    return int(value)
