"""Simple models that a user would have tried, scored on the same left-out rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GroupKFold, KFold
from sklearn.neighbors import KNeighborsRegressor

from .._arrays import Items, host
from ..decoders.base import Decoder
from ..embedding import Embedding, OrthonormalFrame
from ..features import Explicit
from ..estimators.choice import calibrated
from .inputs import NUMBERS, Inputs
from .outputs import Outputs
from .search import Clock, Pairs

FOLDS = 5


def baselines(
    inputs: Inputs,
    outputs: Outputs,
    pairs: Pairs,
    score: Callable[[Items, Items], float],
    clock: Clock,
    seed: int,
) -> dict[str, float]:
    """The left-out score of each, in five folds; outputs in coordinates, decoded as ours are."""
    kernel = outputs.kernel().fit(pairs.y)
    if kernel.features is None or not inputs.width_:
        return {}
    map = Explicit().fit(kernel, pairs.y)
    V = host(map.transform(pairs.y))
    A = np.stack([row[NUMBERS] for row in pairs.X]) if inputs.texts else pairs.X
    return {
        name: _scored(model, A, V, pairs, outputs, OrthonormalFrame(map), score)
        for name, model in _models(seed, pairs.n).items()
        if name == "mean" or clock.allows("baseline", 0.85)
    }
