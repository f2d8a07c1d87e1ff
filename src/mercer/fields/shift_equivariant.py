"""Operator-valued kernels whose maps commute with shifts, and their solver by Fourier modes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from .._base.arrays import Array, Items, count, host, like, namespace, take
from .._base.checks import Limits, must
from .._base.errors import NotSupported
from .._base.parameters import parameters
from .._base.statistics import repeat_by_weight
from ..kernels import RBF, FieldL2, Kernel, as_kernel
from ..operators import BlockGram, CoupledKernel, Slots, field_grids
from ..problem import Problem, Want
from ..solvers import (
    Cache,
    CoupledMap,
    ExactSpectrum,
    Factorization,
    FittedMap,
    InputGram,
    OutputRows,
    Part,
    Parts,
    fitted_kernel,
)
from ..spaces import Fields
from .fourier_basis import FourierBasis
from .own_solver import require_own_solver
from .shift_modes import ModeKernel, ShiftedKernelModes, real_copy
from .shifts import Shifts

INVARIANT = 1e-9
"""The largest relative change of kernel values under shifts that counts as rounding."""
PROBED_EXAMPLES = 8
"""The number of examples on which shift invariance is checked."""


@parameters
class ShiftEquivariant(CoupledKernel):
    r"""Kernel of maps that commute with shifts: if the input is shifted, so is the output.

    :math:`K(x, x') = \frac{1}{|S|} \sum_{s \in S} k(x, s x')\, s` with all shifts :math:`s` along
    some axes, which move input and output fields by the same number of grid points. The model is
    that of a scalar kernel :math:`k` on all pairs and all their shifted copies, where a pair and
    its copies count as one pair. Their Fourier modes are solved one by one.

    Parameters
    ----------
    kernel : Kernel, str or None, default=None
        The scalar kernel k on whole fields, which must not change if both fields are shifted: such
        as ``RBF(3.0)``, `Matern` or `Linear`. None is ``RBF("median")``.
    axes : str or sequence of str, default="x"
        The names of the axes to shift along. Fields should be periodic along them.
    fields, output_fields : Fields or None, default=None
        The grids of inputs and outputs; None for axes called x; y, x; or z, y, x.
    output_shape : sequence of int or None, default=None
        The shape of an output array; None for that of the training outputs.

    Notes
    -----
    With `fit_intercept`, the constant is the same at all shifted grid points. Ridges have the same
    meaning as for the scalar kernel.

    References
    ----------
    Reisert, Burkhardt: Learning equivariant functions with matrix valued kernels, JMLR 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.fields import ShiftEquivariant
    >>> from mercer.kernels import RBF
    >>> X = np.random.default_rng(0).normal(size=(30, 8))
    >>> model = KernelDependency(ShiftEquivariant(RBF(3.0)), alpha=1e-3).fit(X, X**2)
    >>> moved = model.predict(np.roll(X, 3, axis=1))
    >>> bool(np.allclose(np.roll(moved, -3, axis=1), model.predict(X)))
    True
    """

    kernel: Kernel | str | None = None
    axes: str | Sequence[str] = "x"
    fields: Fields | None = None
    output_fields: Fields | None = None
    output_shape: Sequence[int] | None = None

    depends_on_data = property(lambda self: self._unfitted_scalar().depends_on_data)

    def _input_kernel(self) -> Kernel:
        """Return the kernel that checks fields on the input grid."""
        return FieldL2(self.fields)

    def _unfitted_scalar(self) -> Kernel:
        """Return the unfitted scalar kernel; the default is ``RBF("median")``."""
        return RBF("median") if self.kernel is None else as_kernel(self.kernel)

    def scaled(self, factor: float) -> ShiftEquivariant:
        """Return a copy whose scalar kernel is multiplied by `factor`."""
        copy: ShiftEquivariant = clone(self)
        return copy.set_params(kernel=factor * self._unfitted_scalar())

    def fit(self, X: Items, V: Array, weights: Array | None = None) -> ShiftEquivariant:
        """Determine the shifts, and fit the scalar kernel on inputs X."""
        super().fit(X, V)
        self.shifts_ = Shifts.along(self.axes, *field_grids(self, X.shape[1:], self.width_))
        counted = X if weights is None else take(X, repeat_by_weight(weights))
        self.kernel_ = clone(self._unfitted_scalar()).fit(counted)
        few = take(X, np.arange(min(PROBED_EXAMPLES, count(X))))
        for steps in self.shifts_.generators:
            require_invariance(self.kernel_, few, self.shifts_.of_inputs(few, steps))
        return self

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` unless the shifts move all output components."""
        if self.width_:
            must(isinstance(self.shifts_, Shifts), "shifts_ are not shifts")
            must(self.shifts_.outputs.size == self.width_, "shifts_ move other outputs")

    def gram(self, A: Items, B: Items | None = None) -> BlockGram:
        """Return the block Gram matrix of two batches of fields."""
        A = self.check(A, "A")
        return ShiftedGram(self, A, A if B is None else self.check(B, "B"))

    def check(self, A: Items, name: str) -> Items:
        """Return checked fields as the scalar kernel compares them."""
        return self.kernel_.check(self.inputs.check(A, name), name)

    def factor(self, problem: Problem, want: Want, cache: Cache) -> Factorization:
        """Factor a problem with this kernel into one part for each Fourier mode of the shifts."""
        require_own_solver(problem, want)
        _require_entries(problem)
        output_rows = cache.output_rows(problem)
        kernel = fitted_kernel(problem, output_rows)
        return _factor_modes(problem, kernel, output_rows)


