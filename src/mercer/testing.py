"""Contracts: what a kernel, operator, feature map, decoder or estimator promises, as checks.

mercer's own tests run them over lists of everything it exports; run them on a part of your own:

>>> from mercer.kernels import RBF
>>> from mercer.testing import check_kernel
>>> check_kernel(RBF(1.0), [[0.0], [0.5], [2.0]])

Each raises an `AssertionError` that says which promise was broken.
"""

from __future__ import annotations

import copy
import json
import pickle
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

from ._base.arrays import Array, Items, as_items, count, dense, host, is_foreign, take
from ._base.symmetric import SymMatrix
from ._capability_checks import IDENTITY, ROOT, check_capabilities
from ._capability_checks import claim as _claim
from ._capability_checks import close as _close
from ._capability_checks import near as _near
from .decoders import Decoder
from .embedding import Embedding, SpanFrame
from .features import FeatureMap
from .kernels import Kernel
from .losses import Loss
from .operators import Moments, Operator, OperatorKernel
from .operators.separable import SpectralMoments
from .persistence.reader import Reader
from .persistence.writer import Writer
from .spaces._equality import equal


def check_kernel(kernel: Kernel, items: Items) -> None:
    """Symmetric, positive semidefinite, consistent in its diagonal, blocks, features, copies.

    Parameters
    ----------
    kernel
        The kernel, fitted or not; it is cloned and fitted here.
    items
        At least three items of its set, best with some that differ much and two that are equal.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> from mercer.testing import check_kernel
    >>> check_kernel(RBF(1.0), np.linspace(0, 1, 8)[:, None])
    """
    kernel = clone(kernel).fit(items)
    n = count(items)
    K = host(kernel(items))
    scale = max(1.0, float(np.abs(K).max()))
    error = IDENTITY * scale
    _claim(K.shape == (n, n), f"k(A) has shape {K.shape}, not {(n, n)}")
    _claim(np.isfinite(K).all(), "k(A) has values that are not finite")
    _close(K, K.T, error, "k(A) is not symmetric")
    _close(host(kernel.diag(items)), K.diagonal(), error, "diag(A) is not k(A)'s diagonal")
    least = float(np.linalg.eigvalsh(K)[0])
    _claim(least > -1e-9 * n * scale, f"k is not positive semidefinite: eigenvalue {least:.3g}")
    head, tail = _some(items, [0, 1]), _some(items, list(range(1, n)))
    _close(host(kernel(head, tail)), K[:2, 1:], error, "k(A, B) is not a block of k(A)")
    _close(host(kernel(tail, head)), K[1:, :2], error, "k(B, A) is not k(A, B) transposed")
    _check_copies(kernel, items, K)
    check_capabilities(kernel, items, K)


def check_operator(operator: Operator, moments: Moments | None = None) -> None:
    """Symmetric and positive semidefinite, of the right size, the same from equal moments.

    Parameters
    ----------
    operator
        The operator.
    moments
        Of what data; None for moments of made-up data with three output coordinates.

    Examples
    --------
    >>> from mercer.operators import Covariance
    >>> from mercer.testing import check_operator
    >>> check_operator(Covariance())
    """
    if moments is None:
        rng = np.random.default_rng(0)
        moments = Moments.of(rng.normal(size=(20, 4)), rng.normal(size=(20, 3)))
    operator = operator.learn(moments, 1.0)
    B = host(SymMatrix.of(operator.matrix(moments)).full)
    q = int(moments.vu.shape[0])
    _claim(B.shape == (q, q), f"the matrix has shape {B.shape}, not {(q, q)}")
    scale = max(1e-300, float(np.abs(B).max()))
    _close(B, B.T, IDENTITY * scale, "the matrix is not symmetric")
    smallest = float(np.linalg.eigvalsh(B)[0])
    _claim(smallest > -1e-9 * scale, f"the operator is not positive: eigenvalue {smallest:.3g}")
    again = SymMatrix.of(clone(operator).learn(moments, 1.0).matrix(moments)).full
    _close(host(again), B, 0.0, "a clone gives another matrix")
    _check_diagonal_moments(operator)


