"""The base of spectra whose eigenvectors are computed from features when they are needed."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar

import numpy as np

from .._base.arrays import Array, Items, count, like, namespace, take
from ..operators.slots import Slots
from .constants import Constants
from .input_spectrum import InputSpectrum, ProjectedInputs


class FeatureSpectrum(InputSpectrum):
    """Spectrum of a Gram matrix over slots whose eigenvectors E are computed from features.

    A slot is a pair of an example and an output component. With its centred features f, its row of
    E is √w fᵀM, and the projection of a new slot is z = s ∘ fᵀM. Rows of E are computed when they
    are needed, because all of them may exceed the memory.

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
    M: Array
    """The matrix from centred features to rows of E."""

    def __init__(
        self, X: Items, slots: Slots, weights: np.ndarray | None, intercept: bool, where: Array
    ):
        self.X, self.slots = X, slots
        w = None if weights is None else weights[slots.owners]
        self.total = float(slots.size if w is None else w.sum())
        self.roots = None if w is None else like(np.sqrt(w)[:, None], where)
        self.constants = Constants.by_component(slots, w, intercept)
        self.complete = self.orthonormal = False

    @property
    def nbytes(self) -> float:
        """Zero: rows of E are computed when they are needed."""
        return 0.0

    def features(self, X: Items) -> Array:
        """Return the centred features of the slots of inputs X, (inputs, slots, features)."""
        raise NotImplementedError

    def prior_variances(self, X: Items, F: Array, E: Array) -> Array:
        """Return the prior variance of each slot of X, with features F and rows E."""
        raise NotImplementedError

    def slots_of(self, number: int) -> Slots:
        """Return the slots of a batch of `number` new inputs."""
        raise NotImplementedError

    def _in_basis(self, F: Array) -> Array:
        """Return the rows of E of slots with features F, without sample weights."""
        return namespace(F).reshape(F, (-1, F.shape[2])) @ self.M

    def rows(self, index: np.ndarray) -> Array:
        """Return the rows `index` of E, computed from the training inputs."""
        slots: Any = self.slots
        examples, at = np.divmod(index, slots.size // slots.n)
        needed, where = np.unique(examples, return_inverse=True)
        E = self._in_basis(self.features(take(self.X, needed)))
        E = take(E, where.reshape(-1) * (slots.size // slots.n) + at)
        return E if self.roots is None else E * take(self.roots, index)

    def project_inputs(self, X: Items, prior: bool = False) -> ProjectedInputs:
        """Project the slots of new inputs on the eigenvectors; `prior` adds prior variances."""
        F = self.features(X)
        E = self._in_basis(F)
        own = self.prior_variances(X, F, E) if prior else None
        return ProjectedInputs(E * self.s, own, self.slots_of(count(X)))

    def without_training_rows(self) -> FeatureSpectrum:
        """Return a copy without the training inputs; predictions remain available."""
        other = copy(self)
        other.X, other.roots = None, None
        return other
