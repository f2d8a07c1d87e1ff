"""The base of spectra whose eigenvectors are computed from features when they are needed."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar

import numpy as np

from .._base.arrays import Array, Items, like, take
from ..operators.slots import Slots
from .constants import Constants
from .input_spectrum import InputSpectrum


class FeatureSpectrum(InputSpectrum):
    """Spectrum of a Gram matrix over slots whose eigenvectors E are computed from features.

    A slot is a pair of an example and an output component. Rows of E are computed when they are
    needed, because all of them may exceed the memory.

    Parameters
    ----------
    X
        The training inputs.
    slots
        The slots of the training examples.
    weights
        The sample weight of each training example; None for equal weights.
    intercept
        Whether each output component has an intercept.
    where
        An array of the library and device to compute with.
    """

    in_memory: ClassVar[bool] = False
    X: Items

    def __init__(
        self, X: Items, slots: Slots, weights: np.ndarray | None, intercept: bool, where: Array
    ):
        self.X, self.slots = X, slots
        w = None if weights is None else weights[slots.owners]
        self.total = float(slots.size if w is None else w.sum())
        self.roots = None if w is None else like(np.sqrt(w)[:, None], where)
        self.constants = Constants.by_component(slots, w) if intercept else None
        self.complete = self.orthonormal = False
        self.all_rows = True

    def coordinates(self, X: Items) -> Array:
        """Return E of the slots of inputs X before scaling, without sample weights."""
        raise NotImplementedError

    @property
    def row_scales(self) -> Array:
        """The factor of each column of `coordinates` in E."""
        raise NotImplementedError

    def rows(self, index: np.ndarray) -> Array:
        """Return the rows `index` of E, computed from the training inputs."""
        slots: Any = self.slots
        examples, at = np.divmod(index, slots.size // slots.n)
        needed, where = np.unique(examples, return_inverse=True)
        Z = self.coordinates(take(self.X, needed))
        Z = take(Z, where.reshape(-1) * (slots.size // slots.n) + at) * self.row_scales
        return Z if self.roots is None else Z * take(self.roots, index)

    def without_training_rows(self) -> FeatureSpectrum:
        """Return a copy without the training inputs; predictions remain available."""
        other = copy(self)
        other.X, other.roots = None, None
        return other
