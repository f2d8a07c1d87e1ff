"""The base class of kernels, the linear kernel, and kernels given by name."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from functools import partial, wraps
from importlib import import_module
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, _clone_parametrized, clone

from .._base.arrays import Array, Items, count, dense, is_foreign, namespace, sqnorms, take
from .._base.errors import refuse_class
from .._base.linalg import INDEFINITE
from .._base.parameters import parameter_names
from .._base.statistics import repeat_by_weight
from ..spaces import Opaque, Records, Space, Vectors
from .capabilities import Features, ItemGradient, Multiple
from .gradients import ParameterGradient

CHECKED_ITEMS = 64
"""The number of items on which the symmetry of a kernel is checked."""
VECTORS = Vectors()
"""The space of the items of `VectorKernel`."""
NUMPY_NUMBER = re.compile(r"np\.(?:float|int)\d+\(([^()]*)\)")
"""The repr of a numpy scalar, such as ``np.float64(0.5)``."""


def _unless_frozen(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a `fit` method so that it leaves frozen kernels unchanged."""

    @wraps(fit)
    def fitted(self: Kernel, *args: Any, **keywords: Any) -> Any:
        """Return a frozen kernel itself, and any other kernel after the fit."""
        return self if self.frozen_ else fit(self, *args, **keywords)

    return fitted


