"""Problems that shifts leave alone, solved one Fourier mode of the shifts at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.fft
import scipy.linalg

from .._base.arrays import Array, concatenated, host, is_foreign, like, namespace, take
from .._base.linalg import PositiveDefinite, adjoint, ridged
from .._base.threads import cores, one_thread_each, side_by_side
from ..features import Explicit
from ..features.landmarks import Spanned
from ..problem import Problem, Want
from .factorization import Cache, Factorization, Solution
from .inputs import Reduction
from .left_out import by_groups, by_inverse

INVARIANT = 1e-9
"""How much kernel values may change under shifts by rounding."""
TRIED = 8
"""Examples on which that is tried."""


class Characters(Factorization):
    """A scalar kernel that shifts leave alone, times a multiple of the identity; exact.

    The Gram matrix of all images is block-circulant: each Fourier mode of the shift is an n × n
    problem of its own.
    """

    name, costs = "characters", "cholesky"
    group: Any

    def __init__(self, problem: Problem, want: Want, cache: Cache):
        outputs = replace(problem.outputs, features=Explicit())  # the entries, also if many
        self.problem, self.group = problem, problem.symmetry
        self.outputs = Cache().outputs(replace(problem, outputs=outputs))
        self.orbits: np.ndarray = self.group.shifts[1]
        self.shape = self.orbits.shape[1:]
        self.axes = tuple(range(len(self.shape)))
        self.images = [act(problem.inputs.items) for act in self.group.inputs]
        self.modes = list(self._modes())

    @classmethod
    def accepts(cls, problem: Problem, want: Want) -> str | None:
        """Shifts alone, outputs that are their own coordinates."""
        if problem.symmetry is None or problem.symmetry.shifts is None:
            return "symmetries are more than shifts"
        if not problem.separable or problem.kernel.operator.uniform is None:
            return f"{problem.kernel} is no scalar kernel times the identity"
        if problem.inputs.features is not None or problem.outputs.features is not None:
            return "coordinates of low rank do not keep the symmetry"
        if want.moves:
            return "modes give no left-out models"
        width = int(np.prod(problem.outputs.items.shape[1:]))
        if problem.outputs.width != width or not problem.outputs.kernel.on_vectors:
            return f"{problem.outputs.kernel} has other coordinates than its entries"
        if problem.loss is not None or want.judge != "closed":
            return "modes go with the square loss"
        return _varies(problem)

    def _order(self) -> np.ndarray:
        """The element of the group that each shift is."""
        first = self.group.shifts[0].reshape(-1, *self.shape)[0]
        where = {action.source[first.flat[0]]: i for i, action in enumerate(self.group.inputs)}
        order = np.empty(self.shape, dtype=np.intp)
        for steps in np.ndindex(*self.shape):
            order[steps] = where[np.roll(first, steps, axis=self.axes).flat[0]]
        return order

    def _grams(self) -> Array:
        """Kernel values of all inputs against all shifts of them, (*shifts, n, n).

        Those of a shift and its inverse are each other's transposes.
        """
        kernel, X = self.problem.inputs.kernel, self.problem.inputs.items
        order = self._order()
        grams: dict[tuple[int, ...], Array] = {}
        for steps in np.ndindex(*self.shape):
            back = tuple(-k % m for k, m in zip(steps, self.shape, strict=True))
            if back in grams:
                grams[steps] = grams[back].T
            else:
                grams[steps] = kernel._gram(X, self.images[order[steps]])
        xp = namespace(*grams.values())
        K = xp.stack(list(grams.values()))
        return xp.reshape(K, (*self.shape, *K.shape[1:]))

    def _modes(self) -> Iterator[Mode]:
        problem = self.problem
        K: Any = _fourier(self._grams(), self.axes)
        V = self.outputs.coordinates  # an intercept is the same at all shifts of a place
        T: Any = self.forth(V if self.outputs.roots is None else V * self.outputs.roots)
        self.raw = _real(T[(0,) * len(self.shape)])
        roots = None if problem.weights is None else like(np.sqrt(problem.weights), self.raw)
        for f in np.ndindex(*K.shape[:-2]):
            plain = all(2 * k % m == 0 for k, m in zip(f, self.shape, strict=True))
            own, target = (_real(A[f]) if plain else A[f] for A in (K, T))
            own = own / len(self.group)
            own = own if roots is None else roots[:, None] * own * roots
            alone = f[-1] == 0 or 2 * f[-1] == self.shape[-1]
            reduction = Reduction(None)
            if problem.intercept and not any(f):
                weighted = Reduction.of(problem.weights, True, own)
                reduction = replace(weighted, roots=None)  # the matrix has them already
                target = reduction.without(target)
            yield Mode(own, target, 1.0 if alone else 2.0, reduction)

    def forth(self, V: Array) -> Array:
        """Rows of outputs as Fourier modes over the shifts, lengths kept, (*modes, n, others)."""
        xp, by_shift = namespace(V), np.moveaxis(self.orbits, 0, -1)  # (*shifts, others)
        rows = take(xp.matrix_transpose(V), by_shift.reshape(-1))
        shaped = xp.matrix_transpose(xp.reshape(rows, (*by_shift.shape, V.shape[0])))
        return _fourier(shaped, self.axes) / len(self.group) ** 0.5

    def back(self, modes: list[Array]) -> Array:
        """Inverse of `forth`, from one array (n, others) a mode."""
        xp, (n, others) = namespace(*modes), modes[0].shape
        spectrum = (*self.shape[:-1], self.shape[-1] // 2 + 1)
        stacked = xp.stack([xp.astype(mode, xp.complex128) for mode in modes])
        stacked = xp.reshape(stacked, (*spectrum, n, others))
        values = xp.fft.irfftn(stacked, s=self.shape, axes=self.axes) * len(self.group) ** 0.5
        rows = xp.reshape(xp.matrix_transpose(values), (-1, n))
        by_shift = np.moveaxis(self.orbits, 0, -1).reshape(-1)
        return xp.matrix_transpose(take(rows, np.argsort(by_shift)))

    def solve(self, alpha: float) -> Solution:
        """Dual coefficients on all images: an image has the image of its original's."""
        problem, roots = self.problem, self.outputs.roots
        duals = self._each(lambda mode: mode.dual(alpha / problem.uniform))
        C = self.back(duals)
        C = C if roots is None else C * roots
        C = C / len(self.group)
        coef = concatenated([act(C) for act in self.group.outputs])
        map = Spanned(problem.inputs.kernel, concatenated(self.images), coef)
        offset = self._offset(duals[0]) if problem.intercept else None
        return Solution(self._point_map(map, offset), problem.kernel)

    def _offset(self, dual: Array) -> Array:
        """What the mean of the outputs has over that of the fit, the same at all shifts."""
        w = np.ones(self.problem.n) if self.problem.weights is None else self.problem.weights
        rest = like(np.sqrt(w) / w.sum(), dual) @ (self.raw - self.modes[0].K @ dual)
        others = [0.0 * rest[None, :]] * (len(self.modes) - 1)
        return self.back([rest[None, :], *others])[0, :]

    def residuals(self, alphas: Sequence[float], averaged: bool = False) -> Iterator[Array]:
        """Outputs minus their left-out predictions for every α, mode by mode."""
        if averaged:
            raise ValueError('symmetries go with criterion="loo".')
        groups, once = self.problem.groups, len(alphas) == 1
        for alpha in alphas:
            ridge = alpha / self.problem.uniform
            found = self._each(partial(Mode.left_out, alpha=ridge, groups=groups, once=once))
            yield self.outputs.unweighted(self.back(found))

    def _each(self, work: Callable[[Mode], Array]) -> list[Array]:
        """What is to be had of all modes, as many at a time as there are cores."""
        if is_foreign(self.modes[0].K):
            return [work(mode) for mode in self.modes]
        with one_thread_each():
            return side_by_side(work, self.modes)

    @property
    def scale(self) -> float:
        """The mean of the diagonal over modes."""
        traces = [mode.times * float(mode.K.diagonal().sum().real) for mode in self.modes]
        number = sum(mode.times for mode in self.modes)
        return self.problem.uniform * sum(traces) / (number * self.problem.total) or 1.0


