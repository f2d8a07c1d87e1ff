"""Scores of candidates under any joint kernel over pairs (input, output)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from mercer._base.arrays import Array, Items, count, object_array
from mercer._base.parameters import parameters
from mercer.embedding import Frame
from mercer.features import FeatureMap
from mercer.kernels import Kernel


@dataclass(frozen=True)
class CandidateFrame(Frame):
    """Coordinate system in which a point has one score for each candidate.

    Outputs that are not candidates are refused.
    """

    kernel: Kernel
    candidates: Items

    def evaluate(self, Y: Items) -> np.ndarray:
        """Return one-hot coordinates of outputs, (outputs, candidates): 1 at the same candidate."""
        keys = self.kernel.space.keys
        known = {key: number for number, key in enumerate(keys(self.candidates))}
        found = [known.get(key) for key in keys(Y)]
        if None in found:
            raise ValueError(
                "a joint kernel that is given as such scores the training outputs only; output "
                f"{found.index(None)} is none of them. Use decoder=Candidates() without a list."
            )
        return np.eye(len(known))[np.array(found, dtype=np.intp)]

    def sqnorms(self, Y: Items) -> Array:
        """Return ‖Φ(y)‖² for each output y, the diagonal of the output kernel."""
        return self.kernel.diag(Y)

    def points_sqnorm(self, C: Array) -> Array:
        """Raise an error: under a joint kernel, points have scores but no norms."""
        raise ValueError(
            "a joint kernel that is given as such has scores but no predicted points: use a "
            "metric of predictions in place of score, or an operator-valued kernel."
        )

    def points_inner(self, C: Array, D: Array) -> Array:
        """Raise an error: under a joint kernel, points have scores but no inner products."""
        return self.points_sqnorm(C)


@parameters
class ScoreMap(FeatureMap):
    """Feature map from an input to the scores of all candidates under a joint kernel.

    The score of candidate y at input x is Σ_p weight_p J((x, y), pair_p).
    """

    joint: Kernel
    candidates: Items
    pairs: np.ndarray
    weights: np.ndarray

    def transform(self, A: Items) -> np.ndarray:
        """Return the scores of all candidates at inputs A, (inputs, candidates)."""
        scores = self.joint(all_pairs(A, self.candidates), self.pairs) @ self.weights
        return scores.reshape(count(A), count(self.candidates))

    @property
    def coefficients(self) -> np.ndarray:
        """The weight of each training pair."""
        return self.weights


def all_pairs(X: Items, candidates: Items) -> np.ndarray:
    """Return all pairs (input, candidate), ordered by input."""
    return object_array(list(product(X, candidates)))
