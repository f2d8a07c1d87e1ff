from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from .._arrays import Items
from .._plan import Problem
from ..decoders import Decoder, natural
from ..embedding import Embedding
from ..features import FeatureMap
from ..kernels import Kernel
from ..losses import Loss, checked_loss
from ..operators import Identity, Operator, OperatorKernel, Separable, as_operator_kernel
from ..solvers import BlockConjugateGradient
from .base import (
    decodable,
    input_default,
    on_device,
    output_default,
    positive_alpha,
    problem,
    warn_if_constant,
)
from .identity import left_out_identity, solve_identity
from .low_rank import SpannedEquation, solve_low_rank, spans
from .refits import refitted
from .regression import Equation, PointMap, Sides, factored, group_labels
from .streaming import BlockLearner
from .unlabelled import Given, informed, refuse_in_streams
from .waves import coupled_equation

SOLVERS = ("auto", "cholesky", "spectral", "dense", "cg")
COUPLED_SOLVERS = ("auto", "dense", "cg")
"""Those for operator-valued kernels that do not separate; the others are for those that do."""


class KernelDependency(BlockLearner):
    """Kernel dependency estimation with an operator-valued kernel, exact and in closed form.

    Minimises Σ‖g(x_i) - Φ(y_i)‖² + alpha‖g‖² over functions g from inputs to the feature space of
    the output kernel, and decodes g(x) into an output.

    Parameters
    ----------
    kernel
        The operator-valued kernel, such as ``RBF(6.0) * Covariance()``; a scalar kernel means the
        identity operator; None is ``RBF("median")``.
    output_kernel
        The kernel l on outputs; None is `Linear`.
    alpha
        The ridge, the paper's λ; there is no hidden factor n.
    decoder
        The pre-image; None is the natural one of the output kernel (`mercer.decoders.natural`).
    features, output_features
        Coordinates of the inputs and outputs, such as ``IncompleteCholesky(rank=500)`` for a fit
        at low rank or ``KernelPCA(3)`` for Weston's method; None is exact.
    fit_intercept
        Whether the means of both feature spaces are taken off first.
    solver
        "cholesky" (identity operator only), "spectral" (any scalar kernel times an operator);
        for kernels that do not separate "dense", "cg" or a
        `mercer.solvers.BlockConjugateGradient`; or "auto": the cheaper of those that have room,
        as `plan` tells.
    loss
        None for the square; ``Huber()`` or ``EpsilonInsensitive()`` of `mercer.losses` where some
        outputs may be wrong. Needs a kernel that separates.
    device
        Where to compute, as PyTorch names it ("cuda"); outputs come back to the host. None is
        where X is: arrays of PyTorch or CuPy stay on their device anyway.

    Attributes
    ----------
    kernel_, output_kernel_, decoder_
        What was fitted, length scales settled.
    loss_
        The loss with its threshold settled, where it is not the square.
    n_features_in_
        The number of input features, where inputs are vectors.
    n_iter_, residual_
        Rounds of conjugate gradients and the relative residual that they left; None where the
        equation was solved directly.
    stream_
        Of a model of a stream, what further blocks are added to: moments and a sample.

    References
    ----------
    Kadri, Ghavamzadeh, Preux: A generalized kernel approach to structured output learning, ICML
    2013. Identity operator: Cortes, Mohri, Weston 2005. Kernel PCA outputs: Weston et al. 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF
    >>> from mercer.operators import Covariance
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> Y = np.hstack([np.sin(6 * X), np.cos(6 * X)])
    >>> model = KernelDependency(RBF(0.3) * Covariance(), alpha=1e-6).fit(X, Y)
    >>> model.predict([[0.5]]).round(2)
    array([[ 0.14, -0.99]])
    """

    n_iter_: int | None = None
    residual_: float | None = None

    def __init__(
        self,
        kernel: Any = None,
        output_kernel: Any = None,
        alpha: float = 1.0,
        decoder: Decoder | None = None,
        features: FeatureMap | None = None,
        output_features: FeatureMap | None = None,
        fit_intercept: bool = False,
        solver: Any = "auto",
        loss: Loss | None = None,
        device: str | None = None,
    ):
        self.kernel = kernel
        self.output_kernel = output_kernel
        self.alpha = alpha
        self.decoder = decoder
        self.features = features
        self.output_features = output_features
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.loss = loss
        self.device = device

    def fit(
        self,
        X: Items,
        y: Items = None,
        groups: Items | None = None,
        unlabelled: Items | None = None,
    ) -> KernelDependency:
        """Learn from pairs, and from inputs without outputs.

        Parameters
        ----------
        X
            Inputs: an array, or a sequence of whatever the input kernel compares. Or pairs that
            come in blocks: an iterable of (X, y), the path of files, a `mercer.streams.Stream`,
            Dask's arrays, bags and delayed blocks.
        y
            As many outputs, likewise; None where `X` has them, and None for a single output that is
            not known.
        groups
            A label for each pair; a decoder that is calibrated on left-out predictions leaves
            pairs of one label (a subject, a speaker) out together.
        unlabelled
            Further inputs, for a kernel that learns from them (`LaplacianRegularized`).
        """
        return self._fit_afresh(X, y, groups=groups, unlabelled=unlabelled)

    def _operator_kernel(self) -> OperatorKernel:
        return as_operator_kernel(input_default(self.kernel))

    def _alpha(self) -> float:
        return positive_alpha(self.alpha)

    def _fit(self, X: Items, y: Items, groups: Items | None, unlabelled: Items | None) -> None:
        alpha = self._alpha()
        checked_loss(self.loss)
        self.loss_: Loss | None = None
        self._check_solver(self._operator_kernel())
        stream = self._as_stream(X, y, groups)
        if stream is not None:
            refuse_in_streams([self._operator_kernel()], [self.loss], unlabelled)
            self._learn(self._gathered(stream))
            stream.finish()
            return
        X, y, groups, unlabelled = Given(X, y, groups, unlabelled).parted()
        (chosen,) = informed([self._operator_kernel()], unlabelled)
        if self.device is not None and not chosen.separable:
            raise ValueError(f"device={self.device!r} is for kernel * operator, got {chosen}.")
        kernel = on_device(clone(chosen.inputs), self.device)
        bare = clone(output_default(self.output_kernel))
        output_kernel = on_device(bare, self.device)
        raw = X
        X, y = self._check_pairs(kernel, output_kernel, X, y)
        kernel.fit(X)
        output_kernel.fit(y)
        warn_if_constant(output_kernel, y)
        sides = Sides(
            kernel, output_kernel, X, y, self.features, self.output_features, self.fit_intercept
        )
        decoder = natural(bare) if self.decoder is None else clone(self.decoder)
        self.decoder_ = decoder.fit(decodable(output_kernel), y)
        labels = group_labels(groups, sides.n)
        waves = self.features is not None and self.features.operator_valued
        separable = chosen.separable and not waves
        solve = self._fit_separable if separable else self._fit_coupled
        points = solve(sides, chosen, alpha, labels, raw)
        if points is not None:
            self.decoder_ = decoder.calibrate(points, y)
        self.input_kernel_ = self.kernel_.inputs
        self.output_kernel_, self.outputs_ = output_kernel, y

    def _check_solver(self, kernel: OperatorKernel) -> None:
        iterative = isinstance(self.solver, BlockConjugateGradient)
        if not iterative and self.solver not in SOLVERS:
            raise ValueError(
                f"solver must be one of {SOLVERS} or a BlockConjugateGradient, got {self.solver!r}."
            )
        fits = SOLVERS[:3] if kernel.separable else COUPLED_SOLVERS
        if self.solver not in fits and not (iterative and not kernel.separable):
            kind = "separates" if kernel.separable else "does not separate"
            raise ValueError(
                f"solver={self.solver!r} is not for {kernel}, which {kind}: use one of {fits}."
            )

    def _solved(self, sides: Sides, operator: Any, alpha: float) -> PointMap:
        identity = isinstance(operator, Identity)
        if self.solver == "cholesky" and not identity:
            raise ValueError("solver='cholesky' is for the identity operator; use solver='auto'.")
        planned = self._problem(sides.n, 1, 1).plan().exact.name
        solver = planned if self.solver == "auto" else self.solver
        short = solve_identity if sides.features is None else solve_low_rank
        points = short(sides, alpha) if solver == "cholesky" else None
        return self._equation(sides, operator).solve(alpha) if points is None else points

    def _equation(self, sides: Sides, operator: Operator) -> Equation:
        """The way for every α, which also gives the left-out points."""
        if spans(sides, [operator]):
            return SpannedEquation(sides, operator, sides.input_coordinates())
        return factored(sides, operator)

    def _fit_separable(
        self, sides: Sides, kernel: Any, alpha: float, labels: np.ndarray, raw: Items
    ) -> Embedding | None:
        """Solve with a scalar kernel times an operator; left-out points where they are wanted."""
        operator, points = kernel.separated().operator, None
        if operator.learnt or self.loss is not None:
            return self._fit_refitted(sides, operator, alpha, labels, raw)
        self.kernel_ = Separable(sides.kernel, operator)
        if self.decoder_.calibrates:
            self.points_, points = self._left_out(sides, operator, alpha, labels, raw)
        else:
            self.points_ = self._solved(sides, operator, alpha)
        return points

    def _fit_refitted(
        self, sides: Sides, operator: Operator, alpha: float, labels: np.ndarray, raw: Items
    ) -> Embedding | None:
        """Solve with an operator that is learnt or a robust loss."""
        if self.solver == "cholesky":
            raise ValueError(
                "solver='cholesky' is for the identity operator and the square loss; use "
                "solver='auto'."
            )
        return self._solve(refitted(sides, operator, self.loss, labels), alpha, labels, raw)

    def _fit_coupled(
        self, sides: Sides, kernel: Any, alpha: float, labels: np.ndarray, raw: Items
    ) -> Embedding | None:
        """Solve with a kernel that does not separate; left-out points where they are wanted."""
        if self.loss is not None:
            raise ValueError(
                f"loss={self.loss} needs a scalar kernel times an operator, which {kernel} is not: "
                "use loss=None."
            )
        V = sides.output_coordinates(kernel)
        equation = coupled_equation(sides, kernel, V, self.solver)
        return self._solve(equation, alpha, labels, raw)

    def _solve(
        self, equation: Equation, alpha: float, labels: np.ndarray, raw: Items
    ) -> Embedding | None:
        """Solve an equation of any kind; left-out points where they are wanted."""
        points = None
        if self.decoder_.calibrates:
            equation, loo, _, residuals = next(equation.path([alpha], labels))
            points = equation.left_out_points(loo, residuals, labels, raw)
        equation = equation.settled(alpha)
        self.points_, self.kernel_ = equation.solve(alpha), equation.operator_kernel
        self.loss_ = equation.loss
        self.n_iter_, self.residual_ = equation.effort
        return points

    def _left_out(
        self, sides: Sides, operator: Any, alpha: float, labels: np.ndarray, raw: Items
    ) -> tuple[PointMap, Embedding]:
        """The solution, and the left-out points of the training examples."""
        short = isinstance(operator, Identity) and sides.features is None
        if short and sides.spanned and not self.fit_intercept and self.solver != "spectral":
            left_out = left_out_identity(sides, alpha, labels, raw)
            if left_out is not None:
                return self._solved(sides, operator, alpha), left_out
        equation = self._equation(sides, operator)
        loo = equation.leave_one_out(labels)
        points = equation.left_out_points(loo, loo.residuals(alpha), labels, raw)
        return equation.solve(alpha), points

    def _scalar_kernels(self) -> list[Kernel]:
        kernel = as_operator_kernel(input_default(self.kernel))
        return [kernel.inputs]

    def _problem(self, n: int, p: int, q: int) -> Problem:
        kernel = as_operator_kernel(input_default(self.kernel))
        return problem([kernel], output_default(self.output_kernel), n, p, q)