def _check_diagonal_moments(operator: Operator) -> None:
    """The same matrix whether the moments are known to be diagonal or not."""
    if operator.own_coordinates:
        return
    rng = np.random.default_rng(1)
    s, EV = rng.uniform(1, 2, size=5), np.linalg.qr(rng.normal(size=(5, 3)))[0] * [1.0, 2.0, 3.0]
    known = SpectralMoments(20, EV, s)
    plain = Moments(20, SymMatrix(np.diag(s)), known.vu, SymMatrix(known.vv.full))
    left, right = (SymMatrix.of(operator.learn(m, 1.0).matrix(m)).full for m in (known, plain))
    _close(host(left), host(right), ROOT, "diagonal moments give another matrix than dense ones")


def check_operator_kernel(kernel: OperatorKernel, items: Items, outputs: Array) -> None:
    """Hermitian, non-negative on the items, products as the blocks written out say.

    Parameters
    ----------
    kernel
        The operator-valued kernel.
    items, outputs
        A sample of its inputs, and coordinates of as many outputs, (n, q).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.operators import CurlFree
    >>> from mercer.testing import check_operator_kernel
    >>> X = np.random.default_rng(0).normal(size=(6, 2))
    >>> check_operator_kernel(CurlFree(1.0), X, X)
    """
    kernel = clone(kernel)
    kernel.fit(kernel.inputs.check(items, "X"), outputs)
    items = kernel.inputs.check(items, "X")
    n, q = outputs.shape
    gram = kernel.gram(items)
    blocks = gram.blocks()
    scale = max(1e-300, float(np.abs(blocks).max()))
    _claim(blocks.shape == (n, n, q, q), f"the blocks have shape {blocks.shape}")
    turned = blocks.transpose(1, 0, 3, 2)
    _close(blocks, turned, IDENTITY * scale, "K(x, x') is not K(x', x)ᵀ")
    G = host(gram.matrix())
    smallest = float(np.linalg.eigvalsh((G + G.T) / 2)[0])
    _claim(smallest > -1e-9 * scale * n * q, f"the kernel is not positive: {smallest:.3g}")
    C = np.random.default_rng(0).normal(size=(n, q))
    product = np.einsum("ijpq,jq->ip", blocks, C)
    _close(host(gram @ C), product, ROOT * scale * n, "a product is not that of the blocks")
    written = gram.rows.join(G @ gram.columns.split(C))
    _close(host(written), product, ROOT * scale * n, "matrix() is not the map written out")
    pairings = np.einsum("ijpq,ip,jq->ij", blocks, C, C)
    _close(host(gram.pairings(C, C)), pairings, ROOT * scale * q**2, "pairings are not the blocks'")
    column = np.einsum("ipq,q->ip", blocks[:, 1], C[1])
    _close(host(gram.column(1, C[1])), column, ROOT * scale * q, "a column is not the blocks'")
    if kernel.componentwise:
        diagonal = kernel.by_component(items).blocks()
        _close(diagonal, blocks, ROOT * scale, "by_component gives other values")
    some = np.array([n * q - 1, 0]) % gram.columns.size
    columns = host(gram.some_columns(some))
    _close(columns, G[:, some], ROOT * scale, "some_columns are not of matrix()")
    if gram.terms is not None:
        total = np.sum([np.kron(host(K), host(B.full)) for K, B in gram.terms], axis=0)
        _close(total, G, ROOT * scale, "the terms do not add up to matrix()")
    part = kernel.gram(_some(items, [1, 0]), items)
    _close(part.blocks(), blocks[[1, 0]], ROOT * scale, "a part of the items has other values")


def check_loss(loss: Loss) -> None:
    """Convex, rising from zero, with a proximal step that minimises what it should.

    Parameters
    ----------
    loss
        The loss; a copy of it is fitted on lengths from 0 to 10.

    Examples
    --------
    >>> from mercer.losses import Huber
    >>> from mercer.testing import check_loss
    >>> check_loss(Huber(1.0))
    """
    r = np.linspace(0.0, 10.0, 1001)
    before = str(loss)
    fitted = clone(loss).settle(r)
    _claim(str(loss) == before, "settle changes the loss, not a copy")
    h = fitted.value(r)
    _claim(h.shape == r.shape and np.isfinite(h).all(), "the loss is not one number for a length")
    _claim(abs(h[0]) <= IDENTITY, f"the loss of no residual is {h[0]:.3g}, not 0")
    slopes = np.diff(h)
    _claim((slopes >= -IDENTITY).all(), "the loss falls somewhere")
    _claim((np.diff(slopes) >= -IDENTITY).all(), "the loss is not convex")
    for tau in (0.1, 1.0, 10.0):
        steps = fitted.proximal(r, tau)
        shorter = (steps >= 0).all() and (steps <= r + IDENTITY).all()
        _claim(shorter, "proximal lengthens a residual")
        cost = fitted.value(steps) + tau * (steps - r) ** 2
        best = (h[None, :] + tau * (r[None, :] - r[:, None]) ** 2).min(axis=1)
        _claim((cost <= best + IDENTITY).all(), "proximal does not minimise h + τ(· - r)²")


