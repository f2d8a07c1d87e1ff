"""Inputs whose rows are slots, pairs of an example and an output component."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._base.arrays import Array, Items, blocks, count, like, namespace, part, take
from .._base.memory import ENTRIES
from ..operators import BlockGram, OperatorKernel
from ..operators.slots import Slots
from .inputs import InputSpectrum
from .left_out import LeaveOneOut, Part

DIAGONAL = 16
"""Inputs whose values against each other are made where only K(x, x) is needed."""


class Located(NamedTuple):
    """New inputs in the eigenbasis of the training inputs, one row a slot.

    Attributes
    ----------
    Z
        The projections z.
    prior
        The prior variance of each slot; None where it was not requested.
    slots
        The example and the component of each row.
    """

    Z: Array
    prior: Array | None
    slots: Slots


class SlotInputs(InputSpectrum):
    """Rows are slots: all slots of an example are left out together.

    Attributes
    ----------
    slots
        Those of the training examples.
    weights
        The sample weight of each training slot; None for ones.
    """

    slots: Slots
    weights: np.ndarray | None
    shares: np.ndarray | None

    def located(self, X: Items, prior: bool = False) -> Located:
        """New inputs in the eigenbasis, with their prior variances where requested."""
        raise NotImplementedError

    def set_constants(self, intercept: bool) -> None:
        """Store the total weight of each output component, which its constant is made of."""
        w = np.ones(self.slots.size) if self.weights is None else self.weights
        self.total = float(w.sum())
        totals = np.bincount(self.slots.places, w, minlength=self.slots.width)
        self.shares = np.where(totals > 0, totals, np.inf) ** -0.5 if intercept else None

    def constant(self, slots: Slots) -> Array | float:
        """The weight of the constant of each slot: 1/√Σw of its component."""
        if self.shares is None:
            return 0.0
        return like(self.shares[slots.places][:, None], self.s)

    @property
    def constants(self) -> int:
        """One for each output component that occurs."""
        return 0 if self.shares is None else int((self.shares > 0).sum())

    def _levels(self, index: Any) -> np.ndarray:
        """The entries of N at some rows, each in the column of its component."""
        assert self.shares is not None
        roots = 1.0 if self.weights is None else np.sqrt(self.weights[index])
        return roots * self.shares[self.slots.places[index]]

    def squared_levels(self, index: slice) -> Array | float:
        """N² of some rows."""
        return 0.0 if self.shares is None else like(self._levels(index) ** 2, self.s)

    def constant_blocks(self, members: np.ndarray) -> tuple[Array, Array] | None:
        """N_gN_gᵀ of groups of rows, and the same of components that no other row has."""
        if self.shares is None:
            return None
        places, levels = self.slots.places[members], self._levels(members)
        same = places[:, :, None] == places[:, None, :]
        products = same * levels[:, :, None] * levels[:, None, :]
        rows = np.bincount(self.slots.places, minlength=self.slots.width)
        alone = same.sum(axis=2) >= rows[places]
        return like(products, self.s), like(products * alone[:, :, None], self.s)

    def without_constants(self, members: np.ndarray, A: Array) -> Array:
        """(I - N_gN_gᵀ)⁻¹ A for groups of rows; components that no other row has are not fitted."""
        if self.shares is None:
            return A
        places, levels = self.slots.places[members], self._levels(members)
        at = (places[:, None, :] == np.arange(self.slots.width)[:, None]) * levels[:, None, :]
        mass = (at**2).sum(axis=2)
        rows = np.bincount(self.slots.places, minlength=self.slots.width)
        known = (at > 0).sum(axis=2) < rows
        gain = np.where(known, 1.0 / np.where(known, 1.0 - mass, 1.0), 0.0)
        N = like(at, A)
        inner = like(gain[:, :, None], A) * (N @ A)
        return A + namespace(A).matrix_transpose(N) @ inner

    def unit_variance(self, b: Array, X: Items, alpha: float) -> Array:
        """The variance of every output component for unit noise."""
        at = self.located(X, prior=True)
        assert at.prior is not None
        xp, removed = namespace(at.Z), b * b / (self.s[:, None] * b[None, :] + alpha)
        V = at.prior[:, None] * b[None, :] - (at.Z * at.Z) @ removed
        V = xp.where(V > 0, V, xp.zeros_like(V)) / alpha
        return at.slots.join(V + self.constant(at.slots) ** 2)


class GramInputs(SlotInputs):
    """All values of an operator-valued kernel on the training inputs, written out over slots."""

    def __init__(
        self,
        kernel: OperatorKernel,
        X: Items,
        gram: BlockGram,
        weights: np.ndarray | None,
        intercept: bool,
    ):
        self.kernel, self.X, self.slots, self.weights = kernel, X, gram.rows, weights
        self.set_constants(intercept)
        K = gram.matrix() + 0.0
        self.means = self.slots.means(K, weights) if intercept else None
        what = "operator-valued Gram matrix"
        self.factor(K, weights, intercept, self.slots.places, what)

    def located(self, X: Items, prior: bool = False) -> Located:
        """Kernel values times E, less the mean of each component with an intercept."""
        gram = self.kernel.gram(X, self.X)
        K, slots, own = gram.matrix(), gram.rows, None
        if prior:
            own = diagonal(self.kernel, X)
        if self.means is not None:
            xp, turn = namespace(K), namespace(K).matrix_transpose
            if own is not None:
                across = turn(self.slots.means(turn(K), self.weights))  # (rows, width)
                level = self.slots.means(turn(self.means), self.weights)
                at = like(np.eye(slots.width)[slots.places], K)
                own = own - 2.0 * xp.sum(across * at, axis=1)
                own = own + take(xp.linalg.diagonal(level), slots.places)
            K = K - take(self.means, slots.places)
        return Located(K @ self.reduction.weighted(self.E), own, slots)


def diagonal(kernel: OperatorKernel, X: Items) -> Array:
    """K(x, x) at every slot, of a few inputs against each other at a time."""
    own = [kernel.gram(part(X, rows)).matrix() for rows in blocks(count(X), DIAGONAL)]
    xp = namespace(*own)
    return xp.concat([xp.linalg.diagonal(K) for K in own])


# -- left-out models at new inputs -----------------------------------------------------------------


def pulled(smoother: Part, own: np.ndarray, e: Array, alpha: float) -> Array:
    """B (s b + α)⁻¹ E_Iᵀ e_I: what residuals e of rows I add to the coefficients of z(x)."""
    xp, s, b = namespace(e), smoother.inputs.s, smoother.b
    E = smoother.inputs.rows(own)
    return (b / (s[:, None] * b + alpha)) * (xp.matrix_transpose(E) @ e)


def constant_pull(smoother: Part, own: np.ndarray, e: Array) -> Array:
    """Σ_{i∈I} of the level of row i times e_i, for every output component, (width, directions)."""
    inputs: Any = smoother.inputs
    roots = np.ones(len(own)) if inputs.weights is None else np.sqrt(inputs.weights[own])
    places = inputs.slots.places[own]
    at = like((np.arange(inputs.slots.width)[:, None] == places) * roots, e)
    return like(inputs.shares[:, None], e) * (at @ e)


def shifted(smoother: Part, at: Located, pull: Array, constant: Array | None) -> Array:
    """What left-out rows add to g at new inputs, (inputs, output components)."""
    inputs: Any = smoother.inputs
    D = at.Z @ pull
    if constant is not None:
        D = D + inputs.constant(at.slots) * take(constant, at.slots.places)
    return at.slots.join(D)


def slot_moves(
    smoother: Part, labels: np.ndarray, X: Items, alpha: float
) -> Iterator[tuple[slice, Array]]:
    """How leaving the group of each example out moves the points of new inputs, in blocks."""
    inputs: Any = smoother.inputs
    slots = inputs.slots
    e = next(smoother.left_out_path([alpha], labels))
    pulls, constants = [], []
    for label in np.unique(labels):
        own = np.flatnonzero(labels[slots.owners] == label)
        pulls.append(pulled(smoother, own, take(e, own), alpha))
        if inputs.shares is not None:
            constants.append(constant_pull(smoother, own, take(e, own)))
    number = np.unique(labels, return_inverse=True)[1].reshape(-1)
    xp, entries = namespace(e), len(labels) * slots.width * slots.repeats
    for rows in blocks(count(X), max(1, ENTRIES // entries)):
        at = inputs.located(part(X, rows))
        found = [
            shifted(smoother, at, pull, constants[g] if constants else None)
            for g, pull in enumerate(pulls)
        ]
        yield rows, xp.stack([found[g] for g in number], axis=1)


def slots_without(
    smoother: Part, R: Array, X: Items, alpha: float, sets: Sequence[np.ndarray]
) -> Array:
    """What the left-out examples of each new input add to its point, (inputs, components)."""
    inputs: Any = smoother.inputs
    found, loo = [], LeaveOneOut(smoother)
    for t, examples in enumerate(sets):
        at = inputs.located(part(X, slice(t, t + 1)))
        own = inputs.slots.of_items(np.asarray(examples, dtype=np.intp))
        if not len(own):
            found.append(at.slots.join(0.0 * at.Z[:, :1] * R[:1, :]))
            continue
        e = loo.solved_groups([R], [alpha], own[None, :])[0, :, :]
        e = e + smoother.unknown_constants(own)
        constant = None if inputs.shares is None else constant_pull(smoother, own, e)
        found.append(shifted(smoother, at, pulled(smoother, own, e, alpha), constant))
    return namespace(R).concat(found)