def _varies(problem: Problem) -> str | None:
    """Why shifts do not leave the kernel, or the inner product of outputs, alone."""
    group: Any = problem.symmetry
    few = np.arange(min(TRIED, problem.n))
    X, Y = take(problem.inputs.items, few), take(problem.outputs.items, few)
    for side, A, actions in (
        (problem.inputs, X, group.inputs),
        (problem.outputs, Y, group.outputs),
    ):
        K = host(side.kernel(A))
        moved = actions[len(group) // 2](A)
        if np.abs(host(side.kernel(moved)) - K).max() > INVARIANT * np.abs(K).max():
            return f"{side.kernel} changes under {group.names}"
    return None


def _fourier(A: Array, axes: tuple[int, ...]) -> Array:
    """The discrete Fourier transform of real numbers, by all cores."""
    if is_foreign(A):
        return namespace(A).fft.rfftn(A, axes=axes)
    return scipy.fft.rfftn(A, axes=axes, workers=cores())


def _real(A: Array) -> Array:
    return A.real + 0.0  # not a view of every other number


@dataclass(frozen=True)
class Mode:
    """One Fourier mode: a Hermitian matrix, its targets, and how often it counts.

    Attributes
    ----------
    K, T
        (n, n) and (n, others), rows times the roots of weights, means taken off where it has a
        constant.
    times
        1, or 2 where a real field has the conjugate mode too.
    reduction
        What an intercept takes out; only fields that shifts leave alone are constant.
    """

    K: Array
    T: Array
    times: float
    reduction: Reduction

    @cached_property
    def spectrum(self) -> tuple[Array, Array]:
        """Eigenvalues, not below zero, and eigenvectors on what is not constant."""
        K = self.reduction.reduced(self.K)
        if is_foreign(K):
            s, E = namespace(K).linalg.eigh(K)
        else:
            s, E = scipy.linalg.eigh(K, driver="evd", check_finite=False)
        return s * (s > 0), self.reduction.back(E)

    @cached_property
    def inside(self) -> Array:
        """The targets in the eigenvectors."""
        return adjoint(self.spectrum[1]) @ self.T

    @cached_property
    def squares(self) -> Array:
        """|E|², entry by entry."""
        return abs(self.spectrum[1]) ** 2

    def _factored(self, alpha: float) -> PositiveDefinite | None:
        """K + αI on what is not constant, factored; None where the spectrum is there or needed."""
        if "spectrum" in self.__dict__:
            return None
        try:
            return PositiveDefinite.of(ridged(self.reduction.reduced(self.K) + 0.0, alpha))
        except np.linalg.LinAlgError:
            return None  # α is lost in rounding

    def dual(self, alpha: float) -> Array:
        """(K + αI)⁻¹ T on what is not constant."""
        factor = self._factored(alpha)
        if factor is not None:
            return self.reduction.back(factor.solve(self.reduction.inside(self.T)))
        s, E = self.spectrum
        return (E / (s + alpha)) @ self.inside

    def left_out(self, alpha: float, groups: np.ndarray | None, once: bool = False) -> Array:
        """(I - H_gg)⁻¹ R_g: what each example (or group) has over its left-out prediction.

        At one α for `once` the inverse does, in a sixth of a spectrum's time.
        """
        factor = self._factored(alpha) if once else None
        if factor is not None:
            A = adjoint(self.reduction.back(factor.inverse()))
            return by_inverse(self.reduction.back(A), self.T, groups)
        s, E = self.spectrum
        d = alpha / (s + alpha)
        R = E @ (d[:, None] * self.inside)
        if groups is None:
            rest = self.squares @ d
            return R / (rest + 1.0 * (rest <= 0))[:, None]

        def rest_of(members: np.ndarray) -> Array:
            own = namespace(E).reshape(take(E, members.reshape(-1)), (*members.shape, -1))
            return (own * d) @ adjoint(own)

        return by_groups(rest_of, R, groups)