class Kernel(BaseEstimator):
    """A positive semidefinite similarity k(a, b) on a set.

    Call it on one batch of items for the Gram matrix, on two for the matrix of all pairs, the new
    items first. Kernels add, multiply, scale and take integer powers, and stay kernels:
    ``0.5 * RBF(1.0) + Linear() ** 2``.

    A custom kernel implements `_gram` (and `_diag` where it is cheaper than the default), or
    `features`, of which k is then the inner product;
    `mercer.testing.check_kernel` checks it. Its optional abilities (`features`, `radial`,
    `fourier`, `item_gradient`) are properties that return an object of
    `mercer.kernels.capabilities`, or None.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Kernel
    >>> class SharedWords(Kernel):
    ...     def _gram(self, A, B):
    ...         words = lambda texts: [set(text.split()) for text in texts]
    ...         return np.array([[float(len(a & b)) for b in words(B)] for a in words(A)])
    >>> SharedWords()(["sunny sea", "rainy hill"], ["a sunny day at sea"])
    array([[2.],
           [0.]])
    """

    accepts_sparse = False
    """Whether inputs may be a scipy sparse matrix with one row for each item."""
    unit_norm = False
    """Whether every output that its natural decoder returns has k(y, y) = 1."""

    frozen_: bool | None = None  # None, because files may not set bool attributes
    """Whether further fits and clones leave the kernel unchanged."""
    _get_param_names: ClassVar[Any] = classmethod(parameter_names)
    __array_ufunc__ = None  # or numpy would spread `array * kernel` over the array's entries

    def __str__(self) -> str:
        """Return the repr with numpy's scalars written as Python numbers."""
        return NUMPY_NUMBER.sub(r"\1", repr(self))

    # -- what a custom kernel implements ------------------------------------------------------

    space: Space = Opaque()
    """The space of the items that the kernel compares."""
    on_vectors = property(
        lambda self: self.space.on_vectors, doc="Whether items are real vectors, or arrays."
    )
    pairwise = property(
        lambda self: self.space.pairwise, doc="Whether items are rows of kernel values."
    )

    @property
    def predicts_directly(self) -> bool:
        """Whether outputs are vectors and the inverse of the features decodes predictions."""
        return self.on_vectors and self.features is not None and self.features.inverse is not None

    def check(self, A: Items, name: str = "X") -> Items:
        """Check a batch of items and return it in the form that `_gram` and `_diag` take."""
        return self.space.check(A, name)

    def as_outputs(self, Y: Items, name: str = "y") -> Items:
        """Check a batch of outputs and return it in the form of the kernel's space."""
        self.check(Y, name)
        return self.space.check(Y, name)

    def every_output(self, y: Items) -> tuple[Items | None, bool]:
        """Return all possible outputs if they are few, and whether they are known without y.

        The outputs are None if there are many, or if y does not determine them.
        """
        return self.space.every(y), not any(self.space.parts(y))

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "fit" in vars(cls):
            cls.fit = _unless_frozen(cls.fit)  # type: ignore[method-assign]

    def __sklearn_clone__(self) -> Kernel:
        """Return an unfitted copy with the same parameters; a frozen kernel is returned itself."""
        return self if self.frozen_ else _clone_parametrized(self)

    def frozen(self) -> Kernel:
        """Return a copy of this fitted kernel that later fits and clones leave unchanged.

        All models that are given the copy use the same kernel, whatever data they are fitted on.
        """
        other = copy.copy(self)
        other.frozen_ = True
        return other

    def fit(self, A: Items) -> Kernel:
        """Determine parameters from the items, such as a length scale "median"; return self."""
        return self

    @property
    def depends_on_data(self) -> bool:
        """Whether fitting on other items changes the values of the kernel.

        Shapes and vocabularies do not count. A custom kernel with a `fit` method depends on data
        unless it declares ``depends_on_data = False``.
        """
        return type(self).fit is not Kernel.fit

    def _gram(self, A: Items, B: Items) -> Array:
        """Return the matrix of k over checked items A (rows) and B (columns).

        By default it is computed from the features.
        """
        features = self.features
        if features is None:
            raise NotImplementedError(f"{type(self).__name__} must implement _gram(A, B)")
        F = features(A)
        return F @ (F if A is B else features(B)).T

    def _diag(self, A: Items) -> Array:
        """Return k(a, a) for every checked item."""
        if type(self)._gram is Kernel._gram:
            F = self.features(A)
            return namespace(F).sum(F * F, axis=1)
        rows = [self._gram(take(A, [i]), take(A, [i])) for i in range(count(A))]
        if rows and (type(rows[0]) is not np.ndarray or rows[0].shape != (1, 1)):
            self.checked_gram(take(A, [0]))  # raises an error if it is not a matrix
        return namespace(*rows).concat([row[:, 0] for row in rows])

    # -- optional abilities: an object, or None -------------------------------------------------

    features: Any = None
    """Finite coordinates in which k is an inner product: `Features`, or None."""
    radial: Any = None
    """The decreasing function of ‖a - b‖², with its derivatives: `Radial`, or None."""
    fourier: Any = None
    """The spectral measure of a function of a - b: `Fourier`, or None."""
    item_gradient: Any = None
    """Derivatives with respect to the items: `ItemGradient`, or None."""

    @property
    def parameter_gradient(self) -> ParameterGradient:
        """Derivatives of k with respect to its continuous parameters; empty without parameters."""
        return ParameterGradient()

    def moves(self, y: Items) -> Any:
        """Return the moves of the training outputs y, for the decoder `Search`; None without."""
        return self.space.moves(y)

    @property
    def multiple(self) -> Multiple:
        """The kernel as a `Multiple`: a number times a kernel that decoders have a method for."""
        return Multiple(self)

    # -- public methods -----------------------------------------------------------------------

    def __call__(self, A: Items, B: Items | None = None) -> Array:
        """Return the matrix of k(a, b) for a in A and b in B; B=None means B=A."""
        A = self.check(A, "A")
        if B is None:
            return self._gram(A, A)
        B = self.check(B, "B")
        if self.on_vectors and A.shape[1] != B.shape[1]:
            raise ValueError(
                f"{type(self).__name__} compares vectors of one length: the first batch has "
                f"{A.shape[1]} features, the second {B.shape[1]}."
            )
        return self._gram(A, B)

    def checked_gram(self, A: Items) -> Array:
        """Return the Gram matrix of A after checking its type, shape and values."""
        A = self.check(A, "A")
        n = count(A)
        try:
            K = self._gram(A, A)
        except TypeError as error:
            refuse_lists(self, A, error)
            raise
        is_plain_array = isinstance(K, np.ndarray) and not isinstance(
            K, np.matrix | np.ma.MaskedArray
        )
        if not is_plain_array and not is_foreign(K):
            raise TypeError(
                f"{self} gave a {type(K).__name__}: its _gram(A, B) must return a plain array of "
                "numbers, with a row for each item of A and a column for each of B."
            )
        if tuple(K.shape) != (n, n):
            raise ValueError(f"{self} gave a Gram matrix of shape {tuple(K.shape)} for {n} items.")
        K = self.finite_values(K)
        few = slice(0, min(n, CHECKED_ITEMS))
        some = K[few, few]
        difference, largest = (float(namespace(K).max(abs(D))) for D in (some - some.T, some))
        if difference > INDEFINITE * largest:
            raise ValueError(
                f"{self} is not symmetric: k(a, b) and k(b, a) differ by up to {difference:.3g}. "
                "A kernel has equal ones, such as (k(a, b) + k(b, a)) / 2."
            )
        return K

    def finite_values(self, K: Array) -> Array:
        """Return the kernel values K as floats; raise an error unless all are finite.

        NumPy arrays become double precision: in single precision a kernel would seem indefinite.
        """
        xp = namespace(K)
        K = xp.asarray(K)
        is_float = K.dtype == "float64" or (is_foreign(K) and xp.isdtype(K.dtype, "real floating"))
        K = K if is_float else xp.astype(K, xp.float64)
        if not bool(xp.all(xp.isfinite(K))):
            raise ValueError(
                f"{self} gave NaN or infinite values: the items are too large or too small for "
                "it, or it is not a kernel on them. Rescale them, or choose another kernel."
            )
        return K

    def diag(self, A: Items) -> Array:
        """Return k(a, a) for every item of A."""
        return self._diag(self.check(A, "A"))

    # -- algebra ------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Kernel:
        from .algebra import Sum

        refuse_class(other, Kernel)
        if isinstance(other, Kernel):
            return Sum(self, other)
        return self if _is_zero(other) else NotImplemented

    def __radd__(self, other: Any) -> Kernel:
        refuse_class(other, Kernel)
        return self if _is_zero(other) else NotImplemented  # sum([...]) starts at 0

    def __mul__(self, other: Any) -> Kernel:
        from .algebra import Product
        from .multiples import Scaled

        refuse_class(other, BaseEstimator)
        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(self, float(other)) if isinstance(other, Real) else NotImplemented

    def __rmul__(self, other: Any) -> Kernel:
        refuse_class(other, Kernel)
        return self * other if isinstance(other, Real) else NotImplemented

    def __pow__(self, exponent: int) -> Kernel:
        from .multiples import Power

        return Power(self, exponent)


