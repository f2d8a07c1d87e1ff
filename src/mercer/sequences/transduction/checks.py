"""Checks of the parameters and data of a transducer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

import numpy as np

from ..._base.arrays import Items, require_equal_lengths
from ..._base.parameters import integer
from ...kernels import LocalWindow
from ...operators import ConditionalCovariance, Operator, as_operator_kernel
from ...problem import positive_alpha
from ...spaces import as_sequences


def check_parameters(model: Any) -> tuple[LocalWindow, Operator]:
    """Check the parameters of a `SequenceTransducer`; return its window kernel and operator."""
    integer(model.max_chunk, "max_chunk", 1)
    positive_alpha(model.alpha)
    if model.beam is not None:
        integer(model.beam, "beam", 1)
    if model.folds is not None and model.folds != "auto":
        integer(model.folds, "folds", 2)
    check_option(model.unalignable, "unalignable", ("raise", "skip"))
    check_option(model.direction, "direction", ("forward", "backward", "both"))
    check_tiers(model.tiers)
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
    window = LocalWindow(chosen.scalar.radius, chosen.scalar.decay)
    window.windows()  # raises an error for a bad radius or decay
    return window, chosen.operator


def check_tiers(tiers: Any) -> None:
    """Raise an error unless `tiers` is "learnt", None or a list of classes of symbols."""
    if tiers is None or (isinstance(tiers, str) and tiers == "learnt"):
        return
    listed = isinstance(tiers, list | tuple) and all(hasattr(c, "__iter__") for c in tiers)
    if not listed:
        raise ValueError(
            f'tiers must be "learnt", None, or a list of classes of symbols such as ["aeiou"], '
            f"got {tiers!r:.60}."
        )


def check_option(value: Any, name: str, allowed: tuple[str, ...]) -> None:
    """Raise an error unless the value of the parameter `name` is one of those allowed."""
    if value not in allowed:
        names = " or ".join(f'"{each}"' for each in allowed)
        raise ValueError(f"{name} must be {names}, got {value!r}.")


def alignable_pairs(n: np.ndarray, m: np.ndarray, longest: int, otherwise: str) -> np.ndarray:
    """Return the indices of pairs whose m output symbols fit into n chunks of bounded length.

    The longest chunk has `longest` symbols. If `otherwise` is "raise", a pair that does not fit is
    an error.
    """
    fits = m <= n * longest
    if not fits.all() and otherwise == "raise":
        i = int(np.argmin(fits))
        raise ValueError(
            f"y[{i}] has {m[i]} symbols, more than max_chunk = {longest} for each of the {n[i]} "
            f"symbols of X[{i}] ({int((~fits).sum()) - 1} other pairs are too long as well). Raise "
            'max_chunk, or leave such pairs out with unalignable="skip".'
        )
    keep = np.flatnonzero(fits)
    if not n[keep].sum():
        raise ValueError("there is no pair to learn from: all inputs are empty or skipped.")
    return keep


def checked_pairs(X: Items, y: Items) -> tuple[np.ndarray, np.ndarray]:
    """Return X and y as arrays of sequences; raise an error unless their lengths are equal."""
    if y is None:
        raise ValueError("SequenceTransducer requires y to be passed, but the target y is None.")
    X, y = as_sequences(X, "X"), as_sequences(y, "y")
    require_equal_lengths(len(X), len(y))
    return X, y


def checked_candidates(candidates: Items | None) -> list[Any] | None:
    """Return the list of candidates of each input, after a check; None for None."""
    if candidates is None:
        return None
    by_name = hasattr(candidates, "columns") or isinstance(candidates, str | Mapping | Set)
    if by_name or not np.iterable(candidates):
        raise TypeError(
            f"candidates must be a list with a list of outputs for each input, got "
            f"{type(candidates).__name__}. For a table, pass table.values.tolist()."
        )
    lists = [list(row) if isinstance(row, Iterator) else row for row in candidates]
    for i, row in enumerate(lists):
        if not hasattr(row, "__len__"):
            raise TypeError(f"candidates[{i}] must be a list of outputs, got {row!r:.60}.")
    return lists
