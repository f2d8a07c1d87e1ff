"""What a list of label sets says of each label, and a list of rankings of each position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._arrays import Items, host
from ..spaces import LabelSets, Rankings


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