def refuse_lists(kernel: Kernel, A: Items, error: TypeError) -> None:
    """Raise an error that explains why a kernel failed with `error`, if its items are lists."""
    if count(A) and isinstance(A[0], list | tuple):
        raise TypeError(
            f"{kernel} failed on items that are lists ({error}): a custom kernel gets items "
            "unchanged, because a list may be a sequence. For vectors pass an array, or derive the "
            "kernel from mercer.kernels.VectorKernel, which makes arrays of lists."
        ) from error


def _is_zero(value: Any) -> bool:
    """Return whether a value is the number zero."""
    return isinstance(value, Real) and value == 0


class VectorKernel(Kernel):
    """Base class of kernels on real vectors; images and other arrays are flattened.

    Examples
    --------
    >>> from mercer.kernels import VectorKernel
    >>> class Squared(VectorKernel):
    ...     def _gram(self, A, B):
    ...         return (A @ B.T) ** 2
    >>> Squared()([[1.0, 2.0]], [[3.0, 0.0], [0.0, 1.0]])
    array([[9., 4.]])
    """

    space: Space = VECTORS

    def check(self, A: Items, name: str = "X") -> Array:
        """Check that items are finite real vectors; return them as float64 rows."""
        return VECTORS.check(A, name, type(self).__name__, True, self.accepts_sparse)

    def as_outputs(self, Y: Items, name: str = "y") -> Array:
        """Check outputs and return them in their shape; numbers become vectors of length one."""
        return self.space.check(Y, name)


