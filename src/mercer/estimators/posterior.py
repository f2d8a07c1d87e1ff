"""The Gaussian-process view of a fitted ridge: variances and draws of g(x)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._base.arrays import Array, Items, host, like, namespace
from .._base.symmetric import full
from ..embedding import Embedding, OrthonormalFrame
from ..features import Explicit
from ..operators import Moments, Operator
from ..problem import Problem, Side, Want
from ..solvers import Refused, factor
from ..solvers.route import cholesky_posterior
from ..solvers.spectral import Spectral
from .fitted import Fitted

KINDS = ("outputs", "directions", "total")
NOISES = ("evidence", "left out")


@dataclass(frozen=True)
class Posterior:
    """g at some inputs as a Gaussian process, given the training data.

    The prior covariance of g is (σ²/α) k(x, x') B, the noise of an output σ² in every direction;
    the posterior mean is the prediction.

    Attributes
    ----------
    fitted
        The model.
    X
        The checked inputs.
    flat
        Whether outputs are plain numbers.

    Notes
    -----
    Along the direction Q_j of the operator the posterior variance is
    (σ²/α) [b_j k(x,x) - Σ_p b_j² z_p(x)² / (b_j s_p + α)], plus σ²/Σw for an intercept. At low
    rank k(x, x) stays exact (the deterministic training conditional). σ² is the one that makes the
    training outputs most likely. What was chosen (kernel, operator, ridge) counts as given.
    """

    fitted: Fitted
    X: Items
    flat: bool = False

    @property
    def factorization(self) -> Any:
        """The spectra; those that the fit has made, where they are of all that is wanted."""
        return self.fitted.once(
            "spectra", lambda: self._made() or factor(self._problem, self._want)
        )

    def _made(self) -> Spectral | None:
        """The spectra of the fit, if it has made them."""
        made, whole = self.fitted._kept.get("factorization"), self._whole
        fits = isinstance(made, Spectral) and (not whole or isinstance(_map(made), Explicit))
        return made if fits else None

    @property
    def _whole(self) -> bool:
        """Whether outputs are vectors, which are wanted in all of their finite features."""
        outputs = self.fitted.problem.outputs
        vectors = outputs.features is None and outputs.kernel.on_vectors
        return vectors and outputs.width is not None

    @property
    def _problem(self) -> Problem:
        problem, outputs = self.fitted.problem, self.fitted.problem.outputs
        if not self._whole:
            return problem
        return replace(problem, outputs=Side(outputs.kernel, outputs.items, Explicit()))

    @property
    def _want(self) -> Want:
        return replace(self.fitted.want, moves=True, relative=False, solver="auto")

    @property
    def directions(self) -> Any:
        """What variances along the directions of the operator are read off.

        A Cholesky factor, where no spectrum was made yet and none is needed.
        """
        fitted = self.fitted
        if "spectra" in fitted._kept or self._made() is not None:
            return self.factorization
        found = fitted.once(
            "cholesky", lambda: cholesky_posterior(self._problem, self._want, fitted.alpha)
        )
        return found or self.factorization

    @property
    def parts(self) -> Any:
        """The factorisation by directions of the operator."""
        return self.factorization.by_directions()

    @property
    def noise(self) -> float:
        """σ², profiled: α Σ c² / (b s + α) over the number of terms."""
        return self.fitted.once("noise", lambda: self.directions.noise(self.fitted.alpha))

    @property
    def noises(self) -> np.ndarray:
        """σ² along each direction of the operator, as left-out predictions show it."""
        made = self.factorization
        return self.fitted.once("noises", lambda: made.left_out_noises(self.fitted.alpha))

    def variance(
        self, kind: str = "outputs", observed: bool = False, noise: str = "evidence"
    ) -> Array:
        """The variance of g(x), or with `observed` that of a new output at x."""
        check_asked(kind, noise)
        A = self._to_outputs() ** 2 if kind == "outputs" else None
        if kind == "total":
            self._check_total()
        way = self.directions if noise == "evidence" else self.factorization
        V = way.variance(self.X, self.fitted.alpha) + float(observed)
        V = V * (self.noise if noise == "evidence" else like(self.noises, V))
        return summed(V, kind, A, self.shape)

    def sample(self, n: int, random_state: Any = None) -> Any:
        """Joint draws of g at all inputs."""
        problem = self.fitted.problem
        parts = self.parts if problem.separable else None
        if parts is None or len(parts.parts) > 1:
            raise Refused(f"draws are for a scalar kernel times an operator, not {problem.kernel}.")
        (part,) = parts.parts
        rng = check_random_state(random_state)
        mean = host(parts.solve(self.fitted.alpha).points(self.X).coordinates)
        roots = self._roots(part)
        noise = rng.normal(size=(n, len(mean), part.b.shape[0]))
        D = np.stack([noise[:, :, j] @ roots[j % len(roots)].T for j in range(noise.shape[2])], -1)
        D = np.sqrt(self.noise) * D
        C = mean + (D if parts.Q is None else D @ host(parts.Q).T)
        if not self.linear:
            return [Embedding(like(c, part.T), parts.outputs.frame) for c in C]
        kernel, frame = problem.outputs.kernel, parts.outputs.frame
        F = frame.kernel_features(like(C.reshape(n * len(mean), -1), part.T))
        outputs = kernel.features.inverse(F)
        return namespace(outputs).reshape(outputs, (n, len(mean), *self.shape))

    def _roots(self, part: Any) -> list[np.ndarray]:
        """A root of the posterior covariance between the inputs, for each direction, unit noise."""
        K, Z = (
            prior_between(self.fitted.problem, part.inputs, self.X),
            host(part.inputs.project(self.X)),
        )
        s, alpha = host(part.inputs.s), self.fitted.alpha
        roots = []
        for b in host(part.b)[:1] if part.alike else host(part.b):
            C = (b * K - (Z * (b * b / (b * s + alpha))) @ Z.T) / alpha + part.inputs.share**2
            values, vectors = np.linalg.eigh((C + C.T) / 2)
            roots.append(vectors * np.sqrt(np.maximum(values, 0.0)))
        return roots

    @property
    def linear(self) -> bool:
        """Whether outputs are linear in the points."""
        return self.fitted.problem.outputs.kernel.predicts_directly

    def _to_outputs(self) -> np.ndarray:
        """What one unit along each direction of the operator adds to an output, (q, output)."""
        problem, parts = self.fitted.problem, self.directions
        if not self.linear:
            raise ValueError(
                f'kind="outputs" is for outputs that are linear in the points, and '
                f'{problem.outputs.kernel} is not linear: use kind="directions" or "total".'
            )
        known = parts.outputs.rows
        rows = np.eye(known.shape[1]) if parts.Q is None else host(parts.Q).T
        frame, inverse = parts.outputs.frame, problem.outputs.kernel.features.inverse
        both = np.concatenate([rows, np.zeros((1, rows.shape[1]))])
        outputs = host(inverse(frame.kernel_features(like(both, known))))
        outputs = outputs.reshape(len(both), -1)
        return outputs[:-1] - outputs[-1]

    @property
    def shape(self) -> tuple[int, ...]:
        """That of an output."""
        return () if self.flat else tuple(self.fitted.problem.outputs.items.shape[1:])

    def _check_total(self) -> None:
        """Refuse a sum over directions that no training output has."""
        problem = self.fitted.problem
        q = self.directions.outputs.rows.shape[1]
        if problem.outputs.features is not None or q == problem.outputs.width:
            return
        vanishing = problem.separable and vanishes_unseen(problem.kernel.operator)
        if problem.intercept or not vanishing:
            raise ValueError(
                f"the total variance is infinite, or that of directions which no training output "
                f"has: {problem.outputs.kernel} under {problem.kernel}"
                f"{' with an intercept' if problem.intercept else ''}. Use finite output_features, "
                'or kind="directions".'
            )


def check_asked(kind: str, noise: str) -> None:
    """Refuse a kind of variance, or of noise, that there is not."""
    for name, value, allowed in (("kind", kind, KINDS), ("noise", noise, NOISES)):
        if value not in allowed:
            raise ValueError(f"{name} must be one of {allowed}, got {value!r}.")


def summed(V: Array, kind: str, squares: Any, shape: tuple[int, ...]) -> Array:
    """Variances along directions as they were asked for; `squares` turns them to outputs."""
    xp = namespace(V)
    if kind == "outputs":
        return xp.reshape(V @ like(squares, V), (V.shape[0], *shape))
    return V if kind == "directions" else xp.sum(V, axis=1)


def _map(parts: Spectral) -> Any:
    """The feature map whose coordinates outputs are written in, if there is one."""
    frame = parts.outputs.frame
    return frame.map if isinstance(frame, OrthonormalFrame) else None


def prior_between(problem: Any, inputs: Any, X: Items) -> np.ndarray:
    """k(x, x') between new inputs, centred as `inputs.prior` centres k(x, x)."""
    kernel = problem.inputs.kernel
    K = host(kernel(X, X))
    if inputs.N is None:
        return K
    if hasattr(inputs, "at"):  # low rank: centred in coordinates
        mean, U = host(inputs.mean), host(inputs.at.map.transform(X))
        U = U.toarray() if hasattr(U, "toarray") else U
        r, level = U @ mean, float(mean @ mean)
    else:
        w = np.ones(problem.n) if problem.weights is None else problem.weights
        w = w / w.sum()
        known = problem.inputs.items
        r, level = host(kernel(X, known)) @ w, float(w @ host(kernel(known, known)) @ w)
    return K - r[:, None] - r[None, :] + level


def vanishes_unseen(operator: Operator) -> bool:
    """Whether an operator is zero along directions that no training output has."""
    draw = np.random.default_rng(0).normal
    B = matrix_at(operator, draw(size=(8, 2)), draw(size=(8, 3)) * [1.0, 1.0, 0.0])
    return B is not None and bool(abs(B[2, 2]) < 1e-14)


def matrix_at(operator: Operator, U: np.ndarray, V: np.ndarray) -> np.ndarray | None:
    """The matrix of an operator for made-up inputs and outputs; None where it refuses them."""
    try:
        return host(full(operator.matrix(Moments.of(U, V))))
    except (TypeError, ValueError):
        return None
