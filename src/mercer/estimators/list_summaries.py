"""Lists of outputs: what they say of labels and positions, and how near their best is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._arrays import Items, host, object_array, one, take
from ..metrics import edit_distance, hamming_accuracy, sample_f1
from ..spaces import LabelSets, Rankings
from .set_shapes import CandidateShape


@dataclass(frozen=True)
class Inclusion:
    """How likely each label is in the true set, calibrated on pairs that the model has not seen.

    The margin of a label is by how much the nearest candidate with it is nearer to g(x) than the
    nearest one without. An increasing function from margins, of all labels alike, to how often
    labels of this margin were in the true set is fitted to the calibration pairs.

    Attributes
    ----------
    members
        Which candidate has which label, (candidates, labels).
    margins, shares
        The function, at its corners.
    """

    members: np.ndarray
    margins: np.ndarray
    shares: np.ndarray

    @classmethod
    def of(cls, members: np.ndarray, gaps: np.ndarray, truth: np.ndarray) -> Inclusion:
        """Calibrate on gaps of candidates (one row an example) and the labels of the outputs."""
        from sklearn.isotonic import IsotonicRegression

        margins = _margins(members, gaps)
        curve = IsotonicRegression(out_of_bounds="clip").fit(margins.ravel(), truth.ravel())
        return cls(members, curve.X_thresholds_, curve.y_thresholds_)

    def at(self, gaps: np.ndarray) -> np.ndarray:
        """The probability of each label, (inputs, labels)."""
        return np.interp(_margins(self.members, gaps), self.margins, self.shares)


def _margins(members: np.ndarray, gaps: np.ndarray) -> np.ndarray:
    far = 2.0 * np.max(gaps, where=np.isfinite(gaps), initial=1.0)
    gaps = np.minimum(gaps, far)
    found = np.empty((len(gaps), members.shape[1]))
    for j, has in enumerate(members.T):
        without = gaps[:, ~has].min(axis=1, initial=far)
        found[:, j] = without - gaps[:, has].min(axis=1, initial=far)
    return found


def inclusion_of(sets: Any, points: Any, y: Items) -> Inclusion | None:
    """The calibrated inclusion of labels where lists hold label sets, else None."""
    kernel, pool = sets.view_.output_kernel_, getattr(sets.shape_, "outputs", None)
    if pool is None or not isinstance(kernel.space, LabelSets):
        return None
    classes = list(getattr(kernel, "classes_", ()))
    truth = _indicators(y, classes)
    return Inclusion.of(_indicators(pool, classes), sets.shape_.gaps(points), truth)


def _indicators(outputs: Items, classes: list) -> np.ndarray:
    """Which output has which label; labels that nobody knew are left out."""
    if sparse.issparse(outputs):
        return outputs.toarray() != 0
    if isinstance(outputs, np.ndarray) and outputs.dtype != object:
        return outputs != 0
    return np.array([[label in set(one) for label in classes] for one in host(outputs)], dtype=bool)


def may_stand(lists: Sequence[list], space: Any) -> np.ndarray:
    """Which positions each label has in the rankings of a list, (lists, labels, positions).

    The true positions of all labels are among these whenever the true ranking is in the list.
    """
    if not isinstance(space, Rankings):
        raise ValueError("positions are those of labels in rankings: these outputs are none.")
    ranks = [np.asarray(some, dtype=int) for some in lists]
    m = ranks[0].shape[1]
    first = min(int(some.min()) for some in ranks)
    return np.stack([(some[:, :, None] - first == np.arange(m)).any(axis=0) for some in ranks])


Losses = Callable[[Items, Items], np.ndarray]


def normalised_edits(y_true: Items, y_pred: Items) -> np.ndarray:
    """Edits over the length of the longer sequence, between 0 and 1."""
    lengths = [max(len(a), len(b), 1) for a, b in zip(y_true, y_pred, strict=True)]
    return edit_distance(y_true, y_pred, average=False) / np.array(lengths)


LOSSES: dict[str, Losses] = {
    "f1": lambda a, b: 1.0 - sample_f1(a, b, average=False),
    "hamming": lambda a, b: 1.0 - hamming_accuracy(a, b, average=False),
    "edit": normalised_edits,
}


def as_loss(loss: Any) -> Losses:
    """A loss by name, or a function of true and predicted outputs with values from 0 to 1."""
    if not callable(loss) and loss not in LOSSES:
        raise ValueError(f"loss must be one of {tuple(LOSSES)} or a function, got {loss!r}.")
    return loss if callable(loss) else LOSSES[loss]


def steps(shape: Any, points: Any, y: Items, loss: Losses) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each example the radii at which its list grows, and the least loss in the list then."""
    if not isinstance(shape, CandidateShape):
        rows = [_ranked(some) for some in points]
    else:
        orders = [(gaps, np.argsort(gaps, kind="stable")) for gaps in shape.gaps(points)]
        rows = [(gaps[o], take(shape.outputs, o)) for gaps, o in orders]
    return [
        (g, np.minimum.accumulate(_losses(loss, one(y, i), o))) for i, (g, o) in enumerate(rows)
    ]


def _ranked(some: list) -> tuple[np.ndarray, Items]:
    return np.array([some[0][1] - score for _, score in some]), object_array([o for o, _ in some])


def _losses(loss: Losses, y: Any, outputs: Items) -> np.ndarray:
    """The loss of every output where y is the truth."""
    n = outputs.shape[0] if hasattr(outputs, "shape") else len(outputs)
    array = isinstance(outputs, np.ndarray) and outputs.dtype != object
    truth = np.broadcast_to(np.asarray(y), (n, *np.shape(y))) if array else object_array([y] * n)
    values = np.asarray(loss(truth, outputs), dtype=float)
    if values.shape != (n,) or not ((values >= -1e-12) & (values <= 1 + 1e-12)).all():
        raise ValueError("loss must return a value from 0 to 1 for each pair of outputs.")
    return values


def risk_at(found: list[tuple[np.ndarray, np.ndarray]], radius: float) -> np.ndarray:
    """The least loss in each list of one radius."""
    return np.array(
        [least[np.searchsorted(gaps, radius, side="right") - 1] for gaps, least in found]
    )


def controlled_radius(
    found: list[tuple[np.ndarray, np.ndarray]], weights: np.ndarray, bound: float
) -> float:
    """The least radius whose weighted risk, the new example at a loss of 1, is within the bound.

    Infinite where none is. The risk falls as lists grow, so that halving finds it.

    References
    ----------
    Angelopoulos, Bates, Fisch, Lei, Schuster: Conformal risk control (ICLR 2024).
    """
    radii = np.unique(np.concatenate([gaps[np.isfinite(gaps)] for gaps, _ in found]))
    spare = 1.0 - float(weights.sum())

    def within(radius: float) -> bool:
        return float(weights @ risk_at(found, radius)) + spare <= bound + 1e-12

    if not within(radii[-1]):
        return np.inf
    low, high = -1, len(radii) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if within(radii[middle]) else (middle, high)
    return float(radii[high])
