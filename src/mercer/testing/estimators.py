"""Checks of estimators, in memory and on streams."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

from .._base.arrays import Items, as_items, count, dense, host, is_foreign, take
from ..persistence.reader import Reader
from ..persistence.writer import Writer
from ..spaces._equality import equal
from .claims import claim, items_at


def check_structured_estimator(model: Any, X: Items, y: Items) -> None:
    """Check that an estimator predicts the same after refits, copies and in batches.

    X and y of different lengths must raise an error.

    Parameters
    ----------
    model : estimator
        The estimator; it is cloned here.
    X, y : array or sequence of items
        At least six pairs of its kinds of input and output.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.testing import check_structured_estimator
    >>> X = np.random.default_rng(0).normal(size=(20, 2))
    >>> check_structured_estimator(KernelDependency(), X, X)
    """
    model = clone(model).fit(X, y)
    n = count(y)
    predicted = model.predict(X)
    claim(count(predicted) == n, "predict gives another number of outputs than inputs")
    last = list(range(n))[::-1][:3]
    again = model.predict(items_at(X, last))
    claim(same_outputs(again, take(as_items(predicted), last)), "predictions depend on the batch")
    for copied in (
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        *_saved_and_loaded(model, X, y),
    ):
        claim(same_outputs(copied.predict(X), predicted), "a copy predicts otherwise")
    claim(same_outputs(clone(model).fit(X, y).predict(X), predicted), "a refit predicts otherwise")
    _check_raises(lambda: model.fit(X, items_at(y, list(range(n - 1)))), "y one shorter than X")
    claim(same_outputs(model.predict(X), predicted), "a failed refit changed the model")
    score = model.score(X, y)
    claim(np.isfinite(score) and score <= 1, f"score is {score}")


def check_stream_learner(model: Any, X: Items, y: Items) -> None:
    """Check that a streaming model does not depend on the blocks, and survives a bad block.

    Parameters
    ----------
    model : estimator
        The estimator, with feature maps that do not need all pairs; it is cloned here.
    X, y : array or sequence of items
        At least six pairs of its kinds of input and output.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.features import IncompleteCholesky
    >>> from mercer.kernels import RBF
    >>> from mercer.testing import check_stream_learner
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = KernelDependency(RBF(1.0), features=IncompleteCholesky(10))
    >>> check_stream_learner(model, X, X)
    """
    n = count(y)

    def blocks(*edges: int) -> list:
        """Return the pairs in blocks that end at the given positions."""
        cuts = [range(a, b) for a, b in pairwise([0, *edges, n])]
        return [(items_at(X, list(cut)), items_at(y, list(cut))) for cut in cuts]

    whole = clone(model).fit(blocks())
    predicted = whole.predict(X)
    claim(count(predicted) == n, "predict gives another number of outputs than inputs")
    for cut in ((1,), (n // 2,), (2, n // 2, n - 1)):
        again = clone(model).fit(blocks(*cut)).predict(X)
        claim(same_outputs(again, predicted), f"cut at {cut}, the stream gives another model")
    generated = clone(model).fit(block for block in blocks(n // 2))
    claim(same_outputs(generated.predict(X), predicted), "a generator gives another model")
    short = (X, items_at(y, list(range(n - 1))))
    _check_raises(lambda: whole.fit([*blocks(), short]), "a block with y one shorter than X")
    claim(same_outputs(whole.predict(X), predicted), "a refused block changed the model")
    for copied in (pickle.loads(pickle.dumps(whole)), copy.deepcopy(whole)):
        claim(same_outputs(copied.predict(X), predicted), "a copy predicts otherwise")


def _saved_and_loaded(model: Any, *data: Items) -> list:
    """Return the model after saving and loading, in a list; empty if it cannot be saved.

    `data` are the inputs and outputs that it was fitted to.
    """
    writer = Writer()
    if any(is_foreign(items) for items in data):
        return []  # files hold numpy arrays
    try:
        tree = json.dumps(writer.write(model, "model"), allow_nan=False)
    except TypeError:
        return []
    return [Reader(writer.arrays.__getitem__).read(json.loads(tree))]


def same_outputs(a: Items, b: Items) -> bool:
    """Return whether two batches of outputs are equal, numbers up to rounding.

    Examples
    --------
    >>> from mercer.testing import same_outputs
    >>> same_outputs([["sea"], ["sun"]], [["sea"], ["sun"]]), same_outputs([1.0], [1.1])
    (True, False)
    """
    a, b = (host(dense(batch)) if hasattr(batch, "shape") else batch for batch in (a, b))
    return all(_same_output(x, y) for x, y in zip(a, b, strict=True))


def _same_output(x: Any, y: Any) -> bool:
    """Return whether two predicted outputs are equal up to rounding."""
    if isinstance(x, Mapping):
        return x.keys() == y.keys() and all(_same_output(x[name], y[name]) for name in x)
    if isinstance(x, np.ndarray | float) and np.asarray(x).dtype.kind == "f":
        return np.allclose(x, y, rtol=1e-6, atol=1e-8)
    return equal(x, y)


def _check_raises(call: Any, what: str) -> None:
    """Raise an AssertionError unless a call raises a ValueError or a TypeError."""
    try:
        call()
    except (ValueError, TypeError):
        return
    raise AssertionError(f"accepted {what}")
