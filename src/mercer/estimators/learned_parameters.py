"""Kernel parameters learnt by the gradient of the evidence or of the left-out error."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import log
from typing import Any

import numpy as np
from scipy.optimize import minimize

from .._base.arrays import namespace
from .._base.errors import NotSupported
from .._base.parameters import one_of
from ..kernels.gradients import ParameterGradient, with_parameters
from ..operators import OperatorKernel, Separable
from ..problem import Problem, Side, Want
from ..solvers import Cache
from ..solvers.by_direction import by_direction
from ..solvers.coupled import fitted_kernel
from ..solvers.exact import spectral
from ..solvers.outputs import OutputRows
from ..solvers.parameter_slopes import RIDGE, parameter_slopes
from .parameter_vector import ParameterVector

GRADIENT_CRITERIA = ("auto", "evidence", "loo")
START_RIDGES = tuple(np.logspace(-8, 2, 21))
"""The ridges that a search starts from, in units of the data."""
FEATURE_PENALTY = 5.0
"""The weight of the penalty on differences between parameters of single features, in nats."""
SEARCH_STEPS = 50
"""The default number of steps of a search."""
SPREAD = 1.0
"""The standard deviation of the starts of a search, in logarithms."""


@dataclass(frozen=True)
class Learnt:
    """The result of a search by gradient: kernel, ridge and objective values.

    Attributes
    ----------
    kernel
        The operator-valued kernel at the parameters found, not fitted.
    alpha
        The ridge.
    values
        The kernel parameters by name; those of a scalar kernel are under "scalar".
    objective
        The penalised objective at every step of the best search: less is better.
    n_evaluations
        Factorisations taken, over all searches.
    """

    kernel: OperatorKernel
    alpha: float
    values: dict[str, Any]
    objective: list[float] = field(repr=False)
    n_evaluations: int


class ParameterSearch:
    """Search for kernel parameters and ridge that minimise a penalised objective.

    Parameters
    ----------
    problem
        A scalar kernel times a multiple of the identity, or a componentwise kernel; both sides
        fitted.
    criterion
        "evidence", "loo", or "auto": the evidence where outputs have finite features.
    penalty
        The price of the spread of parameters that every feature has one of (see `tune`).
    """

    def __init__(self, problem: Problem, criterion: str = "auto", penalty: float = FEATURE_PENALTY):
        _refuse_without_gradient(problem)
        self.criterion, self.penalty = _resolved_criterion(problem, criterion), penalty
        self.problem = problem
        outputs = _standardized_outputs(problem)
        self.cache, self.n_evaluations = Cache({False: outputs, True: outputs}), 0
        gradient = self._kernel_gradient()
        starts = gradient.values | {RIDGE: self._first_ridge()}
        starts = {name: np.array(value, dtype=float) for name, value in starts.items()}
        self.vector = ParameterVector(starts, gradient.most)
        self.start = self.vector.start

    @property
    def _by_component(self) -> bool:
        """Whether every output component has its own scalar kernel."""
        return not self.problem.kernel.separable

    def _kernel_gradient(self) -> ParameterGradient:
        """Return the parameters of the kernel with their bounds and derivatives."""
        if self._by_component:
            kernel: Any = fitted_kernel(self.problem, self.cache.output_rows(self.problem))
            return kernel.component_gradient
        return self.problem.inputs.kernel.parameter_gradient

    # -- the objective ------------------------------------------------------------------------

    def problem_at(self, vector: np.ndarray) -> tuple[Problem, float]:
        """Return the ridge problem and the ridge at a vector of log parameters."""
        values, side = self.vector.values(vector), self.problem.inputs
        alpha = values.pop(RIDGE)
        kernel = self._kernel_at(values)
        if self._by_component:
            return replace(self.problem, kernel=kernel), alpha
        scalar = kernel.scalar
        inputs = Side(scalar.fit(side.items), side.items)
        kernel = Separable(inputs.kernel, kernel.operator)
        return replace(self.problem, inputs=inputs, kernel=kernel), alpha

    def _kernel_at(self, values: dict[str, Any]) -> Any:
        """Return an unfitted kernel with the given parameter values."""
        if self._by_component:
            return with_parameters(self.problem.kernel, values)
        scalar = with_parameters(self.problem.inputs.kernel, values)
        return Separable(scalar, self.problem.kernel.operator)

    def __call__(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the penalised objective and its gradient at a vector of log parameters.

        In nats: minus the log evidence, or half the number of residuals times the logarithm of the
        left-out error, which is comparable with it.
        """
        problem, alpha = self.problem_at(vector)
        self.n_evaluations += 1
        output_rows = self.cache.output_rows(problem)
        value, slopes = parameter_slopes(problem, output_rows, alpha, self.criterion)
        gradient = self.vector.gradient_of(slopes, vector)
        if self.criterion == "loo":
            half, value = 0.5 * problem.n, max(value, 1e-300)
            value, gradient = half * log(value), half / value * gradient
        price, pull = self.vector.spread_penalty(vector)
        return value + self.penalty * price, gradient + self.penalty * pull

    def _first_ridge(self) -> float:
        """Return the ridge, among several, that is best at the starting kernel parameters."""
        build = by_direction if self._by_component else spectral
        self.n_evaluations += 1
        parts = build(self.problem, Want(left_out=True, moves=True), self.cache)
        alphas = [float(a) * parts.scale for a in START_RIDGES]
        if self.criterion == "evidence":
            return alphas[int(np.argmax([parts.evidence(alpha) for alpha in alphas]))]
        risks = [left.risk(self.problem.weights) for left in parts.left_out(alphas)]
        return alphas[int(np.argmin(risks))]

    # -- searching ----------------------------------------------------------------------------

    def run(self, restarts: int = 0, max_iter: int = SEARCH_STEPS, random_state: Any = 0) -> Learnt:
        """Minimise from the start and from `restarts` random points; return the best result."""
        random, bounds = np.random.default_rng(random_state), self.vector.bounds
        best, trace = None, []
        for number in range(restarts + 1):
            steps: list[float] = []
            start = self.start
            if number:
                start = start + SPREAD * random.normal(size=start.shape)
                start = np.clip(start, bounds.lb, bounds.ub)
            found = minimize(
                self._objective, start, (steps,), "L-BFGS-B", jac=True, bounds=bounds,
                options={"maxiter": max_iter, "maxls": 20},
            )  # fmt: skip
            if best is None or found.fun < best.fun:
                best, trace = found, steps
        assert best is not None
        return self._learnt_at(best.x, trace)

    def _objective(self, vector: np.ndarray, steps: list[float]) -> tuple[float, np.ndarray]:
        """Return objective and gradient at log parameters, and append the objective to `steps`."""
        found = max(steps, default=0.0) + 1e6, np.zeros_like(vector)
        try:
            with np.errstate(all="ignore"):
                value, gradient = self(vector)
            if np.isfinite(value) and np.isfinite(gradient).all():
                found = value, gradient
        except (ValueError, np.linalg.LinAlgError):
            if not steps:
                raise
        steps.append(found[0])
        return found

    def _learnt_at(self, vector: np.ndarray, trace: list[float]) -> Learnt:
        """Return the search result at log parameters; `trace` has the objective at each step."""
        values = self.vector.values(vector)
        alpha = values.pop(RIDGE)
        named = values if self._by_component else {f"scalar__{n}": v for n, v in values.items()}
        return Learnt(self._kernel_at(values), alpha, named, trace, self.n_evaluations)


