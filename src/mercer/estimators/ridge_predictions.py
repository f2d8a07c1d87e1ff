"""Predictions of a solved ridge problem: points with a posterior, left-out points, fields."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._base.arrays import Items, namespace
from ..embedding import Embedding
from ..losses import Loss
from ..operators import OperatorKernel
from ..sources import is_dask, mapped
from ..spaces import Fields
from .fitted import Fitted
from .left_out_points import LeftOutPoints
from .on_grid import predict_on
from .posterior import Posterior
from .selective import confidence_of


class RidgePredictions(LeftOutPoints):
    """Mixin with the prediction methods of a solved ridge problem."""

    fitted_: Fitted
    posterior_: Posterior
    kernel_: OperatorKernel
    loss_: Loss | None
    n_iter_: int | None = None
    residual_: float | None = None

    # -- points -------------------------------------------------------------------------------

    def _posterior(self, X: Items) -> Any:
        """Return the posterior distribution of g at inputs X; of a saved model, the saved one."""
        fitted, saved = vars(self).get("fitted_"), vars(self).get("posterior_")
        if fitted is not None:
            return fitted.posterior().at(X)
        return None if saved is None else saved.at(X)

    def keep_posterior(self) -> None:
        """Store the posterior as a fitted attribute, so that it is saved with the model."""
        self.posterior_ = self.fitted_.posterior()

    # -- what was left out --------------------------------------------------------------------

    def loo_embed(self) -> Embedding:
        """Return the left-out point of each training example; of a stream, of each sampled pair.

        The operator, landmarks and length scales are those of all data; with groups at `fit`,
        whole groups are left out.
        """
        check_is_fitted(self)
        return self.fitted_.left_out_points()

    def _left_out_by(self, folds: np.ndarray) -> Embedding:
        """Return the left-out points of training examples, with whole folds left out."""
        return self.fitted_.with_groups(folds).left_out_points()

    def _points_without(self, X: Items, sets: list[np.ndarray]) -> Embedding:
        """Return the predicted points of X, input i without the training examples sets[i]."""
        return self.fitted_.without()(X, sets)

    def _calibration_weights(self) -> np.ndarray | None:
        """Return the sample weights of the training examples; None if all are one."""
        return self.fitted_.problem.weights

    def confidence(self, X: Items, metric: Callable[..., Any] | None = None) -> np.ndarray:
        """Return the expected quality of each prediction, calibrated on left-out predictions.

        Parameters
        ----------
        X
            Inputs such as the model was fitted on.
        metric
            As in `mercer.estimators.selective.confidence_of`; None for the metric of the outputs'
            space (from 0 to 1 for most), for vectors the fraction of variance explained.
        """
        check_is_fitted(self)
        X = self._check_inputs(self.input_kernel_, X, reset=False)
        return confidence_of(self, metric).of(X)

    # -- predict ------------------------------------------------------------------------------

    def predict(
        self,
        X: Items,
        candidates: Iterable[Items] | None = None,
        leave_out_candidates: bool | None = None,
        grid: Fields | None = None,
        return_std: bool = False,
    ) -> Any:
        """Return the decoded output of every input; a lazy collection if X is a Dask collection.

        Parameters
        ----------
        X
            Inputs such as the model was fitted on; or a Dask array, bag or list of delayed blocks
            of them.
        candidates, leave_out_candidates
            For each input a list of the outputs to choose from, which may come one by one, and
            whether training examples that are in a list are left out when it is ranked (None:
            where it has other outputs too). Without lists the decoder decides.
        grid
            `Fields` to answer on in place of those learnt on: `Shared` kernels are evaluated there
            (and X may be on that grid too), predictions of other kernels interpolated.
        return_std
            Whether to return a pair, predictions and standard deviations of new outputs, for
            vectors and curves. Deviations are in the units of each output: those of the posterior,
            with the noise that left-out predictions show.
        """
        if return_std:
            return self._predict_with_deviations(X, candidates, grid)
        if grid is not None:
            check_is_fitted(self)
            return predict_on(self, X, grid)
        if not is_dask(X):
            return super().predict(X, candidates, leave_out_candidates)
        check_is_fitted(self)
        if candidates is not None:
            raise ValueError(
                "candidates of single inputs are for inputs in memory: give "
                "decoder=Candidates(function of x) to name them on the workers."
            )
        shape = () if self.flat_ else self._output_shape()
        dtype = float if self.output_kernel_.on_vectors else object
        light = self.without_training_data()
        light.__dict__.pop("stream_", None)  # which only further learning needs
        return mapped(light.predict, X, shape, dtype)

    def _predict_with_deviations(self, X: Items, candidates: Any, grid: Any) -> tuple[Items, Items]:
        """Return the predictions, and the standard deviations of new outputs."""
        check_is_fitted(self)
        if candidates is not None or grid is not None or is_dask(X):
            raise ValueError(
                "return_std=True is for predictions in memory without candidates= and grid=."
            )
        if not self.output_kernel_.predicts_directly:
            raise ValueError(
                "return_std=True is for vectors and curves under a linear output kernel, got "
                f"output_kernel={self.output_kernel_}: use ConformalSets, or confidence(X)."
            )
        points = self.embed(X)
        variance = points.variance("outputs", observed=True, noise="left out")
        return self._restored(self.decoder_.decode(points)), namespace(variance).sqrt(variance)


def with_posterior(model: Any) -> Any:
    """Return a copy of a fitted model that is saved with its posterior variance."""
    if not isinstance(model, RidgePredictions) or "fitted_" not in vars(model):
        raise TypeError(
            "variance=True is for a KernelDependency or KernelDependencyCV that was fitted here, "
            f"not for {type(model).__name__}: save it without."
        )
    kept = copy.copy(model)
    kept.keep_posterior()
    return kept
