from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from .._base.arrays import Array, Items, copy_data
from .._base.errors import warn
from .._base.parameters import parameters
from ..decoders import Decoder
from ..decoders.natural import fitted_decoder
from ..features import FeatureMap
from ..kernels import Kernel
from ..kernels.base import as_output_kernel
from ..operators import OperatorKernel, as_operator_kernel
from ..problem import Problem, Want, positive_alpha
from ..solvers import BlockConjugateGradient, factor
from ..sources import Stream
from .base import on_fresh_state
from .choices import Choices
from .gathered import Gathered, why_not_streamable
from .ridge import RidgeEstimator


def _can_add_blocks(model: KernelDependency) -> bool:
    """Return True if `partial_fit` is possible; else raise an AttributeError that says why not."""
    kernel = model._scalar_kernels()[0]
    if model.features is None and kernel.features is None:
        raise AttributeError(why_not_streamable("features", kernel))
    return True


@parameters
class KernelDependency(RidgeEstimator):
    r"""Kernel dependency estimation with an operator-valued kernel, exact and in closed form.

    Minimises :math:`\sum_i \lVert g(x_i) - \Phi(y_i) \rVert^2 + \alpha \lVert g \rVert^2` over
    functions :math:`g` from inputs to the feature space of the output kernel, and decodes
    :math:`g(x)` into an output.

    Parameters
    ----------
    kernel : OperatorKernel or Kernel, default=None
        The operator-valued kernel, such as ``RBF(6.0) * Covariance()``. A scalar kernel means the
        identity operator; None is ``RBF("median")``.
    output_kernel : Kernel, default=None
        The kernel l on outputs; None is `Linear`.
    alpha : float, default=1.0
        The ridge, the paper's :math:`\lambda`; there is no hidden factor n.
    decoder : Decoder, default=None
        The pre-image; None is the default of the output kernel (`mercer.decoders.natural`).
    features, output_features : FeatureMap, default=None
        Coordinates of the inputs and outputs, such as ``IncompleteCholesky(rank=500)`` for a fit
        at low rank or ``KernelPCA(3)`` for Weston's method; None is exact.
    fit_intercept : bool, default=True
        Whether a constant is added to g that the ridge does not shrink. False gives the paper's
        equations and scikit-learn's `KernelRidge`.
    solver : str or BlockConjugateGradient, default="auto"
        For a scalar kernel times an operator "cg" (conjugate gradients), "cholesky" (identity
        operator only) or "spectral"; for other kernels "dense", "cg" or a
        `mercer.solvers.BlockConjugateGradient`. "auto" takes conjugate gradients where they are
        faster, and a factorisation if they do not converge soon.

    Attributes
    ----------
    kernel_, output_kernel_, decoder_
        The fitted kernels and decoder.
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

    kernel: OperatorKernel | Kernel | str | None = None
    output_kernel: Kernel | str | None = None
    alpha: float = 1.0
    decoder: Decoder | None = None
    features: FeatureMap | None = None
    output_features: FeatureMap | None = None
    fit_intercept: bool = True
    solver: str | BlockConjugateGradient = "auto"

    @on_fresh_state
    def fit(
        self,
        X: Items,
        y: Items = None,
        groups: Items | None = None,
        sample_weight: Array | None = None,
    ) -> KernelDependency:
        """Fit the model to pairs (X, y).

        Parameters
        ----------
        X
            Inputs: an array, or a sequence of whatever the input kernel compares. Or pairs that
            come in blocks: an iterable of (X, y) or (X, y, weights), the path of files, a
            `mercer.sources.Stream`, Dask's arrays, bags and delayed blocks.
        y
            As many outputs, in the same form; None if they are in `X`.
        groups
            A label for each pair; left-out predictions leave pairs of one label (a subject, a
            speaker) out together.
        sample_weight
            The weight of each pair in the fit; zero leaves a pair out. For pairs given in blocks:
            one array for all pairs, or the weights inside each block.
        """
        plain = type(X) is np.ndarray
        source = None if plain else self._as_source(X, y, groups, sample_weight)
        if source is not None:
            self._fit_stream(self._choices(), source)
            return self
        problem, want = self._first_problem(X, y, groups, sample_weight)
        outputs = problem.outputs
        decoder = fitted_decoder(self.decoder, outputs.kernel, outputs.items, problem.weights)
        want = replace(want, left_out=True) if decoder.calibrates else want
        self._store(factor(problem, want), decoder, want.alphas[0], want)
        return self

    def _first_problem(
        self, X: Items, y: Items, groups: Items | None = None, weights: Any = None
    ) -> tuple[Problem, Want]:
        """Return the ridge problem, and what the solver has to compute."""
        kernel, output_kernel = (
            as_operator_kernel(self.kernel),
            as_output_kernel(self.output_kernel),
        )
        pairs = self._checked_pairs([kernel.inputs], output_kernel, X, y, groups, weights)
        outputs = pairs.fit_side(output_kernel, pairs.y, self.output_features)
        problem = self._problem(kernel, outputs, pairs)
        return problem, self._want()

    def _want(self) -> Want:
        """Return what the solver has to compute."""
        return Want([positive_alpha(self.alpha)], self._needs_left_out, solver=self.solver)

    def _choices(self) -> Choices:
        """Return the parameters of the model as lists of one entry, for streams."""
        kernel, output_kernel = (
            as_operator_kernel(self.kernel),
            as_output_kernel(self.output_kernel),
        )
        return Choices([kernel], [output_kernel], [self.decoder], self._want())

    # -- streams ------------------------------------------------------------------------------

    @available_if(_can_add_blocks)
    def partial_fit(
        self, X: Items, y: Items, sample_weight: Array | None = None
    ) -> KernelDependency:
        """Update the model with one more block of pairs.

        The first block determines length scales and landmarks, or the sample of the stream if the
        model was fitted to one; make sure that they are representative. Every call leaves a model
        that can predict. For a long stream `fit` is cheaper, because it solves once. A fit to pairs
        in memory is forgotten, with a warning.

        Parameters
        ----------
        X, y
            Pairs, as in `fit`. A block that is refused changes nothing.
        sample_weight
            How much each of them counts.
        """
        X, y, sample_weight = map(copy_data, (X, y, sample_weight))
        block = (X, y) if sample_weight is None else (X, y, sample_weight)
        choices = self._choices()
        self._refuse_in_streams(choices, None)
        if self.stream_ is not None:
            self.stream_.require_same_parameters(self, choices)
            gathered = self.stream_.plus(block)
        else:
            if "points_" in vars(self):
                warn(
                    "the model was fitted to pairs in memory, which partial_fit forgets: fit all "
                    "pairs again, or fit a stream, such as fit([(X, y)]), which it continues."
                )
            gathered = Gathered.of(Stream([block]), self, choices)
        fresh = copy.copy(self)
        fresh._fit_moments(gathered, choices)
        self.__dict__ = fresh.__dict__
        return self
