"""Views of fitted models, as prediction sets see them: with points, or with ranked lists."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import has_fit_parameter

from .._base.arrays import Items, host
from ..decoders.base import Ranked
from ..embedding import Embedding
from ..estimators.base import StructuredEstimator
from ..estimators.head import RegressorDependency
from ..kernels import Delta, Kernel
from ..spaces import Sequences

BEST, EVERY = 100, 10**9
"""Outputs that are requested of a model that ranks outputs itself, and all of a list."""


class SupportsSets:
    """A model that knows how prediction sets are made around it, as a base class."""

    @property
    def parameters_for_sets(self) -> dict[str, Any]:
        """The parameters that `ConformalSets` changes, because it calibrates on its own pairs."""
        return {}

    def as_points(self) -> Any:
        """Return a view of the fitted model that predicts points; None if it ranks outputs."""
        return None


class PointModel(Protocol):
    """What scores need of a model: its points, output kernel and training outputs."""

    @property
    def output_kernel_(self) -> Any:
        """The fitted output kernel."""

    @property
    def outputs_(self) -> Any:
        """The training outputs."""

    def embed(self, X: Items) -> Embedding:
        """Return the points of some inputs."""

    def _restored(self, outputs: Any) -> Any:
        """Return outputs in the form that the training outputs had."""

    def _one_restored(self, output: Any) -> Any:
        """Return one output in the form of the rows that `predict` returns."""


@dataclass(frozen=True)
class ModelView:
    """A fitted model of mercer's, behind transformers of its inputs if there are any.

    Attributes
    ----------
    model : StructuredEstimator
        The model.
    before : transformer or None
        What transforms the inputs.
    reader : object or None
        What reads outputs that are given as columns of a table.
    """

    model: Any
    before: Any = None
    reader: Any = None

    output_kernel_ = property(lambda self: self.model.output_kernel_)
    outputs_ = property(lambda self: self.model.outputs_)

    @property
    def predictor(self) -> StructuredEstimator | None:
        """The model of mercer's that predicts; None if a third-party model does."""
        return self.model

    def inputs(self, X: Items) -> Items:
        """Return inputs as the model sees them."""
        return X if self.before is None else self.before.transform(X)

    def embed(self, X: Items) -> Embedding:
        """Return the points of some inputs."""
        return self.model.embed(self.inputs(X))

    def _restored(self, outputs: Any) -> Any:
        """Return outputs in the form that the training outputs had."""
        return self.model._restored(outputs)

    def _one_restored(self, output: Any) -> Any:
        """Return one output in the form of the rows that `predict` returns."""
        return self.model._one_restored(output)


class ThirdPartyView(ModelView):
    """A third-party model (`before`), whose predictions `model` reads as points."""

    predictor = None

    def inputs(self, X: Items) -> np.ndarray:
        """Return inputs as an array."""
        return np.asarray(X)

    def embed(self, X: Items) -> Embedding:
        """Return as points the predictions of a regressor, or the class scores of a classifier."""
        if not is_classifier(self.before):
            return self.model.points_from(self.before.predict(X))
        scores = host(_class_scores(self.before, X))
        scores = np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores
        # Nonnegative, so that a class which the model does not know is never the best.
        least = np.minimum(scores.min(axis=1, keepdims=True), 0.0)
        return self.model.points_from(scores - least)


def _class_scores(model: Any, X: Items) -> Any:
    """Return the probabilities of a third-party classifier, or else its decision function."""
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.decision_function(X)


@dataclass(frozen=True)
class RankedView:
    """A fitted model that ranks outputs for each input.

    Attributes
    ----------
    model : estimator
        The model.
    output_kernel_ : Kernel
        A kernel whose space compares outputs.
    longest : int
        The number of outputs that are requested for an input without a list of candidates.
    """

    model: Any
    output_kernel_: Kernel
    longest: int

    @classmethod
    def of_outputs(cls, model: Any, y: Items) -> RankedView:
        """Return the view of a model of which only the training outputs are known."""
        kernel = Kernel()  # compares outputs by equality
        with suppress(TypeError, ValueError):
            Sequences().check(y)
            kernel.space = Sequences()
        return cls(model, kernel, BEST)

    def embed(self, X: Items, **extras: Any) -> list[Ranked]:
        """Return the best outputs of each input with their scores, best first."""
        lengths = map(len, extras.get("candidates", ()))
        return self.model.predict_top(X, max([self.longest, *lengths]), **extras)

    def _restored(self, outputs: Any) -> Any:
        """Return outputs unchanged."""
        return outputs

    def _one_restored(self, output: Any) -> Any:
        """Return an output unchanged."""
        return output


View = ModelView | RankedView


def view_of(model: Any, y: Items, listed: bool = False) -> View:
    """Return the view of a fitted model that prediction sets are made around.

    Parameters
    ----------
    model
        A fitted model: one of mercer's, a `Pipeline` or a search around one, a model that ranks
        outputs (`predict_top`), a classifier, a regressor.
    y
        Its training outputs.
    listed
        Whether every input comes with a list of candidates.
    """
    if isinstance(model, StructuredEstimator):
        ranked = listed or model.decoder_.per_input
        return RankedView(model, model.output_kernel_, EVERY) if ranked else ModelView(model)
    own = model.as_points() if isinstance(model, SupportsSets) else None
    if own is not None:
        return own
    if is_search(model):
        return view_of(model.best_estimator_, y)
    if is_pipeline(model) and isinstance(model[-1], StructuredEstimator):
        return ModelView(model[-1], None if len(model) == 1 else model[:-1])
    if hasattr(model, "predict_top"):  # a third-party model may rank outputs too
        return RankedView.of_outputs(model, y)
    return ThirdPartyView(_head(model, y), model)


def _head(model: Any, y: Items) -> RegressorDependency:
    """Return what reads the predictions of a third-party model as points."""
    if not is_classifier(model):
        return RegressorDependency().fit_outputs(y)
    if not isinstance(model.classes_, np.ndarray):
        raise TypeError(
            f"{type(model).__name__} gives several classes for each input: prediction sets around "
            "a third-party classifier are for one class each."
        )
    return RegressorDependency(output_kernel=Delta()).fit_outputs(model.classes_)


def is_pipeline(model: Any) -> bool:
    """Return whether a model is a pipeline of scikit-learn's."""
    from sklearn.pipeline import Pipeline  # slow to import, seldom needed

    return isinstance(model, Pipeline)


def is_search(model: Any) -> bool:
    """Return whether a model is a search of scikit-learn's, such as `GridSearchCV`."""
    from sklearn.model_selection._search import BaseSearchCV  # slow to import, seldom needed

    return isinstance(model, BaseSearchCV)


def checked_outputs(view: View, y: Items) -> Items:
    """Return outputs in the form in which the output kernel of a view compares them."""
    reader = view.reader if isinstance(view, ModelView) else None
    return view.output_kernel_.as_outputs(y if reader is None else reader.read(y))


def fit_parameters(model: Any, groups: Any, context: Any = None) -> dict[str, Any]:
    """Return the arguments of `fit` of a model for groups, if it takes them, and for a context."""
    found: dict[str, Any] = {}
    if context is not None:
        if not has_fit_parameter(model, "context"):
            raise TypeError(
                "context= is for models whose fit takes a context, such as SequenceTransducer; "
                f"got {type(model).__name__}."
            )
        found["context"] = context
    if groups is None:
        return found
    if is_search(model) or has_fit_parameter(model, "groups"):
        found["groups"] = groups
    elif is_pipeline(model) and has_fit_parameter(model[-1], "groups"):
        found[f"{model.steps[-1][0]}__groups"] = groups
    return found
