"""The posterior of a fitted ridge as a Gaussian process: variances and draws of g(x)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.utils import check_random_state

from .._base.arrays import Array, Items, host, like, namespace
from .._base.errors import NotSupported
from .._base.parameters import one_of
from .._base.symmetric import full
from ..embedding import Embedding, OrthonormalFrame
from ..features import Explicit
from ..operators import Moments, Operator
from ..problem import Side
from ..solvers import Factorization, factor

if TYPE_CHECKING:
    from .fitted import Fitted

T = TypeVar("T")
VARIANCE_KINDS = ("outputs", "directions", "total")
NOISES = ("evidence", "left out")
SAVED = ("unit", "noise", "noises", "squares", "infinite", "shape")
"""The names of the attributes that are saved with a posterior."""


def computed_once(compute: Callable[[Any], T]) -> Callable[[Any], T]:
    """Decorate a method so that its result is stored in `self.known` under the method's name."""
    name = compute.__name__

    @wraps(compute)
    def stored(self: Any) -> T:
        """Return the stored result; compute it on the first call."""
        if name not in self.known:
            self.known[name] = compute(self)
        return self.known[name]

    return stored


@dataclass
class Posterior:
    """The posterior distribution of g as a Gaussian process, given the training data.

    The prior covariance of g is (σ²/α) k(x, x') B, the noise of an output σ² in every direction;
    the posterior mean is the prediction. A `Fitted` owns it. What it knows is computed when it is
    first needed, and all of it, without training outputs, when the posterior is saved.

    Parameters
    ----------
    fitted
        The model; None in a file.
    known
        What was computed so far.
    X
        The checked inputs at which variances and draws are; None for none.

    Notes
    -----
    Along the direction Q_j of the operator the posterior variance is
    (σ²/α) [b_j k(x,x) - Σ_p b_j² z_p(x)² / (b_j s_p + α)], plus σ²/Σw for an intercept. At low
    rank k(x, x) stays exact (the deterministic training conditional). σ² is the one that makes the
    training outputs most likely. What was chosen (kernel, operator, ridge) counts as given.
    """

    fitted: Any
    known: dict[str, Any] = field(default_factory=dict)
    X: Items = None

    def __getstate__(self) -> dict:
        """Return all values that variances need, without the training outputs."""
        values = {name: getattr(self, name) for name in SAVED}
        if self.fitted is not None:
            values["unit"] = self.factorization.variance_function(self.fitted.alpha)
        return {"fitted": None, "known": values, "X": self.X}

    def at(self, X: Items) -> Posterior:
        """Return the posterior at checked inputs X, which knows what this one knows."""
        return replace(self, X=X)

    # -- what it is made of ---------------------------------------------------------------------

    @property
    def _fitted_model(self) -> Fitted:
        """The fitted model; a saved posterior is without a model and raises an error."""
        if self.fitted is None:
            raise ValueError("a saved model gives variances but no draws: draw before it is saved.")
        return self.fitted

    @property
    @computed_once
    def factorization(self) -> Factorization:
        """The factorisation of the ridge problem from which variances are computed.

        For vector outputs its coordinates are all finite features; those of the model may differ.
        """
        fitted = self._fitted_model
        problem, outputs = fitted.problem, fitted.problem.outputs
        whole = outputs.features is None and outputs.kernel.on_vectors and outputs.width is not None
        if fitted.kept or not whole:
            made = fitted.factorization
            frame = made.output_rows.frame
            explicit = isinstance(frame, OrthonormalFrame) and isinstance(frame.map, Explicit)
            if made.has_closed_forms and (explicit or not whole):
                return made
        if whole:
            problem = replace(problem, outputs=Side(outputs.kernel, outputs.items, Explicit()))
        return factor(problem, replace(fitted.want, moves=True, solver="auto"))

    @property
    @computed_once
    def unit(self) -> Callable[[Items], Array]:
        """A function that returns variances along all output directions, for noise variance 1."""
        return partial(self.factorization.variance, alpha=self._fitted_model.alpha)

    @property
    @computed_once
    def noise(self) -> float:
        """The noise variance that maximises the evidence."""
        return self.factorization.noise(self._fitted_model.alpha)

    @property
    @computed_once
    def noises(self) -> np.ndarray | str:
        """The noise variance along each output direction, or why it is not known."""
        return value_or_reason(self.factorization.left_out_noises, self._fitted_model.alpha)

    @property
    @computed_once
    def squares(self) -> np.ndarray | str:
        """The squared entries of the output directions, as rows, or why there are none."""
        return value_or_reason(lambda: self.to_outputs() ** 2)

    @property
    @computed_once
    def shape(self) -> tuple[int, ...]:
        """The array shape of one output; () if outputs are numbers."""
        fitted = self._fitted_model
        items = fitted.problem.outputs.items
        return () if fitted.flat or isinstance(items, list) else tuple(items.shape[1:])

    @property
    @computed_once
    def infinite(self) -> str:
        """The reason why the total variance is infinite; empty if it is finite."""
        problem, q = self._fitted_model.problem, self.factorization.output_rows.rows.shape[1]
        if problem.outputs.features is not None or q == problem.outputs.width:
            return ""
        vanishing = problem.kernel.separable and is_zero_outside_span(problem.kernel.operator)
        if vanishing and not problem.intercept:
            return ""
        return (
            f"the total variance is infinite, or that of directions which no training output "
            f"has: {problem.outputs.kernel} under {problem.kernel}"
            f"{' with an intercept' if problem.intercept else ''}. Use finite output_features, "
            'or kind="directions".'
        )

    @property
    def linear(self) -> bool:
        """Whether outputs are a linear function of points in the output feature space."""
        return self._fitted_model.problem.outputs.kernel.predicts_directly

    def to_outputs(self) -> np.ndarray:
        """Return the matrix from coordinates along the directions to output values.

        It has one row for each direction.
        """
        problem, found = self._fitted_model.problem, self.factorization
        if not self.linear:
            raise ValueError(
                f'kind="outputs" is for outputs that are linear in the points, and '
                f'{problem.outputs.kernel} is not linear: use kind="directions" or "total".'
            )
        known = found.output_rows.rows
        rows = np.eye(known.shape[1]) if found.Q is None else host(found.Q).T
        frame, inverse = found.output_rows.frame, problem.outputs.kernel.features.inverse
        both = np.concatenate([rows, np.zeros((1, rows.shape[1]))])
        outputs = host(inverse(frame.kernel_features(like(both, known))))
        outputs = outputs.reshape(len(both), -1)
        return outputs[:-1] - outputs[-1]

    # -- at the inputs X --------------------------------------------------------------------------

    def variance(
        self, kind: str = "outputs", observed: bool = False, noise: str = "evidence"
    ) -> Array:
        """Return the variance of g(x), or if `observed` that of new outputs.

        `kind` is one of `VARIANCE_KINDS`: of each output value, along each direction of the
        operator, or in total. `noise` is estimated by the evidence or by left-out errors.
        """
        for name, value, allowed in (("kind", kind, VARIANCE_KINDS), ("noise", noise, NOISES)):
            one_of(value, name, allowed)
        squares = require_value(self.squares) if kind == "outputs" else None
        if kind == "total" and self.infinite:
            raise ValueError(self.infinite)
        sigma = self.noise if noise == "evidence" else require_value(self.noises)
        V = self.unit(self.X) + float(observed)
        V = V * (sigma if isinstance(sigma, float) else like(sigma, V))
        if squares is None:
            return V if kind == "directions" else namespace(V).sum(V, axis=1)
        return namespace(V).reshape(V @ like(squares, V), (V.shape[0], *self.shape))

    def sample(self, n: int, random_state: Any = None) -> Any:
        """Return n random draws of the function g at all inputs jointly."""
        problem, found = self._fitted_model.problem, self.factorization
        alone = problem.kernel.separable and len(found.parts) == 1
        if not alone or found.coupled:
            raise NotSupported(
                f"draws are for a scalar kernel times an operator, not {problem.kernel}."
            )
        (part,), rng = found.parts, check_random_state(random_state)
        mean = host(found.solve(self._fitted_model.alpha).points(self.X).coordinates)
        roots = self._covariance_roots(part.at_ridge(self._fitted_model.alpha))
        noise = rng.normal(size=(n, len(mean), part.b.shape[0]))
        D = np.stack([noise[:, :, j] @ roots[j % len(roots)].T for j in range(noise.shape[2])], -1)
        D = np.sqrt(self.noise) * D
        C = mean + (D if found.Q is None else D @ host(found.Q).T)
        frame, rows = found.output_rows.frame, found.output_rows.rows
        if not self.linear:
            return [Embedding(like(c, rows), frame) for c in C]
        F = frame.kernel_features(like(C.reshape(n * len(mean), -1), rows))
        outputs = problem.outputs.kernel.features.inverse(F)
        return namespace(outputs).reshape(outputs, (n, len(mean), *self.shape))

    def _covariance_roots(self, part: Any) -> list[np.ndarray]:
        """Return a root of the covariance at X along each direction of `part`, for unit noise.

        `part` is the one part of the factorisation, at a ridge.
        """
        spectrum, alpha = part.spectrum, self._fitted_model.alpha
        K, Z, s = (
            host(spectrum.prior_covariance(self.X)),
            host(spectrum.project_inputs(self.X).Z),
            host(spectrum.s),
        )
        level = float(spectrum.constants.new_entries[0])
        roots = []
        for b in host(part.b)[:1] if part.equal_eigenvalues else host(part.b):
            C = (b * K - (Z * (b * b / (b * s + alpha))) @ Z.T) / alpha + level**2
            values, vectors = np.linalg.eigh((C + C.T) / 2)
            roots.append(vectors * np.sqrt(np.maximum(values, 0.0)))
        return roots


def value_or_reason(compute: Callable[..., Any], *args: Any) -> Any:
    """Return `compute(*args)`, or the message of the ValueError that it raises."""
    try:
        return compute(*args)
    except ValueError as refusal:
        return str(refusal)


def require_value(value: np.ndarray | str) -> np.ndarray:
    """Return a value unchanged; raise an error if it is the reason for a missing value."""
    if isinstance(value, str):
        raise NotSupported(value)
    return value


def is_zero_outside_span(operator: Operator) -> bool:
    """Return whether an operator is zero along directions that no training output has."""
    draw = np.random.default_rng(0).normal
    moments = Moments.of(draw(size=(8, 2)), draw(size=(8, 3)) * [1.0, 1.0, 0.0])
    try:
        B = host(full(operator.matrix(moments)))
    except (TypeError, ValueError):  # a custom operator, or one for other outputs
        return False
    return bool(abs(B[2, 2]) < 1e-14)
