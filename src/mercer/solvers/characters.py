"""Problems that shifts leave alone, solved one Fourier mode of the shifts at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.linalg
from threadpoolctl import threadpool_limits

from .._arrays import Array, concatenated, host, is_foreign, take
from .._plan import Route, Sizes
from .._threads import side_by_side
from ..embedding import PointMap
from ..features import Explicit
from ..features.landmarks import Spanned
from ..problem import Problem, Want
from .base import Cache, Solver
from .factorization import Factorization, LeftOut, Solution, _Points
from .inputs import Reduction
from .left_out import members_by_size
from .outputs import Outputs
from .weights import LeastWeights

INVARIANT = 1e-9
"""How much kernel values may change under shifts by rounding."""
TRIED = 8
"""Examples on which that is tried."""


class Characters(Solver):
    """A scalar kernel that shifts leave alone, times a multiple of the identity; exact.

    The Gram matrix of all images is block-circulant: each Fourier mode of the shift is an n × n
    problem of its own.
    """

    name = "characters"

    def accepts(self, problem: Problem, want: Want) -> str | None:
        """Shifts alone, on the host, outputs that are their own coordinates."""
        if problem.symmetry is None or problem.symmetry.shifts is None:
            return "symmetries are more than shifts"
        if not problem.separable or problem.kernel.operator.uniform is None:
            return f"{problem.kernel} is no scalar kernel times the identity"
        if problem.inputs.features is not None or problem.outputs.features is not None:
            return "coordinates of low rank do not keep the symmetry"
        if problem.foreign or is_foreign(problem.outputs.items) or want.moves:
            return "modes are solved on the host, and give no left-out models"
        width = int(np.prod(problem.outputs.items.shape[1:]))
        if problem.outputs.width != width or not problem.outputs.kernel.on_vectors:
            return f"{problem.outputs.kernel} has other coordinates than its entries"
        if problem.loss is not None or want.judge != "closed":
            return "modes go with the square loss"
        return _varies(problem)

    def cost(self, sizes: Sizes) -> Route:
        """Less than any other way."""
        return Route(self.name, 16.0 * sizes.n**2, 1.0 * sizes.n**3, None, sizes.free)

    def factor(self, problem: Problem, want: Want, cache: Cache) -> Factorization:
        """Fourier transform kernel values and outputs over the shifts."""
        outputs = replace(problem.outputs, features=Explicit())  # the entries, also if many
        return Modes(problem, Cache().outputs(replace(problem, outputs=outputs)))


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

    K: np.ndarray
    T: np.ndarray
    times: float
    reduction: Reduction

    @cached_property
    def spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues, not below zero, and eigenvectors on what is not constant."""
        K = self.reduction.reduced(self.K)
        s, E = scipy.linalg.eigh(K, driver="evd", check_finite=False)
        return np.maximum(s, 0.0), self.reduction.back(E)

    @cached_property
    def inside(self) -> np.ndarray:
        """The targets in the eigenvectors."""
        return self.spectrum[1].conj().T @ self.T

    @cached_property
    def squares(self) -> np.ndarray:
        """|E|², entry by entry."""
        E = self.spectrum[1]
        return E.real**2 + E.imag**2

    def dual(self, alpha: float) -> np.ndarray:
        """(K + αI)⁻¹ T on what is not constant; by Cholesky unless the spectrum is known."""
        if "spectrum" not in self.__dict__:
            K, T = self.reduction.reduced(self.K), self.reduction.inside(self.T)
            K = K + alpha * np.eye(len(K))
            try:
                C = scipy.linalg.cho_solve((scipy.linalg.cholesky(K, lower=True), True), T)
                return self.reduction.back(C)
            except np.linalg.LinAlgError:
                pass  # α is lost in rounding
        s, E = self.spectrum
        return (E / (s + alpha)) @ self.inside

    def inverse(self, alpha: float) -> np.ndarray | None:
        """(K + αI)⁻¹ on what is not constant, a sixth of a spectrum's work; None at tiny α."""
        K = self.reduction.reduced(self.K)
        K = K + alpha * np.eye(len(K))
        factor, invert = scipy.linalg.get_lapack_funcs(("potrf", "potri"), (K,))
        L, failed = factor(K, lower=True, overwrite_a=True)
        if failed:
            return None
        A = np.tril(invert(L, lower=True, overwrite_c=True)[0])
        A += np.tril(A, -1).conj().T
        return self.reduction.back(self.reduction.back(A).conj().T).conj().T

    def left_out(
        self, alpha: float, groups: list[np.ndarray] | None, once: bool = False
    ) -> np.ndarray:
        """(I - H_gg)⁻¹ R_g: what each example (or group) has over its left-out prediction.

        At one α for `once` the inverse does; it is (I - H)/α.
        """
        A = self.inverse(alpha) if once and "spectrum" not in self.__dict__ else None
        if A is not None:
            R = A @ self.T
            if groups is None:
                return R / A.diagonal().real[:, None]
            out = np.empty_like(R)
            for same in groups:
                out[same] = np.linalg.solve(A[same[:, :, None], same[:, None, :]], R[same])
            return out
        s, E = self.spectrum
        d = alpha / (s + alpha)
        R = E @ (d[:, None] * self.inside)
        if groups is None:
            rest = self.squares @ d
            return R / np.where(rest > 0, rest, 1.0)[:, None]
        out = np.empty_like(R)
        for same in groups:
            own = E[same]
            rest = (own * d) @ np.swapaxes(own.conj(), 1, 2)
            out[same] = np.linalg.solve(rest, R[same])
        return out