class Linear(VectorKernel):
    r"""Linear kernel, :math:`k(a, b) = \langle a, b \rangle`.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    accepts_sparse = True

    def _gram(self, A: Array, B: Array) -> Array:
        """Return the inner products ⟨a, b⟩ of all rows of A and B."""
        return dense(A @ B.T)

    def _diag(self, A: Array) -> Array:
        """Return the squared Euclidean norm of each row of A."""
        return sqnorms(A)

    features = Features(
        partial(VECTORS.check, name="A", owner="Linear", rows=True, fill=True),
        lambda A: csr_array(VECTORS.check(A, "A", "Linear", rows=True, accept_sparse=True)),
        lambda F: F,
    )
    """The vectors themselves."""
    item_gradient = ItemGradient(lambda A, B, C: C @ B, lambda A, c: 2.0 * c[:, None] * A)
    """The gradients of Σ_ij C_ij ⟨a_i, b_j⟩ and of Σ_i c_i ⟨a_i, a_i⟩ with respect to the a_i."""


KERNELS = {
    "delta": "Delta", "kendall": "Kendall", "laplacian": "Laplacian", "linear": "Linear",
    "matern": "Matern", "poly": "Polynomial", "polynomial": "Polynomial",
    "precomputed": "Precomputed", "rational_quadratic": "RationalQuadratic", "rbf": "RBF",
    "spearman": "Spearman", "tanimoto": "Tanimoto",
}  # fmt: skip
"""Kernels that can be given by name, as in ``kernel="rbf"``."""


def as_kernel(kernel: Kernel | str | Callable[..., Any]) -> Kernel:
    """Return a kernel, given a kernel, a name such as "rbf", or a function of two batches.

    Parameters
    ----------
    kernel : Kernel, str or callable
        A kernel, which is returned itself; a name in `KERNELS`; or ``function(A, B)``, which
        returns the matrix of k(a, b).

    Examples
    --------
    >>> from mercer.kernels import as_kernel
    >>> as_kernel("rbf")
    RBF()
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        if kernel not in KERNELS:
            raise ValueError(f"unknown kernel {kernel!r}: the names are {sorted(KERNELS)}.")
        return getattr(import_module(__package__), KERNELS[kernel])()
    if callable(kernel) and not isinstance(kernel, type):
        from .function import Function

        return Function(kernel)
    raise TypeError(
        f"a kernel must be a Kernel (such as mercer.kernels.RBF(1.0)), its name, or a function of "
        f"two batches that returns their matrix; got {kernel!r}."
    )


def fit_weighted(kernel: Kernel, items: Items, weights: Array | None) -> Any:
    """Return a clone of a kernel, fitted on items that are repeated by their sample weights."""
    if weights is None or kernel.pairwise:
        return clone(kernel).fit(items)
    return clone(kernel).fit(take(items, repeat_by_weight(weights)))


def as_output_kernel(kernel: Kernel | str | Callable[..., Any] | None) -> Kernel:
    """Return the output kernel, given a kernel, its name, a function or None (`Linear`).

    In a sum of kernels on the fields of records, each term is scaled to unit variance. The name
    "precomputed" is refused.

    Parameters
    ----------
    kernel : Kernel, str, callable or None
        The kernel as the user gave it.

    Examples
    --------
    >>> from mercer.kernels import as_output_kernel
    >>> as_output_kernel(None), as_output_kernel("rbf")
    (Linear(), RBF())
    """
    kernel = Linear() if kernel is None else as_kernel(kernel)
    if isinstance(kernel.space, Records):
        from .records import scale_terms_to_unit_variance

        kernel = scale_terms_to_unit_variance(kernel)
    if kernel.space.pairwise:
        raise ValueError(
            'output_kernel="precomputed" is not possible: scikit-learn slices only X by pairs. '
            "Use output_kernel=Precomputed(gram), with y the indices 0, 1, … of its rows."
        )
    return kernel


def as_float(A: Any) -> Array:
    """Return a matrix of kernel values as floating-point numbers."""
    xp = namespace(A)
    A = xp.asarray(A)
    return A if xp.isdtype(A.dtype, "real floating") else xp.astype(A, xp.float64)