def check_feature_map(
    map: FeatureMap, kernel: Kernel, items: Items, tolerance: float = ROOT
) -> None:
    """transform(A) @ transform(B).T ≈ k(A, B), the same by every route.

    Parameters
    ----------
    map, kernel, items
        The map (cloned and fitted here), the kernel and a sample of its set.
    tolerance
        How near the kernel has to be met; infinity for a map of low rank.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features import IncompleteCholesky
    >>> from mercer.kernels import RBF
    >>> from mercer.testing import check_feature_map
    >>> check_feature_map(IncompleteCholesky(8), RBF(1.0), np.linspace(0, 1, 8)[:, None])
    """
    kernel = clone(kernel).fit(items)
    map = clone(map)
    U = host(map.fit_transform(kernel, items))
    K = host(kernel(items))
    scale = max(1.0, float(np.abs(K).max()))
    _close(host(map.transform(items)), U, ROOT * scale, "transform differs from fit_transform")
    if np.isfinite(tolerance):
        _close(U @ U.T, K, tolerance * scale, "transform(A) @ transform(A).T is not k(A)")
    if np.isfinite(map.trace_error_):
        missed = 1.0 - (U * U).sum() / K.trace() if not map.centered else map.trace_error_
        _near(map.trace_error_, missed, "trace_error_ is not tr(K - UUᵀ) / tr K")
    excess = (U * U).sum(axis=1) - K.diagonal()
    _claim(excess.max() < ROOT * scale or map.centered, "coordinates are longer than the items")
    M = np.random.default_rng(0).normal(size=(U.shape[1], 2))
    _close(host(map.compose(M).transform(items)), U @ M, ROOT * scale, "compose is not a product")
    bare, weights = map.unweighted()
    B = host(bare.transform(items))
    whole = B if weights is None else B @ host(weights)
    _close(whole, U, ROOT * scale, "unweighted() and its matrix are not the map")


def check_decoder(decoder: Decoder, kernel: Kernel, outputs: Items) -> None:
    """The decoder finds every training output again from its own point Φ(y).

    Parameters
    ----------
    decoder
        The decoder, fitted here on the outputs.
    kernel
        An output kernel that distinguishes the outputs.
    outputs
        Distinct outputs.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decoders import Candidates
    >>> from mercer.kernels import RBF
    >>> from mercer.testing import check_decoder
    >>> check_decoder(Candidates(), RBF(1.0), np.linspace(0, 1, 8)[:, None])
    """
    kernel = clone(kernel)
    outputs = kernel.as_outputs(outputs)
    kernel.fit(outputs)
    n = count(outputs)
    points = Embedding(np.eye(n), SpanFrame(kernel, outputs))
    decoder = clone(decoder).fit(kernel, outputs)
    if decoder.calibrates:
        decoder = decoder.calibrate(points, outputs)
    found = decoder.decode(points)
    _claim(count(found) == n, f"{n} points were decoded into {count(found)} outputs")
    found = kernel.as_outputs(found)
    for i in range(n):
        a, b = take(outputs, [i]), take(found, [i])
        D2 = float(kernel.diag(a)[0] + kernel.diag(b)[0] - 2.0 * kernel(a, b)[0, 0])
        scale = max(1.0, float(kernel.diag(a)[0]))
        _claim(1e-6 * scale > D2, f"output {i} was not found again: {D2:.3g} away in feature space")


