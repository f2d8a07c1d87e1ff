"""Learn a metric of the inputs, and choose kernel, length scale and ridge."""

from __future__ import annotations

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone

from .._base.arrays import Array, Items
from .._base.errors import NotSupported
from ..operators import Separable
from ..problem import Problem
from .kernel_dependency import KernelDependency
from .metric_learning import ChoiceSizes, LearntMetric, choose

FEWEST_METRIC_PAIRS = 20
"""The smallest number of pairs that a metric is learnt on."""


def learn_metric(
    model: KernelDependency,
    X: Items,
    y: Items,
    groups: Items | None = None,
    sample_weight: Array | None = None,
) -> KernelDependency:
    r"""Learn a metric of the inputs, choose kernel and ridge, and fit the model with them.

    Directions of the inputs along which the prediction changes more count more. The choices are
    made on held-out pairs.

    Parameters
    ----------
    model : KernelDependency
        The model; it is not changed. Its scalar kernel and ridge are replaced, its operator and all
        other parameters are kept.
    X, y, groups, sample_weight : array-like
        As in `KernelDependency.fit`, in memory. X has dense vectors, curves, images or fields. The
        output kernel must have finite features, or `output_features` must be given.

    Returns
    -------
    KernelDependency
        The model with its kernel in the learnt metric, fitted to all pairs. `learnt_` says what was
        chosen, with the error on held-out pairs before and after.

    Notes
    -----
    The kernels are functions of Mahalanobis distances, :math:`k(\lVert R(a - b) \rVert)` with
    :math:`R^\top R \propto M^p`. :math:`M = \frac1n \sum_i J_i^\top J_i` is the mean outer product
    of the gradients :math:`J_i` of the predictor at the training inputs, and p is 1/2 or 1. M is
    computed from a fit with the metric before, up to four times; the number of rounds and p are
    chosen on held-out pairs. The given metric is kept, and a linear kernel is preferred, unless the
    logarithms of the errors become smaller by more than two standard errors. The metric
    is learnt on at most 1,500 pairs, and kernels are compared on at most 2,000 training and 1,000
    held-out pairs, in whole groups (on a GPU 5,000, 20,000 and 1,000). Then the metric is learnt
    anew, also on the pairs that were held out.

    Left-out predictions of the result have a fixed metric, and are optimistic: score it on other
    data. Weights are relative to the identity operator.

    References
    ----------
    Radhakrishnan, Beaglehole, Pandit, Belkin: Mechanism for feature learning in neural networks and
    backpropagation-free machine learning models (Science, 2024).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency, learn_metric
    >>> X = np.random.default_rng(0).normal(size=(150, 6))
    >>> model = learn_metric(KernelDependency(), X, np.sin(2 * X[:, :1] + X[:, 1:2]))
    >>> model.learnt_.risk < 0.2 * model.learnt_.risk_before
    True
    """
    if not isinstance(model, KernelDependency):
        raise TypeError(
            f"learn_metric starts from a KernelDependency, got {type(model).__name__}. "
            "KernelDependencyCV() learns metrics of curves and fields by itself."
        )
    problem, _ = clone(model)._first_problem(X, y, groups, sample_weight)
    found = choose_for(problem)
    kernel = Separable(found.kernel, problem.kernel.operator)
    fitted = clone(model).set_params(kernel=kernel, alpha=found.alpha)
    fitted.fit(X, y, groups, sample_weight=sample_weight)
    fitted.learnt_ = found
    return fitted


def choose_for(problem: Problem) -> LearntMetric:
    """Choose kernel, metric and ridge for a problem whose inputs are dense vectors."""
    if not problem.kernel.separable or not problem.inputs.kernel.on_vectors:
        raise NotSupported(
            f"learn_metric is for a scalar kernel of vectors times an operator, got "
            f"{problem.kernel}."
        )
    if issparse(problem.inputs.items):
        raise NotSupported("learn_metric needs dense inputs: pass X.toarray() if it fits.")
    if problem.n < FEWEST_METRIC_PAIRS:
        raise ValueError(
            f"learn_metric needs at least {FEWEST_METRIC_PAIRS} pairs, got {problem.n}."
        )
    return choose(
        problem.inputs.items,
        output_coordinates(problem),
        np.asarray(problem.left_out_labels),
        problem.weights,
        ChoiceSizes.of(problem.inputs.items),
    )


def output_coordinates(problem: Problem) -> Array:
    """Return the outputs in coordinates of their feature space; raise NotSupported without any."""
    side = problem.outputs
    if side.features is not None:
        return side.coordinates[1]
    if side.kernel.features is None:
        raise NotSupported(
            f"{side.kernel} has no finite features, which gradients need: pass "
            "output_features=KernelPCA(rank=100), or learn with another output kernel."
        )
    return side.kernel.features(side.items)
