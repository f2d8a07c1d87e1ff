"""Learn the continuous parameters of a kernel by gradient."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from sklearn.base import clone

from .._base.arrays import Array, Items
from ..kernels import RBF, Kernel
from ..operators import Identity, OperatorKernel, Separable
from ..problem import Problem
from .kernel_dependency import KernelDependency
from .learned_parameters import FEATURE_PENALTY, SEARCH_STEPS, ParameterSearch


def tune(
    model: KernelDependency,
    X: Items,
    y: Items,
    groups: Items | None = None,
    sample_weight: Array | None = None,
    *,
    criterion: str = "auto",
    penalty: float = FEATURE_PENALTY,
    restarts: int = 0,
    max_iter: int = SEARCH_STEPS,
    random_state: int | np.random.RandomState | None = 0,
) -> KernelDependency:
    r"""Learn the ridge and all continuous kernel parameters by gradient, and fit the model.

    L-BFGS on the logarithms of the parameters, by analytic gradients; a step costs about one
    factorisation, whatever their number.

    Parameters
    ----------
    model : KernelDependency
        The model to start from; it is not changed. Its kernel is a scalar kernel (with the identity
        as operator), or has a scalar kernel for each output component, such as `Local`.
        ``kernel=None`` is ``RBF("ard")``, a length scale for each feature.
    X, y, groups, sample_weight : array-like
        As in `KernelDependency.fit`, in memory.
    criterion : {"auto", "evidence", "loo"}, default="auto"
        "evidence", "loo" for the leave-one-out error (of groups if there are groups), or
        "auto": the evidence, unless there are groups or outputs have no finite features.
    penalty : float
        The weight, in nats, of a penalty on differences between the parameters of single features:
        :math:`\frac12 \text{penalty} \sum_p (\delta_p - \bar\delta)^2` is added, with
        :math:`\delta_p` the change of the logarithm of the p-th parameter. With 0, many parameters
        overfit few examples.
    restarts : int, default=0
        The number of further searches from random parameters; the best result is returned.
    max_iter : int
        The largest number of L-BFGS steps of each search.
    random_state : int, RandomState or None, default=0
        The seed of the restarts.

    Returns
    -------
    KernelDependency
        The model at the parameters found, fitted; its `learnt_` says what was found, and how.

    Notes
    -----
    Under the identity operator all columns of the outputs have equal weight, whatever their units.
    The evidence and left-out errors of the result are optimistic, as they chose it: score it on
    other data. To use another operator, or `features`, learn the parameters first, then choose the
    operator with `KernelDependencyCV`, or set `features`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency, tune
    >>> from mercer.kernels import RBF
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> model = tune(KernelDependency(RBF("ard")), X, np.sin(2 * X[:, :1]) + X[:, 1:2])
    >>> scales = model.kernel_.scalar.length_scale
    >>> bool(scales[:2].max() < scales[2:].min())         # the last two features are noise
    True
    """
    if not isinstance(model, KernelDependency):
        raise TypeError(
            "tune starts from a KernelDependency; KernelDependencyCV(search='gradient') learns "
            f"the parameters of each of its kernels; got {type(model).__name__}."
        )
    start = clone(model)
    if start.kernel is None:
        start.kernel = RBF("ard")
    problem, _ = start._first_problem(X, y, groups, sample_weight)
    search = ParameterSearch(problem, criterion, penalty)
    learnt = search.run(restarts, max_iter, random_state)
    found = start.set_params(kernel=learnt.kernel, alpha=learnt.alpha)
    found.fit(X, y, groups, sample_weight)
    found.learnt_ = learnt
    return found


def learnt_kernels(
    problems: Iterable[Problem], criterion: str, restarts: int
) -> list[OperatorKernel]:
    """Return the kernels of problems with learnt parameters; unchanged if they do not separate.

    The parameters of a scalar kernel are learnt once, with the identity instead of its operators.
    """
    kernels: list[OperatorKernel] = []
    scalars: dict[int, Kernel] = {}
    for problem in problems:
        if not problem.kernel.separable:
            kernels.append(problem.kernel)
            continue
        side = problem.inputs
        if id(side) not in scalars:
            plain = replace(problem, kernel=Separable(side.kernel, Identity()))
            scalars[id(side)] = ParameterSearch(plain, criterion).run(restarts).kernel.inputs
        kernels.append(Separable(scalars[id(side)], problem.kernel.operator))
    return kernels