def check_structured_estimator(model: Any, X: Items, y: Items) -> None:
    """What scikit-learn's checks do not try: other inputs, refits, copies, bad lengths, order.

    Parameters
    ----------
    model
        The estimator; it is cloned here.
    X, y
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
    _claim(count(predicted) == n, "predict gives another number of outputs than inputs")
    some = list(range(n))[::-1][:3]
    again = model.predict(_some(X, some))
    _claim(same_outputs(again, take(as_items(predicted), some)), "predictions depend on the batch")
    for copied in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), *_saved(model, X, y)):
        _claim(same_outputs(copied.predict(X), predicted), "a copy predicts otherwise")
    _claim(same_outputs(clone(model).fit(X, y).predict(X), predicted), "a refit predicts otherwise")
    _refuses(lambda: model.fit(X, _some(y, list(range(n - 1)))), "y one shorter than X")
    _claim(same_outputs(model.predict(X), predicted), "a failed refit changed the model")
    score = model.score(X, y)
    _claim(np.isfinite(score) and score <= 1, f"score is {score}")


def check_stream_learner(model: Any, X: Items, y: Items) -> None:
    """A model of a stream is the same under every cut, goes on after a refusal, and copies.

    Parameters
    ----------
    model
        The estimator, with feature maps that do not need all pairs; it is cloned here.
    X, y
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
        cuts = [range(a, b) for a, b in pairwise([0, *edges, n])]
        return [(_some(X, list(cut)), _some(y, list(cut))) for cut in cuts]

    whole = clone(model).fit(blocks())
    predicted = whole.predict(X)
    _claim(count(predicted) == n, "predict gives another number of outputs than inputs")
    for cut in ((1,), (n // 2,), (2, n // 2, n - 1)):
        again = clone(model).fit(blocks(*cut)).predict(X)
        _claim(same_outputs(again, predicted), f"cut at {cut}, the stream gives another model")
    generated = clone(model).fit(block for block in blocks(n // 2))
    _claim(same_outputs(generated.predict(X), predicted), "a generator gives another model")
    short = (X, _some(y, list(range(n - 1))))
    _refuses(lambda: whole.fit([*blocks(), short]), "a block with y one shorter than X")
    _claim(same_outputs(whole.predict(X), predicted), "a refused block changed the model")
    for copied in (pickle.loads(pickle.dumps(whole)), copy.deepcopy(whole)):
        _claim(same_outputs(copied.predict(X), predicted), "a copy predicts otherwise")


# -- helpers ----------------------------------------------------------------------------------


def _check_copies(kernel: Kernel, items: Items, K: np.ndarray) -> None:
    fitted = copy.deepcopy(kernel)
    _close(host(fitted(items)), K, 0.0, "a copy of the kernel has other values")
    _claim(str(clone(kernel)) == str(kernel), "clone changes the kernel's parameters")
    hash(kernel)
    _close(host((kernel * 2.0)(items)), 2.0 * K, 1e-12 * np.abs(K).max(), "2k is not twice k")


def _saved(model: Any, *data: Items) -> list:
    """The model as a file gives it back; none where it holds functions, or custom parts."""
    writer = Writer()
    if any(is_foreign(items) for items in data):
        return []  # files hold numpy arrays
    try:
        tree = json.dumps(writer.write(model, "model"), allow_nan=False)
    except TypeError:
        return []
    return [Reader(writer.arrays.__getitem__).read(json.loads(tree))]


def _some(items: Items, index: list[int]) -> Items:
    return take(items, index) if hasattr(items, "shape") else [items[i] for i in index]


def same_outputs(a: Items, b: Items) -> bool:
    """Whether two batches of outputs are equal, numbers up to rounding.

    Examples
    --------
    >>> from mercer.testing import same_outputs
    >>> same_outputs([["sea"], ["sun"]], [["sea"], ["sun"]]), same_outputs([1.0], [1.1])
    (True, False)
    """
    a, b = (host(dense(batch)) if hasattr(batch, "shape") else batch for batch in (a, b))
    return all(_same(x, y) for x, y in zip(a, b, strict=True))


def _same(x: Any, y: Any) -> bool:
    if isinstance(x, np.ndarray | float) and np.asarray(x).dtype.kind == "f":
        return np.allclose(x, y, rtol=1e-6, atol=1e-8)
    return equal(x, y)


def _refuses(call: Any, what: str) -> None:
    try:
        call()
    except (ValueError, TypeError):
        return
    raise AssertionError(f"accepted {what}")
