"""Kernels on transformed items: by a function, a transformer, or a column of a table."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from .._base.arrays import Array, Items, count, object_array
from .._base.checks import Limits, must
from .._base.reducible import Reducible
from ..spaces import Opaque, Records, Space
from .base import Kernel
from .capabilities import Features
from .gradients import ParameterGradient
from .networks import Network, is_module
from .wrapper import Wrapper


class OnTransformed(Wrapper):
    """Base class of kernels on transformed items; checks apply before the transformation."""

    def _apply(self, A: Items) -> Items:
        """Return the transformed items, given checked ones."""
        raise NotImplementedError

    def _inverse(self) -> Callable[[Items], Items] | None:
        """Return the inverse of the transformation as a function; None if it cannot be inverted."""
        return None

    def _message_name(self) -> str:
        """Return what error messages call the transformed items."""
        return f"what {type(self).__name__} made of the items"

    accepts_sparse = False
    check, as_outputs = Kernel.check, Kernel.as_outputs  # checks apply before the transformation

    def fit(self, A: Items) -> Kernel:
        """Fit the inner kernel on transformed items."""
        return super().fit(self._apply(self.check(A, "A")))

    def _transform_and_check(self, A: Items) -> Items:
        """Return the transformed items after a check by the inner kernel."""
        transformed = self._apply(A)
        if count(transformed) != count(A):
            raise ValueError(
                f"the function of {type(self).__name__} made {count(transformed)} items of "
                f"{count(A)}: it gets a batch and must return as many."
            )
        return self.inner.check(transformed, self._message_name())

    def _gram(self, A: Items, B: Items) -> Array:
        """Return the matrix of the inner kernel on transformed items."""
        left = self._transform_and_check(A)
        return self.inner._gram(left, left if A is B else self._transform_and_check(B))

    def _diag(self, A: Items) -> Array:
        """Return the diagonal of the inner kernel on transformed items."""
        return self.inner._diag(self._transform_and_check(A))

    @property
    def parameter_gradient(self) -> ParameterGradient:
        """Derivatives with respect to the parameters of the inner kernel."""
        return self.inner.parameter_gradient.prefixed("kernel").before(self._transform_and_check)

    @property
    def features(self) -> Features | None:
        """Inner features of transformed items; invertible if transformation and features are."""
        inner = self.inner.features
        return inner and inner.before(
            lambda A: self._transform_and_check(self.check(A, "A")), self._inverse()
        )


class Mapped(OnTransformed, Reducible):
    """Kernel k(f(a), f(b)) on transformed items; f is a function, transformer or network.

    Parameters
    ----------
    function : callable or transformer
        A function of a batch of items that returns as many items; or a transformer, which is fitted
        with the kernel if it is not fitted yet; or a network, any PyTorch module, which
        `mercer.train_network` trains. Models save transformers whose state is arrays (scalers, PCA
        and the like) and the arrays of networks, but no functions.
    kernel : Kernel
        The kernel on what the function returns.
    space : Space or None, default=None
        The space of the items before the function; None if it is unknown.
    inverse : callable, bool or None, default=None
        The inverse of the function, for outputs under a kernel whose features have an inverse; True
        for the ``inverse_transform`` of the transformer.

    Examples
    --------
    >>> from mercer.kernels import Linear, Mapped
    >>> from mercer.spaces import Vectors
    >>> Mapped(lambda A: A**2, Linear(), Vectors())([[1.0, 2.0]], [[3.0, 0.5]])
    array([[10.]])
    >>> from sklearn.preprocessing import StandardScaler
    >>> Mapped(StandardScaler(), Linear(), Vectors()).fit([[0.0], [2.0]])([[4.0]])
    array([[9.]])
    """

    def __init__(
        self,
        function: Callable[..., Any] | BaseEstimator,
        kernel: Kernel,
        space: Space | None = None,
        inverse: Callable[[Items], Items] | bool | None = None,
    ):
        self.function = function
        self.kernel = kernel
        self.space = space
        self.inverse = inverse

    def __sklearn_clone__(self) -> Mapped:
        """Return an unfitted copy that shares the function; a frozen kernel is returned itself."""
        if self.frozen_:
            return self
        parameters = self.get_params(deep=False)
        return type(self)(**{**parameters, "kernel": clone(self.kernel, safe=False)})

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` unless the space is one."""
        must(isinstance(self.space, Space), "the space of its items is not a space")

    @property
    def space(self) -> Space:
        """The space of the items before the function is applied."""
        return self.__dict__.get("space") or Opaque()

    @space.setter
    def space(self, space: Space | None) -> None:
        """Store the space unchanged; None stands for `Opaque`."""
        self.__dict__["space"] = space

    @property
    def depends_on_data(self) -> bool:
        """Whether the transformer is not fitted yet, or the inner kernel depends on data."""
        return _is_unfitted(self.function) or self._unfitted_inner().depends_on_data

    def fit(self, A: Items) -> Kernel:
        """Fit the transformer if it is not fitted, and the inner kernel on transformed items."""
        if _is_unfitted(self.function):
            self.function_ = _without_side_effects(clone(self.function)).fit(self.check(A, "A"))
        return super().fit(A)

    @property
    def _function(self) -> Any:
        """The function that is applied to a batch: the fitted transformer, or a PyTorch network."""
        function = vars(self).get("function_", self.function)
        if not is_module(function):
            return _without_side_effects(function)
        if "network_" not in self.__dict__:
            self.network_ = Network(function)
        return self.network_

    def _apply(self, A: Items) -> Items:
        """Apply the function or transformer to a batch."""
        function = self._function
        return function.transform(A) if hasattr(function, "transform") else function(A)

    def _inverse(self) -> Callable[[Items], Items] | None:
        """Return the given inverse of the function or the transformer's; None if there is none."""
        if self.inverse is True:
            return self._function.inverse_transform
        return self.inverse or None

    def without_training_data(self) -> Mapped:
        """Return a copy without the network's evaluator, which is made again on use."""
        reduced = super().without_training_data()
        reduced.__dict__.pop("network_", None)
        return reduced


