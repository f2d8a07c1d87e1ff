"""Models with left-out points, and what is calibrated on these: probabilities of classes."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._base.arrays import Items, copy_data
from ..embedding import Embedding
from .base import StructuredEstimator
from .probabilities import Probabilities, has_classes, offers_probabilities, sorted_classes


class LeftOutPoints(StructuredEstimator):
    """Base class of models with left-out points, on which class probabilities are calibrated.

    `fit` stores the left-out points in `left_out_`: out-of-bag, out of folds, or blended.
    """

    left_out_: Embedding

    def loo_embed(self) -> Embedding:
        """Return the predicted point of every training example by a model that left it out."""
        check_is_fitted(self)
        return self.left_out_

    def loo_predict(self) -> Items:
        """Return the decoded prediction of every training example by a model that left it out.

        The output of a left-out example is not a candidate, unless another example has it too.
        Constants that a decoder learns from all outputs are kept (``decoder_.constants`` names
        them): the threshold of `Threshold`, the bonus of `NGramPath` and `PerPosition`, the weight
        and the transitions of `Viterbi`, the price of labels of `ByLoss`, where they are not given,
        the moves and weights of `Search`.
        """
        points = self.loo_embed()  # raises an error if the model is not fitted
        # A copy: linear outputs are the coordinates of the points, which are kept for later calls.
        return self._restored(copy_data(self.decoder_.decode(points)))

    def _left_out_by(self, folds: np.ndarray) -> Embedding:
        """Return points with `folds` left out; without closed form, the usual left-out points."""
        return self.loo_embed()

    def _points_without(self, X: Items, sets: list[np.ndarray]) -> Embedding:
        """Return the predicted points of X, input i without the training examples sets[i].

        Without a closed form these are the points of the model itself.
        """
        return self.points_(X)

    def _own_folds(self) -> np.ndarray | None:
        """Return the fold in which each training example was left out; None without folds."""
        return None

    def _known_coordinates(self) -> np.ndarray | None:
        """Return a mask of the known coordinates of training outputs; None if all are known."""
        return None

    @property
    def classes_(self) -> np.ndarray:
        """The classes or labels, in the order of the columns of `predict_proba`."""
        if not has_classes(self):
            raise AttributeError("only models of classes and label sets have classes_.")
        return sorted_classes(self.output_kernel_.multiple.kernel.classes_)

    def _probabilities(self) -> Probabilities:
        """Return the model of class probabilities, which is fitted on the first call."""
        if "probabilities_" not in vars(self):
            made = Probabilities(self.output_kernel_)
            self.probabilities_ = made.fit(self.loo_embed(), self.outputs_)
        return self.probabilities_

    @available_if(offers_probabilities)
    def predict_proba(self, X: Items) -> np.ndarray:
        """Return the probability of every class, or of every label by itself.

        Scores are calibrated on the left-out predictions of the training examples.

        Parameters
        ----------
        X
            Inputs of the kind that the model was fitted on.

        Returns
        -------
        One row per input, one column for each of `classes_`. Rows of classes sum to one; labels of
        a set have separate probabilities.
        """
        made = self._probabilities()
        return np.concatenate([made.predict(points) for points in self._points_in_batches(X)])

    def without_training_data(self) -> Any:
        """Return a copy without left-out predictions, after calibrating probabilities on them."""
        if has_classes(self):
            with suppress(ValueError, AttributeError):  # has no left-out predictions
                self._probabilities()
        return super().without_training_data()
