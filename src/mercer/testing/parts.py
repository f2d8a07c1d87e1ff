"""Checks of feature maps and decoders."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from .._base.arrays import Items, count, host, take
from ..decoders import Decoder
from ..embedding import Embedding, SpanFrame
from ..features import FeatureMap
from ..kernels import Kernel
from .claims import ROOT, claim, claim_close, claim_near


def check_feature_map(
    map: FeatureMap, kernel: Kernel, items: Items, tolerance: float = ROOT
) -> None:
    """Check that inner products of a feature map equal the values of the kernel.

    Parameters
    ----------
    map : FeatureMap
        The map; it is cloned and fitted here.
    kernel : Kernel
        The kernel that it approximates.
    items : array or sequence of items
        A sample.
    tolerance : float, default=1e-7
        Relative error allowed of kernel values; infinity for a map of low rank.

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
    claim_close(map.transform(items), U, ROOT * scale, "transform differs from fit_transform")
    if np.isfinite(tolerance):
        claim_close(U @ U.T, K, tolerance * scale, "transform(A) @ transform(A).T is not k(A)")
    if np.isfinite(map.trace_error_):
        missed = 1.0 - (U * U).sum() / K.trace() if not map.centered else map.trace_error_
        claim_near(map.trace_error_, missed, "trace_error_ is not tr(K - UUᵀ) / tr K")
    excess = (U * U).sum(axis=1) - K.diagonal()
    claim(excess.max() < ROOT * scale or map.centered, "coordinates are longer than the items")
    M = np.random.default_rng(0).normal(size=(U.shape[1], 2))
    claim_close(map.compose(M).transform(items), U @ M, ROOT * scale, "compose is not a product")
    bare, weights = map.unweighted()
    B = host(bare.transform(items))
    whole = B if weights is None else B @ host(weights)
    claim_close(whole, U, ROOT * scale, "unweighted() and its matrix are not the map")


def check_decoder(decoder: Decoder, kernel: Kernel, outputs: Items) -> None:
    r"""Check that a decoder recovers every training output y from its point :math:`\Phi(y)`.

    Parameters
    ----------
    decoder : Decoder
        The decoder; it is cloned and fitted here on the outputs.
    kernel : Kernel
        An output kernel that distinguishes the outputs.
    outputs : array or sequence of items
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
    claim(count(found) == n, f"{n} points were decoded into {count(found)} outputs")
    found = kernel.as_outputs(found)
    for i in range(n):
        a, b = take(outputs, [i]), take(found, [i])
        D2 = float(kernel.diag(a)[0] + kernel.diag(b)[0] - 2.0 * kernel(a, b)[0, 0])
        scale = max(1.0, float(kernel.diag(a)[0]))
        claim(1e-6 * scale > D2, f"output {i} was not found again: {D2:.3g} away in feature space")
