"""The base class of operator-valued kernels."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator, clone

from .._base.arrays import Array, Items
from .._base.errors import NotSupported, refuse_class
from ..kernels import Kernel
from ..kernels.gradients import ParameterGradient
from .block_gram import BlockGram

if TYPE_CHECKING:
    from .components import ComponentGram
    from .separable import Separable


class OperatorKernel(BaseEstimator):
    """An operator-valued kernel K(x, x'): its values act on the output feature space.

    Most are a scalar kernel times an operator, or sums of such kernels. The others
    (`CoupledKernel`) define how their values act on the coordinates of outputs.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> from mercer.operators import Identity, OperatorKernel
    >>> isinstance(RBF(1.0) * Identity(), OperatorKernel)
    True
    """

    separable = False
    """Whether the kernel is one scalar kernel times one operator; `separated` returns it."""

    operator: Any
    """The operator of a `Separable` kernel; only this kind of kernel has one."""

    own_coordinates = False
    """Whether values refer to the components of the outputs, not to arbitrary coordinates."""

    componentwise = False
    """Whether values are diagonal in output coordinates; then `by_component` returns them."""

    depends_on_data: Any = True
    """Whether fitting on other pairs changes its values; custom kernels may declare False."""

    centred_outputs = True
    """Whether `fit` expects outputs minus their mean if the model has an intercept."""

    differentiable = False
    """Whether `component_gradient` has derivatives in the parameters of a componentwise kernel."""

    __array_ufunc__ = None

    def for_outputs(self, shape: tuple[int, ...]) -> OperatorKernel:
        """Return the kernel for outputs of this shape; itself if the shape does not matter."""
        if self.get_params(deep=False).get("output_shape", shape) is not None:
            return self
        return clone(self).set_params(output_shape=tuple(shape))

    @property
    def inputs(self) -> Kernel:
        """The scalar kernel that checks inputs; the fitted one after `fit`."""
        raise NotImplementedError(f"{type(self).__name__} must name its kernel on inputs")

    @property
    def depends_on_ridge(self) -> bool:
        """Whether the kernel is separable with an operator that is computed at each ridge."""
        return self.separable and self.separated().operator.depends_on_ridge

    def separated(self) -> Separable:
        """Return the kernel as a scalar kernel times an operator, if it is `separable`."""
        raise NotSupported(f"{type(self).__name__} is not a scalar kernel times an operator")

    def fit(self, X: Items, V: Array, weights: Array | None = None) -> OperatorKernel:
        """Determine parameters, such as a length scale, from inputs X and output coordinates V.

        `weights` are the sample weights; None for equal weights.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement fit(X, V)")

    def fit_centred(self, X: Items, V: Array, weights: Array | None = None) -> OperatorKernel:
        """Fit on outputs V minus their mean; operators of the data use centred inputs too."""
        return self.fit(X, V) if weights is None else self.fit(X, V, weights)

    def factor(self, problem: Any, want: Any, cache: Any) -> Any:
        """Return the factorisation of a `Problem` by a solver of the kernel's own; None for none.

        `mercer.solvers.factor` calls this method before it tries its own solvers. It is the place
        for kernels whose structure allows a faster solution. The problem has checked inputs,
        weights, an intercept and groups; `mercer.testing.check_solver` checks the factorisation,
        and docs/extending.md has an example.
        """
        return None

    def gram(self, A: Items, B: Items | None = None) -> BlockGram:
        """Return the block Gram matrix of batches A and B, with blocks K(a_i, b_j); B=None is A."""
        raise NotImplementedError(f"{type(self).__name__} must implement gram(A, B)")

    def pairings(self, A: Items, V: Array, B: Items, W: Array, L: Array) -> Array:
        """Return ⟨K(a_i, b_j) Φ(u_j), Φ(y_i)⟩, the joint kernel of pairs (a_i, y_i), (b_j, u_j).

        The outputs y and u are given by their coordinates V and W, and by all inner products L.
        """
        return self.gram(A, B).pairings(V, W)

    def by_component(self, A: Items, B: Items | None = None) -> ComponentGram:
        """Return the Gram matrix of each output component, if the kernel is `componentwise`."""
        raise NotSupported(f"{type(self).__name__} couples the components of outputs")

    @property
    def component_gradient(self) -> ParameterGradient:
        r"""Derivatives of the fitted kernel in its parameters, if it is `differentiable`.

        Its `vjp` is a function of inputs X, the number of a scalar kernel k and a matrix C, which
        returns :math:`\sum_{ij} C_{ij}\, \partial k(x_i, x_j) / \partial \theta`.
        """
        raise NotSupported(f"{type(self).__name__} has no derivatives in its parameters")

    def __add__(self, other: Any) -> OperatorKernel:
        from .separable import as_operator_kernel
        from .sums import OperatorSum

        refuse_class(other, (Kernel, OperatorKernel))
        if isinstance(other, Kernel | OperatorKernel):
            return OperatorSum(self, as_operator_kernel(other))
        return self if isinstance(other, Real) and other == 0 else NotImplemented

    def __radd__(self, other: Any) -> OperatorKernel:
        from .separable import as_operator_kernel
        from .sums import OperatorSum

        if isinstance(other, Kernel):
            return OperatorSum(as_operator_kernel(other), self)
        return self if isinstance(other, Real) and other == 0 else NotImplemented

    def scaled(self, factor: float) -> OperatorKernel:
        """Return the kernel multiplied by the number `factor`."""
        from .sums import ScaledKernel

        return ScaledKernel(self, factor)

    def __rmul__(self, factor: Any) -> OperatorKernel:
        return self.scaled(float(factor)) if isinstance(factor, Real) else NotImplemented

    def __mul__(self, factor: Any) -> OperatorKernel:
        return self.__rmul__(factor)
