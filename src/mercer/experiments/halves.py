"""Complete digits: every operator and both decoders on upper and lower halves of images."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import KernelDependencyCV
from ..decoders import Candidates, FixedPoint
from ..kernels import RBF
from ..metrics import rbf_loss
from ..operators import ConditionalCovariance, Covariance, Identity, Operator

OPERATORS: dict[str, list[Operator]] = {
    "identity": [Identity()],
    "covariance": [Covariance()],
    "conditional covariance": [ConditionalCovariance(e) for e in (1e-2, 1e-1, 1.0)],
}


@dataclass
class Result:
    """One operator under one decoder: losses over splits, what was chosen, a few completions."""

    operator: str
    decoder: str
    losses: list[float] = field(default_factory=list)
    seconds: float = 0.0
    chosen: str = ""
    pictures: Any = None


def fit(operators: list[Operator], scales: list[float], output_scale: float, X: Any, Y: Any) -> Any:
    """A model with kernel, operator and alpha chosen by leave-one-out."""
    kernels = [RBF(scale) * operator for scale in scales for operator in operators]
    alphas = np.logspace(-6, 1, 15)
    return KernelDependencyCV(kernels, RBF(output_scale), alphas=alphas).fit(X, Y)


def compare(
    splits: list[tuple[Any, Any]],
    X: np.ndarray,
    Y: np.ndarray,
    scales: list[float],
    output_scale: float,
    shown: int = 8,
) -> Iterator[list[Result]]:
    """Results so far, after each operator on each split of (training, test) rows."""
    results = {
        (name, type(decoder).__name__): Result(name, type(decoder).__name__)
        for name in OPERATORS
        for decoder in (Candidates(), FixedPoint())
    }
    for train, test in splits:
        for name, operators in OPERATORS.items():
            start = time.perf_counter()
            model = fit(operators, scales, output_scale, X[train], Y[train])
            fitted = time.perf_counter() - start
            for decoder in (Candidates(), FixedPoint()):
                result = results[name, type(decoder).__name__]
                start = time.perf_counter()
                model.decoder_ = decoder.fit(model.output_kernel_, Y[train])
                predicted = model.predict(X[test])
                result.seconds += fitted + time.perf_counter() - start
                result.losses.append(rbf_loss(Y[test], predicted, output_scale))
                result.chosen = f"{_short(model.kernel_)}, alpha {model.alpha_:.1e}"
                result.pictures = predicted[:shown]
            yield list(results.values())


def _short(kernel: Any) -> str:
    operator = kernel.operator
    scale = f"RBF({kernel.scalar.length_scale:g})"
    return f"{scale}, ε {operator.epsilon:g}" if hasattr(operator, "epsilon") else scale
