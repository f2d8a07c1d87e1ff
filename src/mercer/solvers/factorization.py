"""What is derived from a ridge problem once it is factored, and solutions without a spectrum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from .._base.arrays import Array, Items, like, namespace
from .._base.errors import NotSupported
from ..embedding import Embedding, PointMap
from ..operators import OperatorKernel
from ..problem import Problem
from .outputs import Basis, OutputRows
from .variances import UnitVariances

if TYPE_CHECKING:
    from .part import Part

LeftOutModels = Callable[[Items, Sequence[np.ndarray]], Embedding]
"""A function of inputs, and of the training examples left out for each, that predicts points."""


@dataclass(frozen=True)
class Solution:
    """The fitted map g for one ridge parameter, with the fitted kernel.

    Attributes
    ----------
    points
        The map from inputs to points of the output feature space.
    kernel
        The fitted operator-valued kernel.
    n_iter, residual
        The iterations of conjugate gradients and the relative residual after them; None if the
        equation was solved directly.
    """

    points: PointMap
    kernel: OperatorKernel
    n_iter: int | None = None
    residual: float | None = None


@dataclass(frozen=True)
class LeftOut:
    """Left-out predictions of all training examples for one ridge parameter.

    Attributes
    ----------
    alpha
        The ridge parameter.
    sqlengths
        The squared errors ‖Φ(y_i) - prediction‖² in the output feature space, one per example.
    embed
        A function that returns the left-out predictions as points of the output feature space.
    """

    alpha: float
    sqlengths: Array
    embed: Callable[[], Embedding] = field(repr=False)

    def risk(self, weights: np.ndarray | None = None) -> float:
        """Return the mean of the squared left-out errors, weighted if `weights` are given."""
        xp = namespace(self.sqlengths)
        if weights is None:
            return float(xp.mean(self.sqlengths))
        return float(like(weights / weights.sum(), self.sqlengths) @ self.sqlengths)


class Factorization(ABC):
    """A factored ridge problem, from which solutions and left-out predictions are derived.

    What a factorisation does not offer raises `NotSupported`.

    Attributes
    ----------
    problem
        The problem.
    kernel
        The fitted operator-valued kernel.
    output_rows
        The training outputs in coordinates, centred and weighted.
    basis
        The output directions, in output coordinates.

    References
    ----------
    Proposition 1 of Kadri et al. (2013) states the same solution by an n² × n² inverse.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF
    >>> X, Y = [[0.0], [1.0], [2.0]], [[0.0], [1.0], [4.0]]
    >>> model = KernelDependency(RBF(1.0), alpha=0.1).fit(X, Y)
    >>> found = model.fitted_.factorization
    >>> [len(list(found.left_out([alpha]))) for alpha in (0.1, 1.0)]
    [1, 1]
    >>> found.solve(0.1).points(X).coordinates.shape
    (3, 1)
    """

    problem: Problem
    kernel: OperatorKernel
    output_rows: OutputRows
    basis: Basis
    parts: Sequence[Part] = ()
    """The linear smoothers of sets of directions; none if there are solutions only."""
    has_closed_forms: ClassVar[bool] = False
    """Whether left-out models, variances and likelihoods are available in closed form."""
    complete: ClassVar[bool] = True
    """Whether all results are available that the outputs allow."""
    leaves_out: bool = True
    """Whether left-out predictions are available."""
    coupled: bool = True
    """Whether directions have no weights on examples of their own."""

    @property
    def Q(self) -> Array | None:
        """The output directions as columns; None if they are the output coordinates."""
        return self.basis.Q

    def to_directions(self, V: Array) -> Array:
        """Return V Q: rows V of output coordinates as values along the output directions Q."""
        return V if self.Q is None else V @ self.Q

    def with_problem(self, problem: Problem) -> Factorization:
        """Return a copy for a problem that differs in its groups only."""
        made = copy(self)
        made.problem = problem
        return made

    @abstractmethod
    def solve(self, alpha: float) -> Solution:
        """Return the fitted map g for the ridge parameter `alpha`."""

    # -- left out ------------------------------------------------------------------------------

    def left_out(self, alphas: Sequence[float], averaged: bool = False) -> Iterator[LeftOut]:
        """Yield the left-out predictions of all training examples for each ridge parameter.

        Parameters
        ----------
        alphas
            The ridge parameters.
        averaged
            Whether to replace leverages by their mean, as in generalised cross-validation.
        """
        for alpha, E in zip(alphas, self.residuals(alphas, averaged), strict=True):
            lengths = namespace(E).sum(E * E, axis=1)
            yield LeftOut(alpha, lengths, partial(self._left_out_points, E))

    def residuals(self, alphas: Sequence[float], averaged: bool = False) -> Iterator[Array]:
        """Yield outputs minus left-out predictions for each alpha, as arrays (n, directions).

        The parameters are those of `left_out`.
        """
        raise NotSupported(f"{self.problem.kernel} solved so has no left-out predictions.")

    def _left_out_points(self, E: Array) -> Embedding:
        """Return the left-out predictions as points, given residuals E along the directions."""
        problem, labels = self.problem, self.problem.left_out_labels
        V = self.output_rows.coordinates - self.basis.to_coordinates(E)
        inputs, weights = problem.decoder_inputs, problem.weights
        return Embedding(V, self.output_rows.frame, labels, inputs, weights)

    # -- what takes parts ----------------------------------------------------------------------

    def _no_closed_form(self) -> NotSupported:
        """Return the error for what takes the spectra of parts."""
        return NotSupported(
            f"{self.problem.kernel} has no closed form for left-out models, variances and "
            "likelihoods: conjugate gradients give the solution alone."
        )

    def moves(self, X: Items, alpha: float) -> Iterator[tuple[slice, Array]]:
        """Yield the changes of the predictions at X when each example's group is left out.

        Each item is a slice of the inputs and an array (inputs, n, q) in output coordinates. The
        change for the group G of an example is Σ_{i∈G} w_i(x) e_i, with weights w and left-out
        residuals e. The model without G predicts g(x) minus this change.
        """
        raise self._no_closed_form()

    def without(self, alpha: float) -> LeftOutModels:
        """Return a function that predicts each input by the model without given training examples.

        The function takes inputs and one set of training examples per input. With smoother H and
        weights w(x) of g(x) on the training outputs T, the model without the set S predicts
        g(x) - w_S(x) (I - H_SS)⁻¹ (T - HT)_S: one small linear system for each distinct set.
        """
        raise self._no_closed_form()

    def variance(self, X: Items, alpha: float) -> Array:
        """Return the posterior variance of g at X along each output direction, for unit noise.

        Parts are processed one after the other, because together they may exceed the memory.
        """
        raise self._no_closed_form()

    def variance_function(self, alpha: float) -> UnitVariances:
        """Return a function of inputs that computes `variance` at this alpha and can be saved."""
        raise self._no_closed_form()

    def weights_along(self, X: Items, alpha: float) -> list[Array]:
        """Return the weights of training outputs in g(x), an array (inputs, n) per direction."""
        raise self._no_closed_form()

    def noise(self, alpha: float) -> float:
        """Return the noise variance that maximises the evidence (REML with an intercept).

        A pair counts as often as its sample weight says.
        """
        raise self._no_closed_form()

    def left_out_sample(self, alpha: float) -> tuple[Embedding, np.ndarray] | None:
        """Return left-out points of some rows, and the rows; None if those of all are used."""
        return None

    def left_out_noises(self, alpha: float) -> np.ndarray:
        """Return the noise variance of each output direction, estimated from left-out residuals."""
        raise self._no_closed_form()

    def evidence(self, alpha: float) -> float:
        """Return the log evidence (log marginal likelihood) at the best noise variance.

        It is −½[N log(Σ c²/(bs + α)/N) + Σ log(bs + α)] with c = EᵀT the targets in the
        eigenbasis, s and b the eigenvalues of inputs and operator, and N the number of values; over
        n - 1 rows with an intercept. A pair counts as often as its sample weight says: Σw - n
        values more, whose eigenvalues are α.

        It is not supported for outputs without finite features, because their number of directions
        is arbitrary.
        """
        self._require_likelihood("evidence")
        raise self._no_closed_form()

    def density(self, alpha: float) -> float:
        """Return the sum of the log densities of each training output given all others.

        With the smoother H and one noise variance σ_j² for each of finitely many directions, it is
        −½ Σ_j [n log(2πσ_j²) + n - Σ_g log det(I - H_gg)], where groups g are left out together.
        A pair counts as often as its sample weight says, and n is Σw.

        References
        ----------
        Rasmussen, Williams: Gaussian processes for machine learning (2006), section 5.4.2.
        """
        self._require_likelihood("density")
        raise self._no_closed_form()

    def _require_likelihood(self, name: str) -> None:
        """Raise NotSupported if the likelihood `name` ("evidence", ...) is not well defined."""
        outputs = self.problem.outputs
        if self.output_rows.rows is None or (
            outputs.kernel.features is None
            and outputs.features is None
            and self.problem.gathered is None
        ):
            raise NotSupported(
                f"{outputs.kernel} has infinitely many directions, over which the {name} is not "
                "defined: use finite output features."
            )

    # -- properties ----------------------------------------------------------------------------

    @property
    @abstractmethod
    def scale(self) -> float:
        """The unit of relative ridge parameters, (tr K_x / n) · tr(B S_vv) / tr S_vv.

        K_x is the input Gram matrix, B the operator and S_vv the covariance of the outputs.
        """

    @property
    def nbytes(self) -> float:
        """The size in bytes of eigenvectors and outputs, 8 (n² + nq) for an exact fit."""
        rows = self.output_rows.rows
        return 0.0 if rows is None else 8.0 * int(rows.shape[0]) * int(rows.shape[1])


Residuals = Callable[[Sequence[float], bool], Iterator[Array]]
"""A function of ridges, and of whether leverages are averaged, that yields left-out residuals."""


def at_its_ridge(ridge: float, found: Solution) -> Callable[[float], Solution]:
    """Return a function of the ridge that returns a solution, and refuses any other ridge."""

    def solution(alpha: float) -> Solution:
        """Return the solution if it is that of the ridge `alpha`."""
        if alpha != ridge:
            raise NotSupported(
                f"this is the solution for alpha={ridge:.6g}, not for alpha={alpha:.6g}: factor "
                'the problem again, or with solver="spectral" for several ridges.'
            )
        return found

    return solution


@final
@dataclass(eq=False)
class Iterative(Factorization):
    """Solutions without parts, such as those of conjugate gradients; all else takes a spectrum.

    Parameters
    ----------
    problem, kernel, output_rows, basis
        As in `Factorization`.
    solution
        A function of the ridge that returns the solution.
    errors
        The left-out residuals; None if they are not available.
    unit
        A function that returns the unit of relative ridges; None if it is not available.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF
    >>> from mercer.problem import Want
    >>> from mercer.solvers import factor
    >>> X, Y = [[0.0], [1.0], [2.0]], [[0.0], [1.0], [4.0]]
    >>> problem = KernelDependency(RBF(1.0), alpha=0.1).fit(X, Y).fitted_.problem
    >>> found = factor(problem, Want([0.1], solver="cg"))
    >>> type(found).__name__, found.leaves_out, found.solve(0.1).residual < 1e-10
    ('Iterative', False, True)
    """

    problem: Problem
    kernel: OperatorKernel
    output_rows: OutputRows
    solution: Callable[[float], Solution]
    basis: Basis = field(default_factory=Basis)
    errors: Residuals | None = None
    unit: Callable[[], float] | None = None
    complete: ClassVar[bool] = False

    def solve(self, alpha: float) -> Solution:
        """Return the fitted map g for the ridge parameter `alpha`."""
        return self.solution(alpha)

    @property
    def leaves_out(self) -> bool:  # type: ignore[override]
        """Whether left-out predictions are available."""
        return self.errors is not None

    def residuals(self, alphas: Sequence[float], averaged: bool = False) -> Iterator[Array]:
        """Yield outputs minus left-out predictions for each alpha."""
        if self.errors is None:
            return super().residuals(alphas, averaged)
        return self.errors(alphas, averaged)

    @property
    def scale(self) -> float:
        """The unit of relative ridge parameters."""
        if self.unit is None:
            raise self._no_closed_form()
        return self.unit()
