"""The default kernel and metric of each space, in one table.

The default decoder depends on the output kernel: see `mercer.decoders.natural`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from . import metrics, spaces
from ._base.arrays import Items, count, take
from .kernels import (
    L2,
    RBF,
    Delta,
    FieldL2,
    Fingerprint,
    Kendall,
    Kernel,
    Labels,
    Linear,
    MassSpectrum,
    Normalized,
    On,
    Positions,
    Precomputed,
    Spectrum,
    SubsetTree,
    WeisfeilerLehman,
)
from .spaces import Records, Space
from .spaces.records import field_values

__all__ = ["default_kernel", "evaluate", "row_scores"]


@dataclass(frozen=True)
class Defaults:
    """The default kernel and metric of an output or input space.

    Attributes
    ----------
    kernel
        A function from the space to a kernel on it.
    metric
        A function of true and predicted outputs; None for the fraction of equal ones.
    """

    kernel: Callable[[Any], Kernel]
    metric: Callable[..., Any] | None = None


def _sequence_kernel(space: spaces.Sequences) -> Kernel:
    """Return the default kernel of sequences: n-grams of up to three symbols.

    Sequences of vectors are compared position by position.
    """
    return Positions(RBF()) if space.vectors else Normalized(Spectrum(3, blended=True))


def _record_kernel(space: Records) -> Kernel:
    """Return the default kernel of records: the sum of the default kernels of their fields."""
    return reduce(add, [On(name, default_kernel(own)) for name, own in space.fields.items()])


TABLE: dict[type[Space], Defaults] = {
    spaces.Vectors: Defaults(lambda space: Linear(), metrics.squared_error),
    spaces.Curves: Defaults(lambda space: L2(space.grid), metrics.squared_error),
    spaces.Fields: Defaults(FieldL2, metrics.relative_error),
    spaces.LabelSets: Defaults(lambda space: Labels(), metrics.sample_f1),
    spaces.Classes: Defaults(lambda space: Delta(), metrics.accuracy),
    spaces.Rankings: Defaults(lambda space: Kendall(), metrics.kendall_tau),
    spaces.Sequences: Defaults(_sequence_kernel),
    spaces.Molecules: Defaults(lambda space: Fingerprint()),
    spaces.Spectra: Defaults(lambda space: Normalized(MassSpectrum())),
    spaces.Graphs: Defaults(lambda space: WeisfeilerLehman()),
    spaces.Trees: Defaults(lambda space: Normalized(SubsetTree())),
    spaces.GramRows: Defaults(lambda space: Precomputed()),
    spaces.Records: Defaults(_record_kernel),
}
"""The defaults of each space; a subclass has those of its parent."""


def _registered_defaults(space: Space) -> Defaults | None:
    """Return the defaults of a space, or of its nearest base class in `TABLE`; None if none has."""
    return next((TABLE[kind] for kind in type(space).__mro__ if kind in TABLE), None)


def default_kernel(space: Space) -> Kernel:
    """Return the default kernel of a space.

    Parameters
    ----------
    space : Space
        A space of outputs or inputs.

    Examples
    --------
    >>> from mercer.defaults import default_kernel
    >>> from mercer.spaces import Rankings
    >>> default_kernel(Rankings())
    Kendall()
    """
    own, known = space.kernel(), _registered_defaults(space)
    if own is not None:
        return own
    if known is None:
        raise ValueError(f"{space.name} have no default kernel: name one.")
    return known.kernel(space)


def evaluate(space: Space, y_true: Items, y_pred: Items, average: bool = True) -> Any:
    """Return the score of predictions by the default metric of a space.

    A greater value is better if `space.greater_is_better`.

    Parameters
    ----------
    space : Space
        The space of the outputs.
    y_true, y_pred : sequence
        The true and the predicted outputs.
    average : bool, default=True
        Whether to return the mean score; otherwise the score of each prediction.

    Examples
    --------
    >>> from mercer.defaults import evaluate
    >>> from mercer.spaces import Classes
    >>> evaluate(Classes(), ["sea", "sun"], ["sea", "sea"])
    0.5
    """
    own, known = space.metric(y_true, y_pred, average=average), _registered_defaults(space)
    if own is not None:
        return own
    if isinstance(space, Records):
        pair = space.check(y_true), space.check(y_pred)
        each = [_field_score(space, name, *pair) for name in space.fields]
        scores = np.mean(each, axis=0)
        return float(scores.mean()) if average else scores
    if known is not None and known.metric is not None:
        return known.metric(y_true, y_pred, average=average)
    pairs = zip(space.keys(y_true), space.keys(y_pred), strict=True)
    hits = np.array([a == b for a, b in pairs], dtype=float)
    return float(hits.mean()) if average else hits


def _field_score(space: Records, name: Any, y_true: Items, y_pred: Items) -> np.ndarray:
    """Return the score of one field of each predicted record, at most 1."""
    own = space.fields[name]
    truth, predicted = (own.check(field_values(A, name).tolist(), name) for A in (y_true, y_pred))
    return row_scores(own, truth, predicted)


def row_scores(space: Space, y_true: Items, y_pred: Items) -> np.ndarray:
    """Return the score of each prediction by the default metric of a space, at most 1.

    A loss is converted to 1 - loss / u, with u the mean loss of predicting the output of another
    row; for vectors, of predicting the mean, so that the mean of the result is R².

    Parameters
    ----------
    space : Space
        The space of the outputs.
    y_true, y_pred : sequence
        The true and the predicted outputs.

    Examples
    --------
    >>> from mercer.defaults import row_scores
    >>> from mercer.spaces import Classes
    >>> row_scores(Classes(), ["sea", "sun"], ["sea", "sea"])
    array([1., 0.])
    """
    each = np.asarray(evaluate(space, y_true, y_pred, average=False), dtype=float)
    if space.greater_is_better:
        return each
    if space.on_vectors:
        other: Items = np.broadcast_to(np.mean(y_true, axis=0), np.shape(y_true))
    else:
        other = take(y_true, np.roll(np.arange(count(y_true)), 1))
    unit = float(evaluate(space, y_true, other))
    return 1.0 - each / unit if unit > 0 else (each == 0) + 0.0
