"""The Gaussian-process view of a fitted ridge: variances and draws of g(x)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from .._base.arrays import Array, Items, host, like, namespace
from .._base.errors import NotSupported
from .._base.symmetric import full
from ..embedding import Embedding, OrthonormalFrame
from ..features import Explicit
from ..operators import Moments, Operator
from ..problem import Side
from ..solvers import Factorization, factor

if TYPE_CHECKING:
    from .fitted import Fitted

KINDS = ("outputs", "directions", "total")
NOISES = ("evidence", "left out")
SAVED = ("unit", "noise", "noises", "squares", "infinite", "shape")
"""What a saved posterior knows."""


@dataclass
class Posterior:
    """g as a Gaussian process, given the training data.

    The prior covariance of g is (σ²/α) k(x, x') B, the noise of an output σ² in every direction;
    the posterior mean is the prediction. A `Fitted` owns it. What it knows is computed when it is
    first needed, and all of it, without training outputs, when the posterior is saved.

    Parameters
    ----------
    fitted
        The model; None in a file.
    flat
        Whether outputs are plain numbers.
    known
        What was computed so far.

    Notes
    -----
    Along the direction Q_j of the operator the posterior variance is
    (σ²/α) [b_j k(x,x) - Σ_p b_j² z_p(x)² / (b_j s_p + α)], plus σ²/Σw for an intercept. At low
    rank k(x, x) stays exact (the deterministic training conditional). σ² is the one that makes the
    training outputs most likely. What was chosen (kernel, operator, ridge) counts as given.
    """

    fitted: Any
    flat: bool = False
    known: dict[str, Any] = field(default_factory=dict)

    def __getstate__(self) -> dict:
        """Return everything that variances need, and no training outputs."""
        values = {name: getattr(self, name) for name in SAVED}
        if self.fitted is not None:
            values["unit"] = self.factorization.variances(self.fitted.alpha)
        return {"fitted": None, "flat": self.flat, "known": values}

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        """Return a value that is computed when it is first needed."""
        if name not in self.known:
            self.known[name] = make()
        return self.known[name]

    # -- what it is made of ---------------------------------------------------------------------

    @property
    def _known(self) -> Fitted:
        """The fitted model, which a saved posterior does not have."""
        if self.fitted is None:
            raise ValueError("a saved model gives variances but no draws: draw before it is saved.")
        return self.fitted

    @property
    def factorization(self) -> Factorization:
        """The factorisation, with outputs that are vectors in all of their finite features."""
        return self._once("factorization", self._factorization)

    def _factorization(self) -> Factorization:
        """Compute `factorization`, or take that of the model."""
        fitted, outputs = self._known, self._known.problem.outputs
        vectors = outputs.features is None and outputs.kernel.on_vectors
        whole = vectors and outputs.width is not None
        made = fitted.factorization if fitted.kept or not whole else None
        if made is not None and made.reusable and not (whole and _is_partial(made)):
            return made
        problem = fitted.problem
        if whole:
            side = Side(outputs.kernel, outputs.items, Explicit())
            problem = replace(problem, outputs=side)
        return factor(problem, replace(fitted.want, moves=True, relative=False, solver="auto"))

    @property
    def unit(self) -> Callable[[Items], Array]:
        """A function from inputs to variances along the directions, for unit noise."""
        if "unit" in self.known:
            return self.known["unit"]
        return partial(self.factorization.variance, alpha=self._known.alpha)

    @property
    def noise(self) -> float:
        """The noise variance that maximises the evidence."""
        return self._once("noise", lambda: self.factorization.noise(self._known.alpha))

    @property
    def noises(self) -> np.ndarray | str:
        """The noise variance along each direction from left-out residuals, or why there is none."""
        return self._once(
            "noises", lambda: value_or_reason(self.factorization.left_out_noises, self._known.alpha)
        )

    @property
    def squares(self) -> np.ndarray | str:
        """The squared entries of the directions in outputs, or why there are none."""
        return self._once("squares", lambda: value_or_reason(lambda: self.to_outputs() ** 2))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an output."""
        return self._once("shape", self._shape)

    def _shape(self) -> tuple[int, ...]:
        """Compute `shape` from the training outputs."""
        items = self._known.problem.outputs.items
        return () if self.flat or isinstance(items, list) else tuple(items.shape[1:])

    @property
    def infinite(self) -> str:
        """The reason why the total variance is infinite; empty if it is finite."""
        return self._once("infinite", self._infinite)

    def _infinite(self) -> str:
        """Compute `infinite`."""
        problem, q = self._known.problem, self.factorization.outputs.rows.shape[1]
        if problem.outputs.features is not None or q == problem.outputs.width:
            return ""
        vanishing = problem.separable and vanishes_unseen(problem.kernel.operator)
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
        """Whether outputs are linear in the points."""
        return self._known.problem.outputs.kernel.predicts_directly

    def to_outputs(self) -> np.ndarray:
        """Return the change of an output per unit along each direction, one row per direction."""
        problem, found = self._known.problem, self.factorization
        if not self.linear:
            raise ValueError(
                f'kind="outputs" is for outputs that are linear in the points, and '
                f'{problem.outputs.kernel} is not linear: use kind="directions" or "total".'
            )
        known = found.outputs.rows
        rows = np.eye(known.shape[1]) if found.Q is None else host(found.Q).T
        frame, inverse = found.outputs.frame, problem.outputs.kernel.features.inverse
        both = np.concatenate([rows, np.zeros((1, rows.shape[1]))])
        outputs = host(inverse(frame.kernel_features(like(both, known))))
        outputs = outputs.reshape(len(both), -1)
        return outputs[:-1] - outputs[-1]

    # -- at some inputs ---------------------------------------------------------------------------

    def at(self, X: Items) -> PosteriorAt:
        """Return the process at some checked inputs."""
        return PosteriorAt(self, X)

    def variance(self, X: Items, kind: str, observed: bool, noise: str) -> Array:
        """Return the variance of g(x), or with `observed` that of a new output at x."""
        for name, value, allowed in (("kind", kind, KINDS), ("noise", noise, NOISES)):
            if value not in allowed:
                raise ValueError(f"{name} must be one of {allowed}, got {value!r}.")
        squares = require_value(self.squares) if kind == "outputs" else None
        if kind == "total" and self.infinite:
            raise ValueError(self.infinite)
        sigma = self.noise if noise == "evidence" else require_value(self.noises)
        V = self.unit(X) + float(observed)
        V = V * (sigma if isinstance(sigma, float) else like(sigma, V))
        if squares is None:
            return V if kind == "directions" else namespace(V).sum(V, axis=1)
        return namespace(V).reshape(V @ like(squares, V), (V.shape[0], *self.shape))

    def sample(self, X: Items, n: int, random_state: Any) -> Any:
        """Return joint draws of g at all inputs."""
        problem, found = self._known.problem, self.factorization
        alone = problem.separable and problem.symmetry is None and len(found.parts) == 1
        if not alone or found.coupled:
            raise NotSupported(
                f"draws are for a scalar kernel times an operator, not {problem.kernel}."
            )
        (part,), rng = found.parts, check_random_state(random_state)
        mean = host(found.solve(self._known.alpha).points(X).coordinates)
        roots = self._roots(part.at_ridge(self._known.alpha), X)
        noise = rng.normal(size=(n, len(mean), part.b.shape[0]))
        D = np.stack([noise[:, :, j] @ roots[j % len(roots)].T for j in range(noise.shape[2])], -1)
        D = np.sqrt(self.noise) * D
        C = mean + (D if found.Q is None else D @ host(found.Q).T)
        frame, rows = found.outputs.frame, found.outputs.rows
        if not self.linear:
            return [Embedding(like(c, rows), frame) for c in C]
        F = frame.kernel_features(like(C.reshape(n * len(mean), -1), rows))
        outputs = problem.outputs.kernel.features.inverse(F)
        return namespace(outputs).reshape(outputs, (n, len(mean), *self.shape))

    def _roots(self, part: Any, X: Items) -> list[np.ndarray]:
        """Return a matrix root of the posterior covariance along each direction, for unit noise."""
        inputs, alpha = part.inputs, self._known.alpha
        K, Z, s = host(inputs.prior_covariance(X)), host(inputs.locate(X).Z), host(inputs.s)
        roots = []
        for b in host(part.b)[:1] if part.alike else host(part.b):
            C = (b * K - (Z * (b * b / (b * s + alpha))) @ Z.T) / alpha + inputs.constant_weight**2
            values, vectors = np.linalg.eigh((C + C.T) / 2)
            roots.append(vectors * np.sqrt(np.maximum(values, 0.0)))
        return roots


@dataclass(frozen=True)
class PosteriorAt:
    """A posterior at some inputs, which `Embedding` refers to."""

    posterior: Posterior
    X: Items

    @property
    def noise(self) -> float:
        """The variance of the noise that makes the training outputs most likely."""
        return self.posterior.noise

    def variance(
        self, kind: str = "outputs", observed: bool = False, noise: str = "evidence"
    ) -> Array:
        """Return the variance of g(x), or with `observed` that of a new output at x."""
        return self.posterior.variance(self.X, kind, observed, noise)

    def sample(self, n: int, random_state: Any = None) -> Any:
        """Return joint draws of g at all inputs."""
        return self.posterior.sample(self.X, n, random_state)


def _is_partial(found: Factorization) -> bool:
    """Return whether outputs are in other coordinates than their explicit features."""
    frame = found.outputs.frame
    return not (isinstance(frame, OrthonormalFrame) and isinstance(frame.map, Explicit))


def value_or_reason(compute: Callable[..., Any], *args: Any) -> Any:
    """Return the result of a function, or the message of the error that it raises."""
    try:
        return compute(*args)
    except ValueError as refusal:
        return str(refusal)


def require_value(value: np.ndarray | str) -> np.ndarray:
    """Return a value; raise an error if it is the reason why there is none."""
    if isinstance(value, str):
        raise NotSupported(value)
    return value


def vanishes_unseen(operator: Operator) -> bool:
    """Return whether an operator is zero along directions that no training output has."""
    draw = np.random.default_rng(0).normal
    B = matrix_at(operator, draw(size=(8, 2)), draw(size=(8, 3)) * [1.0, 1.0, 0.0])
    return B is not None and bool(abs(B[2, 2]) < 1e-14)


def matrix_at(operator: Operator, U: np.ndarray, V: np.ndarray) -> np.ndarray | None:
    """Return the matrix of an operator for synthetic data; None where it refuses them."""
    try:
        return host(full(operator.matrix(Moments.of(U, V))))
    except (TypeError, ValueError):
        return None