class ShiftedGram(BlockGram):
    """The Gram matrix of a `ShiftEquivariant` kernel as a sum over shifts."""

    def __init__(self, kernel: ShiftEquivariant, A: Items, B: Items):
        self.kernel, self.A, self.B = kernel, A, B
        self.rows, self.columns = Slots(count(A), kernel.width_), Slots(count(B), kernel.width_)

    def apply(self, D: Array) -> Array:
        """Return the Gram matrix times D: for each shift s, k(A, s B) times shifted rows of D."""
        xp, shifts = namespace(D), self.kernel.shifts_
        m, q = self.columns.n, self.columns.width
        C = xp.reshape(xp.permute_dims(xp.reshape(D, (m, q, -1)), (0, 2, 1)), (-1, q))
        total: Any = 0.0
        for steps in shifts:
            K = self.kernel.kernel_._gram(self.A, shifts.of_inputs(self.B, steps))
            total = total + K @ xp.reshape(shifts.of_outputs(C, steps), (m, -1))
        values = xp.reshape(total / len(shifts), (self.rows.n, -1, q))
        return xp.reshape(xp.permute_dims(values, (0, 2, 1)), (self.rows.size, -1))


def require_invariance(kernel: Kernel, A: Items, moved: Items) -> None:
    """Raise ValueError if the values of a kernel differ between fields and shifted fields."""
    K = host(kernel(A))
    if np.abs(host(kernel(moved)) - K).max() > INVARIANT * np.abs(K).max():
        raise ValueError(
            f"ShiftEquivariant needs kernels that stay the same if all fields are shifted, and "
            f"{kernel} changes: use one with equal weights at all grid points."
        )


def _require_entries(problem: Problem) -> None:
    """Raise an error unless the modes of output entries solve a problem."""
    kernel, entries = problem.outputs.kernel, int(np.prod(problem.outputs.items.shape[1:]))
    if not kernel.on_vectors or problem.outputs.width != entries:
        raise NotSupported(
            f"{problem.kernel} predicts the entries of fields, and output_kernel={kernel} has "
            "other coordinates: use output_kernel=Linear()."
        )


def _factor_modes(
    problem: Problem, kernel: ShiftEquivariant, output_rows: OutputRows
) -> Factorization:
    """Return a factorisation with one (complex) `Part` for each Fourier mode of the shifts."""
    X, shifts, basis = problem.inputs.items, kernel.shifts_, FourierBasis(kernel.shifts_.outputs)
    few = take(problem.outputs.items, np.arange(min(PROBED_EXAMPLES, problem.n)))
    for steps in shifts.generators:
        require_invariance(problem.outputs.kernel, few, shifts.of_outputs(few, steps))
    output_rows = _centred_about_shifts(problem, output_rows, basis)
    values = ShiftedKernelModes(kernel.kernel_, X, shifts, basis)
    parts, T = [], basis.to_modes(output_rows.rows)
    for mode in np.ndindex(*basis.half):
        one = T[(*mode, ...)]
        target = real_copy(one) if basis.is_real(mode) else one
        intercept = problem.intercept and not any(mode)
        gram = InputGram(ModeKernel(values, mode), X, problem.weights, intercept)
        b = like(np.ones(basis.n_orbits), output_rows.rows)
        part = Part(ExactSpectrum(gram), b, target, multiplicity=basis.multiplicity_of(mode))
        parts.append(part)

    def join(fits: list[FittedMap]) -> FittedMap:
        """Combine the fitted maps of all modes into one map, and return its mean."""
        xp = namespace(output_rows.rows)
        duals: Any = [map.coefficients for map, _ in fits]
        C = basis.to_real(xp.concat([xp.astype(dual, xp.complex128) for dual in duals], axis=1))
        mean = 0.0
        if problem.intercept:  # of the constant mode
            mean = basis.repeat_over_shifts(fits[0][1] / basis.number**0.5)
        return FittedMap(CoupledMap(kernel, X, C), mean)

    return Parts(problem, kernel, output_rows, parts, basis, join)


def _centred_about_shifts(problem: Problem, made: OutputRows, basis: FourierBasis) -> OutputRows:
    """Return the outputs centred by means over examples and shifts."""
    if made.mean is None:
        return made
    xp = namespace(made.mean)
    by_shift = xp.reshape(take(made.mean, basis.by_shift.reshape(-1)), (-1, basis.n_orbits))
    mean = basis.repeat_over_shifts(xp.mean(by_shift, axis=0))
    return OutputRows.centred(made.coordinates, problem.weights, True, made.frame, mean)