def _refuse_without_gradient(problem: Problem) -> None:
    """Raise an error if a problem cannot be differentiated in the parameters of its kernel."""
    if problem.gathered is not None:
        raise NotSupported("learning by gradient needs all pairs in memory, not a stream.")
    if problem.inputs.features is not None:
        raise NotSupported(
            f"learning by gradient is exact, without features={problem.inputs.features}: learn the "
            "parameters on a sample of the pairs with features=None, then set features."
        )
    if problem.kernel.separable and problem.kernel.operator.uniform is None:
        raise NotSupported(
            f"learning by gradient does not support the operator {problem.kernel.operator}: learn "
            "the parameters with the identity, then choose the operator."
        )
    if not (problem.kernel.separable or problem.kernel.differentiable):
        raise NotSupported(
            f"{problem.kernel} has no gradient: use a scalar kernel, or a componentwise kernel "
            "such as Local."
        )


def _resolved_criterion(problem: Problem, criterion: str) -> str:
    """Return the criterion to minimise; "auto" is replaced by one that suits the problem."""
    one_of(criterion, "criterion", GRADIENT_CRITERIA)
    finite = problem.outputs.kernel.features is not None or problem.outputs.features is not None
    if criterion == "auto":
        return "evidence" if finite and problem.groups is None else "loo"
    return criterion


def _standardized_outputs(problem: Problem) -> OutputRows:
    """Return output coordinates, with columns of vectors scaled to equal deviation.

    Under the identity operator each column is a separate problem, and without scaling the columns
    in small units would have no influence on the parameters.
    """
    outputs, kernel = Cache().output_rows(problem), problem.outputs.kernel
    if not kernel.on_vectors or kernel.features is None or problem.outputs.features is not None:
        return outputs
    xp = namespace(outputs.rows)
    spread = xp.sqrt(xp.sum(outputs.rows * outputs.rows, axis=0))
    spread = xp.where(spread > 0, spread, xp.ones_like(spread))
    return replace(outputs, rows=outputs.rows / spread * outputs.rows.shape[0] ** 0.5)
