"""Ridge problems with random features of operator-valued kernels, at a cost linear in n."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn.base import clone

from .._base.arrays import Array, Items, blocks, like, namespace, sliced, take
from .._base.linalg import eigh
from .._base.memory import ROWS
from ..features import RandomOperatorFourier
from ..operators import Moments
from ..operators.slots import Slots
from ..problem import Problem, Want
from .coupled import fitted_kernel
from .factorization import Factorization
from .feature_spectrum import FeatureSpectrum
from .input_spectrum import FittedMap
from .outputs import Cache
from .part import Part


def feature_refusal(problem: Problem, want: Want) -> str | None:
    """Return the reason why operator features cannot solve a problem; None if they can."""
    if want.left_out_method != "closed":
        return f"{problem.inputs.features} go with no learnt operator"
    return None


def operator_features(problem: Problem, want: Want, cache: Cache) -> Factorization:
    """Factor a problem by the moments of random features of an operator-valued kernel."""
    output_rows, side = cache.output_rows(problem), problem.inputs
    kernel = fitted_kernel(problem, output_rows)
    few = side.items if side.sample is None else take(side.items, side.sample)
    map: Any = side.fitted or clone(side.features).fit(kernel, few)
    problem = replace(problem, inputs=replace(side, fitted=map))
    spectrum = OperatorFeatureSpectrum(map, problem, output_rows.unweighted(output_rows.rows))
    T = spectrum.slots.split(output_rows.rows)
    return Factorization(
        problem, kernel, output_rows, [Part(spectrum, namespace(T).ones_like(T[0, :]), T)]
    )


class OperatorFeatureSpectrum(FeatureSpectrum):
    """Spectrum of the Gram matrix ΨᵀΨ of random features Ψ, with a column of Ψ per slot.

    A slot is a pair of an example and an output component. With sample weights w_i,
    Σ_i w_iΨ_iΨ_iᵀ = P diag(s) Pᵀ and E = √w Ψᵀ P diag(s)^{-1/2}.

    A solution needs no spectrum: its normal equations are
    (Σ_i w_i Ψ_iΨ_iᵀ + αI) θ = Σ_i w_i Ψ_i v_i.
    """

    slots: Slots
    cached: Any = None
    """The value of `factored` once it is computed."""

    def __init__(self, map: RandomOperatorFourier, problem: Problem, V: Array):
        slots = Slots(*V.shape)
        super().__init__(problem.inputs.items, slots, problem.weights, problem.intercept, V)
        self.map, moments = map, _moments(map, problem, V)
        mean = moments.means[0]
        moments = moments.about(*moments.means) if problem.intercept else moments
        self.mean = mean if problem.intercept else None
        self.uu, self.vu = moments.uu, moments.vu

    @property
    def factored(self) -> tuple[Array, Array]:
        """Eigenvalues s of ΨΨᵀ, and its eigenvectors times s^{-1/2}, computed on first use."""
        if self.cached is None:
            s, P = eigh(self.map.normal(self.uu), "moment of the features")
            self.cached = s, P / namespace(s).sqrt(s)
        return self.cached

    s = property(lambda self: self.factored[0])
    M = property(lambda self: self.factored[1])

    def project_targets(self, T: Array) -> Array:
        """Return EᵀT, the training targets T in the eigenbasis E, from their stored moments."""
        right = self.map.right_side(self.vu)[:, None]
        return namespace(right).matrix_transpose(self.M) @ right

    def solve(self, part: Part, alpha: float, Q: Array | None = None) -> FittedMap:
        """Solve the normal equations; return the fitted map and its mean over training inputs."""
        coef = self.map.solve(self.uu, self.vu, alpha)
        return self.map.compose(coef), 0.0 if self.mean is None else self.mean @ coef

    def features(self, X: Items) -> Array:
        """Return the features Ψ of inputs X, centred if there is an intercept."""
        U = self.map.transform(X)
        return self.map.features(U if self.mean is None else U - self.mean)

    def prior_variances(self, X: Items, F: Array, E: Array) -> Array:
        """Return the squared norm of the features F of each slot of X."""
        xp = namespace(F)
        return xp.reshape(xp.sum(F * F, axis=2), (-1,))

    def slots_of(self, number: int) -> Slots:
        """Return the slots of a batch of `number` new inputs."""
        return Slots(number, self.slots.width)

    def without_training_rows(self) -> OperatorFeatureSpectrum:
        """Return a copy without the training inputs; predictions remain available."""
        self.factored  # noqa: B018
        other: Any = super().without_training_rows()
        other.uu, other.vu = None, None
        return other


def _moments(map: RandomOperatorFourier, problem: Problem, V: Array) -> Moments:
    """Return the moments of input features and outputs V of a problem, summed over blocks."""
    total: Any = None
    for rows in blocks(problem.n, ROWS):
        U = map.transform(sliced(problem.inputs.items, rows))
        w = None if problem.weights is None else like(problem.weights[rows], U)
        own = Moments.of(U, V[rows, :], w)
        total = own if total is None else total + own
    return total
