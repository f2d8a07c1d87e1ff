"""The spectrum of the input Gram matrix K of a ridge problem: √w K √w = E diag(s) Eᵀ.

w are the sample weights; with an intercept, the constants are projected out first. All results
follow from E, s and the projection z(x) = Eᵀ(√w ∘ k_x) of a new input x: with targets T in the
eigenbasis of the operator, g_j(x) = Σ_p z_p(x) b_j (EᵀT)_pj / (b_j s_p + α), plus the intercept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from .._base.arrays import Array, Items, blocks, count, namespace, sliced, take
from .._base.linalg import adjoint
from .._base.memory import ENTRIES
from ..features import FeatureMap
from ..operators.slots import Slots
from .constants import Constants

if TYPE_CHECKING:
    from .part import Part

DIAGONAL_ITEMS = 16
"""Kernel matrices of this many inputs are computed at once where only diagonals are needed."""


class FittedMap(NamedTuple):
    """A fitted map of inputs, and its mean over the training examples.

    Attributes
    ----------
    map
        The map from inputs to values along output directions, or to output coordinates.
    mean
        Its weighted mean over the training inputs, which the offset of the model replaces by the
        mean of the outputs; 0.0 without an intercept.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF
    >>> model = KernelDependency(RBF(1.0)).fit([[0.0], [1.0], [2.0]], [[0.0], [1.0], [4.0]])
    >>> (part,) = model.fitted_.factorization.parts
    >>> part.spectrum.solve(part, 1.0).map.transform([[0.5]]).shape
    (1, 1)
    """

    map: FeatureMap
    mean: Any = 0.0


class ProjectedInputs(NamedTuple):
    """New inputs projected on the eigenvectors of the training Gram matrix.

    Attributes
    ----------
    Z
        The projections z, one row per input or slot of an input.
    prior
        The prior variance k(x, x) of each row; None if it was not requested.
    slots
        The input and the output component of each row.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF
    >>> X, Y = [[0.0], [1.0], [2.0]], [[0.0], [1.0], [4.0]]
    >>> model = KernelDependency(RBF(1.0), alpha=0.1).fit(X, Y)
    >>> (part,) = model.fitted_.factorization.parts
    >>> part.spectrum.project_inputs([[0.5], [1.5]]).Z.shape[0]
    2
    """

    Z: Array
    prior: Array | None
    slots: Slots

    def select(self, inputs: np.ndarray) -> ProjectedInputs:
        """Return the projections of the inputs with these positions, without prior variances."""
        rows, width = self.slots.of_items(inputs), self.slots.width
        positions = np.searchsorted(inputs, self.slots.owners[rows])
        live = None if self.slots.live is None else positions * width + self.slots.positions[rows]
        return ProjectedInputs(
            take(self.Z, rows), None, Slots(len(inputs), width, self.slots.repeats, live)
        )


class InputSpectrum:
    """Spectrum of the weighted input Gram matrix, without the constants that an intercept fits.

    Attributes
    ----------
    E
        The eigenvectors as columns, (rows, r), with one row per training example or slot of one;
        may be complex.
    s
        The eigenvalues, (r,), non-negative.
    constants
        The unit vectors N that the intercept fits, orthogonal to E; zero without an intercept.
    complete
        Whether E and N together are a complete basis: then one minus a leverage is a sum of
        non-negative terms; otherwise it is a difference, accurate to about 1e-15.
    orthonormal
        Whether the columns of E are orthonormal also for the smallest s. They are not if the rows
        are a sample, or if E was computed from moments.
    roots
        √w as a column; None for equal weights.
    total
        Σw.
    slots
        The example and the output component of each row.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF
    >>> X, Y = [[0.0], [1.0], [2.0]], [[0.0], [1.0], [4.0]]
    >>> model = KernelDependency(RBF(1.0), alpha=0.1).fit(X, Y)
    >>> (part,) = model.fitted_.factorization.parts
    >>> part.spectrum.size, part.spectrum.total
    (3, 3.0)
    """

    E: Array
    s: Array
    constants: Constants
    complete: bool
    orthonormal: bool
    roots: Array | None = None
    total: float
    slots: Slots
    has_gram: ClassVar[bool] = False
    """Whether `gram_times` is available, for iterative refinement."""
    in_memory: ClassVar[bool] = True
    """Whether all rows of E are in memory."""

    @property
    def size(self) -> int:
        """The number of training rows."""
        return self.slots.size

    @property
    def nbytes(self) -> float:
        """The size of the eigenvectors in bytes, as many as there are rows."""
        return 8.0 * self.size**2

    @property
    def mean_diagonal(self) -> float:
        """The mean of the diagonal of the centred Gram matrix."""
        return float(namespace(self.s).sum(self.s)) / self.total

    def rows(self, index: np.ndarray) -> Array:
        """Return the rows `index` of the eigenvector matrix E."""
        return take(self.E, index)

    def kernel_rows(self, index: np.ndarray) -> Array | None:
        """Return rows of the Gram matrix, neither weighted nor centred; None if not available."""
        return None

    def project_targets(self, T: Array) -> Array:
        """Return EᵀT, the coordinates of the columns of T in the input eigenvectors E."""
        return adjoint(self.E) @ T

    def at_ridge(self, b: Array, alpha: float) -> InputSpectrum:
        """Return a spectrum for one alpha and operator eigenvalues b, if faster; here, self."""
        return self

    def without_training_rows(self) -> InputSpectrum:
        """Return a copy for predictions, without training rows that predictions do not need."""
        return self

    def log_det(self, b: Array, alpha: float) -> float:
        """Return Σ_pj log(s_p b_j + α), with eigenvalues s of Gram matrix and b of operator."""
        xp = namespace(self.s)
        return float(xp.sum(xp.log(self.s[:, None] * b[None, :] + alpha)))

    # -- new inputs -----------------------------------------------------------------------------

    def project_inputs(self, X: Items, prior: bool = False) -> ProjectedInputs:
        """Project new inputs on the training eigenvectors; with `prior`, add prior variances.

        With an intercept, both are those of centred features.
        """
        raise NotImplementedError

    def prior_covariance(self, X: Items) -> Array:
        """Return the prior covariance matrix of g between new inputs."""
        raise NotImplementedError

    def unit_variance(self, b: Array, X: Items, alpha: float) -> Array:
        """Return the posterior variances of g at X for unit noise, (inputs, directions).

        The directions have the operator eigenvalues b. The variances are
        (b k(x, x) - Σ_p b² z_p(x)² / (b s_p + α)) / α, plus 1/Σw with an intercept.
        """
        xp, found = namespace(b), []
        removed = b * b / (self.s[:, None] * b[None, :] + alpha)
        entries = self.s.shape[0] * self.slots.width  # of one input
        for rows in blocks(count(X), max(1, ENTRIES // max(1, entries))):
            projected = self.project_inputs(sliced(X, rows), prior=True)
            assert projected.prior is not None
            V = projected.prior[:, None] * b[None, :] - abs(projected.Z) ** 2 @ removed
            V = xp.where(V > 0, V, xp.zeros_like(V)) / alpha
            V = V + self.constants.at(projected.slots, V) ** 2
            found.append(projected.slots.join(V))
        return xp.concat(found)

    def solve(self, part: Part, alpha: float, Q: Array | None = None) -> FittedMap:
        """Return the fitted map of a `Part`, and its mean over the training inputs.

        The map predicts output coordinates if the output directions Q are given, else values along
        the directions.
        """
        raise NotImplementedError

    def gram_times(self, A: Array) -> Array:
        """Return the weighted Gram matrix times A, apart from multiples of the constants."""
        raise NotImplementedError