def _without_side_effects(function: Any) -> Any:
    """Return a transformer with copy=True, which leaves its inputs unchanged."""
    if not isinstance(function, BaseEstimator) or function.get_params().get("copy", True):
        return function
    changed = copy.copy(function)
    return changed.set_params(copy=True)


def _is_unfitted(function: Any) -> bool:
    """Return whether an object is a scikit-learn estimator that is not fitted."""
    if not isinstance(function, BaseEstimator):
        return False
    try:
        check_is_fitted(function)
    except NotFittedError:
        return True
    return False


class On(OnTransformed):
    """A kernel on one column of a table; sums and products of such kernels compare rows.

    Tables are DataFrames of pandas or polars, tables of pyarrow, dictionaries of columns,
    structured arrays, or lists of dictionaries.

    Parameters
    ----------
    column : Hashable
        The name of the column.
    kernel : Kernel
        The kernel on its values; a column of numbers counts as vectors of length one, for
        `Mapped` too.

    Examples
    --------
    >>> from mercer.kernels import RBF, On, Words
    >>> kernel = On("title", Words()) + On("price", RBF(1.0))
    >>> table = {"title": ["the sea", "the sun"], "price": [1.0, 2.0]}
    >>> kernel.fit(table)(table).round(4)
    array([[3.    , 1.6065],
           [1.6065, 3.    ]])
    """

    def __init__(self, column: Hashable, kernel: Kernel):
        self.column = column
        self.kernel = kernel

    def __str__(self) -> str:
        return f"On({self.column!r}, {self.kernel})"

    space = property(lambda self: Records({self.column: self.inner.space}))

    def _message_name(self) -> str:
        """Return what error messages call the items: the column and its name."""
        return f"column {self.column!r}"

    def _apply(self, A: Items) -> Items:
        """Return the values of the column, one per row; numbers become vectors of length one."""
        values, inner = [row[self.column] for row in A], self.inner
        vectors = inner.on_vectors or isinstance(inner.multiple.kernel, Mapped)
        if vectors and all(isinstance(value, Real) for value in values):
            return np.array(values, dtype=float)[:, None]
        return values if inner.on_vectors else object_array(values)
