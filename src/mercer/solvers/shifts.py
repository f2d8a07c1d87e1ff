"""Problems with shift symmetry: one (complex) `Part` for each Fourier mode of the shifts.

The Gram matrix of all shifted training inputs is block-circulant, so that each Fourier mode of the
shifts is a separate n × n problem.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.fft

from .._base.arrays import (
    Array,
    Items,
    blocks,
    concatenated,
    count,
    host,
    is_foreign,
    like,
    namespace,
    sliced,
    take,
)
from .._base.threads import cores
from ..features import Explicit
from ..features.landmarks import KernelExpansion
from ..problem import Problem, Want
from .exact_spectrum import ExactSpectrum, InputGram
from .factorization import Factorization
from .input_spectrum import DIAGONAL_ITEMS, FittedMap
from .outputs import Basis, Cache, OutputRows
from .part import Part

INVARIANT = 1e-9
"""The largest relative change of kernel values under shifts that counts as rounding."""
PROBED_EXAMPLES = 8
"""The number of examples on which shift invariance is checked."""


def shift_refusal(problem: Problem, want: Want) -> str | None:
    """Return the reason why `shifts` cannot solve a problem; None if it can."""
    if problem.symmetry is None or problem.symmetry.shifts is None:
        return "symmetries are more than shifts"
    if not problem.kernel.separable or problem.kernel.operator.uniform is None:
        return f"{problem.kernel} is not a scalar kernel times the identity"
    features = problem.outputs.features
    explicit = features is None or isinstance(features, Explicit)  # the entries in both cases
    if problem.inputs.features is not None or not explicit:
        return "coordinates of low rank do not keep the symmetry"
    width = int(np.prod(problem.outputs.items.shape[1:]))
    if problem.outputs.width != width or not problem.outputs.kernel.on_vectors:
        return f"{problem.outputs.kernel} has other coordinates than its entries"
    if want.left_out_method != "closed":
        return "modes go with no learnt operator"
    return _variation_refusal(problem)


def _variation_refusal(problem: Problem) -> str | None:
    """Return a reason to refuse if shifts change the input or output kernel; else None."""
    group: Any = problem.symmetry
    few = np.arange(min(PROBED_EXAMPLES, problem.n))
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


def shifts(problem: Problem, want: Want, cache: Cache) -> Factorization:
    """Factor a shift-invariant problem into one part for each Fourier mode."""
    group: Any = problem.symmetry
    basis = FourierBasis(group.shifts[1])
    output_rows = _centred_outputs(problem, basis)
    values, T = ShiftedKernelModes(problem, basis), basis.to_modes(output_rows.rows)
    parts = []
    for mode in np.ndindex(*basis.half):
        target = _real_copy(T[mode]) if basis.is_real(mode) else T[mode]
        intercept = problem.intercept and not any(mode)
        kernel = ModeKernel(values, mode)
        spectrum = ExactSpectrum(InputGram(kernel, values.X, problem.weights, intercept))
        b = like(np.full(basis.n_orbits, problem.operator_scale), output_rows.rows)
        parts.append(Part(spectrum, b, target, multiplicity=basis.multiplicity_of(mode)))

    def join(fits: list[FittedMap]) -> FittedMap:
        """Combine the fitted maps of all modes into one map, of all shifted training inputs."""
        xp = namespace(output_rows.rows)
        duals: Any = [map.coefficients for map, _ in fits]
        C = basis.to_real(xp.concat([xp.astype(dual, xp.complex128) for dual in duals], axis=1))
        C = C / len(group)
        coef = concatenated([group.outputs[i](C) for i in values.shift_order])
        map = KernelExpansion(problem.inputs.kernel, concatenated(values.images), coef)
        if not problem.intercept:
            return map, 0.0
        return map, basis.repeat_over_shifts(fits[0][1] / basis.number**0.5)  # of the constant mode

    return Factorization(problem, problem.kernel, output_rows, parts, basis, join)


def _centred_outputs(problem: Problem, basis: FourierBasis) -> OutputRows:
    """Return the outputs in coordinates (entries), centred by means over examples and shifts."""
    # entries as coordinates, also if there are many
    side = replace(problem.outputs, features=Explicit())
    made = Cache().output_rows(replace(problem, outputs=side))
    if made.mean is None:
        return made
    xp = namespace(made.mean)
    by_shift = xp.reshape(take(made.mean, basis.by_shift.reshape(-1)), (-1, basis.n_orbits))
    mean = basis.repeat_over_shifts(xp.mean(by_shift, axis=0))
    return OutputRows.centred(made.coordinates, problem.weights, True, made.frame, mean)


def _real_copy(A: Array) -> Array:
    """Return a contiguous copy of the real part of A."""
    return A.real + 0.0  # a view would have strides


class FourierBasis(Basis):
    """The basis of output directions that are Fourier modes of shifts along output axes.

    Parameters
    ----------
    orbits
        The index of the output entry for each orbit of the shifts and each shift, (orbits,
        *shifts).
    """

    def __init__(self, orbits: np.ndarray):
        self.shape, self.n_orbits = orbits.shape[1:], len(orbits)
        self.axes = tuple(range(len(self.shape)))
        self.number = int(np.prod(self.shape))
        self.by_shift = np.moveaxis(orbits, 0, -1)  # (*shifts, orbits)
        self.half = (*self.shape[:-1], self.shape[-1] // 2 + 1)

    def multiplicity_of(self, mode: tuple[int, ...]) -> int:
        """Return the number of real directions of a mode: 2 if its conjugate is not stored."""
        return 1 if mode[-1] == 0 or 2 * mode[-1] == self.shape[-1] else 2

    def is_real(self, mode: tuple[int, ...]) -> bool:
        """Return whether a mode is its own complex conjugate."""
        return all(2 * k % m == 0 for k, m in zip(mode, self.shape, strict=True))

    def to_modes(self, V: Array) -> Array:
        """Return the unitary Fourier transform of output rows V, (*modes, n, orbits)."""
        xp = namespace(V)
        rows = take(xp.matrix_transpose(V), self.by_shift.reshape(-1))
        shaped = xp.matrix_transpose(xp.reshape(rows, (*self.by_shift.shape, V.shape[0])))
        return fourier(shaped, self.axes) / self.number**0.5

    def to_real(self, C: Array) -> Array:
        """Return output rows from Fourier modes C (n, modes · orbits); inverse of `to_modes`."""
        xp, n = namespace(C), C.shape[0]
        modes = xp.reshape(xp.astype(C, xp.complex128), (n, *self.half, self.n_orbits))
        stacked = xp.moveaxis(modes, 0, -2)
        values = xp.fft.irfftn(stacked, s=self.shape, axes=self.axes) * self.number**0.5
        rows = xp.reshape(xp.matrix_transpose(values), (-1, n))
        return xp.matrix_transpose(take(rows, np.argsort(self.by_shift.reshape(-1))))

    def repeat_over_shifts(self, values: Array) -> Array:
        """Return an output whose entries have the value of their orbit, given one per orbit."""
        every = namespace(values).concat([values] * self.number)
        return take(every, np.argsort(self.by_shift.reshape(-1)))

    def to_coordinates(self, C: Array) -> Array:
        """Return C unchanged: the result of `to_real` is already in output coordinates."""
        return C

    @cached_property
    def _multiplicities(self) -> np.ndarray:
        """The number of real directions of each stored Fourier column."""
        return np.repeat(
            [self.multiplicity_of(mode) for mode in np.ndindex(*self.half)], self.n_orbits
        )

    def per_direction(self, values: Array) -> Array:
        """Return values per real direction, given one column per stored Fourier mode."""
        xp = namespace(values)
        index = np.repeat(np.arange(len(self._multiplicities)), self._multiplicities)
        return xp.matrix_transpose(take(xp.matrix_transpose(values), index))

    def noise_per_direction(self, noises: np.ndarray) -> np.ndarray:
        """Return the noise variance per direction, averaged over the modes.

        By symmetry, output entries that shifts exchange have the same noise.
        """
        copies = self._multiplicities.reshape(-1, self.n_orbits)
        mean = (copies * noises.reshape(copies.shape)).sum(axis=0) / self.number
        return self.per_direction(np.tile(mean, len(copies))[None, :])[0, :]

    @cached_property
    def Q(self) -> Array:  # type: ignore[override]
        """The cosine and sine vectors of all modes, as columns in output coordinates."""
        units = np.zeros(
            (int(self._multiplicities.sum()), len(self._multiplicities)), dtype=complex
        )
        column = np.repeat(np.arange(len(self._multiplicities)), self._multiplicities)
        first = np.append(True, column[1:] != column[:-1])
        units[np.arange(len(column)), column] = np.where(first & ~self._is_sine[column], 1.0, 1.0j)
        rows = self.to_real(units)
        return (rows / np.linalg.norm(rows, axis=1)[:, None]).T

    @cached_property
    def _is_sine(self) -> np.ndarray:
        """Whether each stored column is a sine, whose conjugate mode is the cosine."""
        found = []
        for mode in np.ndindex(*self.half):
            conjugate = tuple(-k % m for k, m in zip(mode, self.shape, strict=True))
            found.append(self.multiplicity_of(mode) == 1 and conjugate < mode)
        return np.repeat(found, self.n_orbits)


def fourier(A: Array, axes: tuple[int, ...]) -> Array:
    """Return the discrete Fourier transform of a real array along `axes`."""
    if is_foreign(A):
        return namespace(A).fft.rfftn(A, axes=axes)
    return scipy.fft.rfftn(A, axes=axes, workers=cores())


class ShiftedKernelModes:
    """Kernel values between inputs and all shifted training inputs, as Fourier modes.

    The values of the last inputs are stored, because all modes need them.
    """

    def __init__(self, problem: Problem, basis: FourierBasis):
        self.kernel, self.X, self.basis = problem.inputs.kernel, problem.inputs.items, basis
        self.group = problem.symmetry
        self.last_inputs: tuple[Any, Any, Any] = (None, None, None)

    @cached_property
    def shift_order(self) -> list[int]:
        """The index of each shift in the list of elements of the symmetry group."""
        group: Any = self.group
        shape, axes = self.basis.shape, self.basis.axes
        first = group.shifts[0].reshape(-1, *shape)[0]
        where = {action.source[first.flat[0]]: i for i, action in enumerate(group.inputs)}
        return [where[np.roll(first, steps, axis=axes).flat[0]] for steps in np.ndindex(*shape)]

    def _shifted(self, A: Items) -> Iterator[Items]:
        """Yield inputs A, transformed by each shift."""
        group: Any = self.group
        return (group.inputs[i](A) for i in self.shift_order)

    @cached_property
    def images(self) -> list[Items]:
        """The training inputs, transformed by each shift."""
        return list(self._shifted(self.X))

    @cached_property
    def modes(self) -> Array:
        """The Fourier modes of the training Gram matrices over all shifts, (*modes, n, n).

        The Gram matrix of the inverse of a shift is the transpose of that of the shift.
        """
        shape = self.basis.shape
        grams: dict[tuple[int, ...], Array] = {}
        for steps, image in zip(np.ndindex(*shape), self.images, strict=True):
            back = tuple(-k % m for k, m in zip(steps, shape, strict=True))
            known = back in grams
            grams[steps] = grams[back].T if known else self.kernel._gram(self.X, image)
        return self._to_modes(list(grams.values()))

    def _to_modes(self, values: list[Array]) -> Array:
        """Return the Fourier transform over the shifts of matrices, given one per shift."""
        xp = namespace(*values)
        K = xp.stack(values)
        K = xp.reshape(K, (*self.basis.shape, *K.shape[1:]))
        return fourier(K, self.basis.axes) / self.basis.number

    def kernel_values(self, A: Items) -> Array:
        """Return the Fourier modes of kernel values of new inputs A, (*modes, inputs, n)."""
        if self.last_inputs[0] is not A:
            values = [self.kernel._gram(A, image) for image in self.images]
            self.last_inputs = (A, self._to_modes(values), None)
        return self.last_inputs[1]

    def prior_variances(self, A: Items) -> Array:
        """Return the Fourier modes of k(a, shifted a) over the shifts of a, (*modes, inputs)."""
        if self.last_inputs[0] is not A or self.last_inputs[2] is None:
            found = []
            for moved in self._shifted(A):
                grams = [
                    self.kernel._gram(sliced(A, rows), sliced(moved, rows))
                    for rows in blocks(count(A), DIAGONAL_ITEMS)
                ]
                xp = namespace(*grams)
                found.append(xp.concat([xp.linalg.diagonal(K) for K in grams]))
            self.last_inputs = (A, self.kernel_values(A), self._to_modes(found))
        return self.last_inputs[2]


@dataclass(frozen=True)
class ModeKernel:
    """One Fourier mode of a kernel over shifts, with the methods that `InputGram` calls.

    Attributes
    ----------
    values
        The kernel values of all modes, shared by all `ModeKernel` objects.
    mode
        The index of the mode.
    """

    values: ShiftedKernelModes
    mode: tuple[int, ...]

    features: ClassVar[None] = None

    def _this_mode(self, A: Array) -> Array:
        """Select this mode from an array over all modes; return a real array for a real mode."""
        real = self.values.basis.is_real(self.mode)
        return _real_copy(A[self.mode]) if real else A[self.mode]

    def __call__(self, A: Items, X: Items) -> Array:
        """Return this mode of the kernel values between new inputs A and training inputs."""
        return self._this_mode(self.values.kernel_values(A))

    def checked_gram(self, X: Items) -> Array:
        """Return this mode of the Gram matrix of the training inputs."""
        return self._this_mode(self.values.modes)

    def diag(self, A: Items) -> Array:
        """Return this mode of k(a, shifted a) for every new input a in A, as real numbers."""
        return _real_copy(self.values.prior_variances(A)[self.mode])