class Modes(Factorization):
    """All modes of a problem, and what they give together."""

    group: Any

    def __init__(self, problem: Problem, outputs: Outputs):
        self.problem, self.outputs = problem, outputs
        self.uniform = float(problem.kernel.operator.uniform or 1.0)
        self.group: Any = problem.symmetry
        self.orbits: np.ndarray = self.group.shifts[1]
        self.shape = self.orbits.shape[1:]
        self.axes = tuple(range(-len(self.shape), 0))
        self.images = [act(problem.inputs.items) for act in self.group.inputs]
        self.modes = list(self._modes())

    def _order(self) -> np.ndarray:
        """The element of the group that each shift is, flat."""
        first = self.group.shifts[0].reshape(-1, *self.shape)[0]
        where = {action.source[first.flat[0]]: i for i, action in enumerate(self.group.inputs)}
        shifted = [
            np.roll(first, steps, axis=tuple(range(len(self.shape)))).flat[0]
            for steps in np.ndindex(*self.shape)
        ]
        return np.array([where[source] for source in shifted])

    def _modes(self) -> Iterator[Mode]:
        problem, order = self.problem, self._order()
        kernel, X = problem.inputs.kernel, problem.inputs.items
        n = problem.n
        K: Any = np.stack([kernel._gram(X, self.images[i]) for i in order], axis=-1)
        K = np.fft.rfftn(K.reshape(n, n, *self.shape), axes=self.axes) / len(self.group)
        V = self.outputs.coordinates  # an intercept is the same at all shifts of a place
        T: Any = self.forth(V if self.outputs.roots is None else V * self.outputs.roots)
        self.raw = T[(..., *(0,) * len(self.shape))].real
        roots = None if problem.weights is None else np.sqrt(problem.weights)
        last = self.shape[-1]
        for f in np.ndindex(*K.shape[2:]):
            own = K[(..., *f)]
            own = own if roots is None else roots[:, None] * own * roots
            flat = not any(f)
            alone = f[-1] == 0 or 2 * f[-1] == last
            plain = all(2 * k % m == 0 for k, m in zip(f, self.shape, strict=True))
            own = own.real if plain else own
            target = T[(..., *f)].real if plain else T[(..., *f)]
            reduction = Reduction(None)
            if flat and problem.intercept:
                weighted = Reduction.of(problem.weights, True, own.real)
                reduction = replace(weighted, roots=None)  # the matrix has them already
                target = reduction.without(target)
            yield Mode(np.ascontiguousarray(own), target, 1.0 if alone else 2.0, reduction)

    def forth(self, V: Array) -> np.ndarray:
        """Rows of outputs as Fourier modes over the shifts, lengths kept, (n, others, *modes)."""
        shaped = np.asarray(V)[:, self.orbits.reshape(-1)].reshape(len(V), *self.orbits.shape)
        return np.fft.rfftn(shaped, axes=self.axes, norm="ortho")

    def back(self, modes: list[np.ndarray]) -> np.ndarray:
        """Inverse of `forth`, from one array (n, others) a mode."""
        n, others = modes[0].shape
        spectrum = (*self.shape[:-1], self.shape[-1] // 2 + 1)
        stacked = np.stack(modes, axis=-1).reshape(n, others, *spectrum)
        values = np.fft.irfftn(stacked, s=self.shape, axes=self.axes, norm="ortho")
        V = np.empty((n, self.orbits.size))
        V[:, self.orbits.reshape(-1)] = values.reshape(n, -1)
        return V

    def solve(self, alpha: float) -> Solution:
        """Dual coefficients on all images: an image has the image of its original's."""
        problem, roots = self.problem, self.outputs.roots
        duals = self._each(lambda mode: mode.dual(alpha / self.uniform))
        C = self.back(duals)
        C = C if roots is None else C * roots
        C = C / len(self.group)
        coef = np.concatenate([act(C) for act in self.group.outputs])
        map = Spanned(problem.inputs.kernel, concatenated(self.images), coef)
        frame = self.outputs.frame
        offset = self._offset(duals[0]) if problem.intercept else None
        weigher = LeastWeights(frame, problem.outputs.items)
        return Solution(PointMap(map, offset, frame, weigher), problem.kernel)

    def _offset(self, dual: np.ndarray) -> np.ndarray:
        """What the mean of the outputs has over that of the fit, the same at all shifts."""
        w = np.ones(self.problem.n) if self.problem.weights is None else self.problem.weights
        rest = (np.sqrt(w) / w.sum()) @ (self.raw - self.modes[0].K @ dual)
        others = [0.0 * rest[None, :]] * (len(self.modes) - 1)
        return self.back([rest[None, :], *others])[0]

    def left_out(self, alphas: Sequence[float], averaged: bool = False) -> Iterator[LeftOut]:
        """Left-out predictions, mode by mode."""
        if averaged:
            raise ValueError('symmetries go with criterion="loo".')
        groups = self.problem.groups
        members = None if groups is None else members_by_size(groups)
        once = len(alphas) == 1
        for alpha in alphas:
            ridge = alpha / self.uniform
            found = self._each(partial(Mode.left_out, alpha=ridge, groups=members, once=once))
            E = self.outputs.unweighted(self.back(found))
            yield LeftOut(alpha, (E * E).sum(axis=1), _Points(self, E))

    def _each(self, work: Callable[[Mode], np.ndarray]) -> list[np.ndarray]:
        """What is to be had of all modes, as many at a time as there are cores."""
        with threadpool_limits(1):
            return side_by_side(work, self.modes)

    def left_out_points(self, E: Array) -> Any:
        """Points whose residuals are E."""
        return self.outputs.points(self.outputs.coordinates - E, self.problem)

    @property
    def scale(self) -> float:
        """The mean of the diagonal over modes."""
        traces = [mode.times * float(np.trace(mode.K).real) for mode in self.modes]
        number = sum(mode.times for mode in self.modes)
        return self.uniform * sum(traces) / (number * self.problem.total) or 1.0

    @property
    def nbytes(self) -> float:
        """The matrices of all modes and their eigenvectors."""
        return float(sum(2 * mode.K.nbytes for mode in self.modes))
