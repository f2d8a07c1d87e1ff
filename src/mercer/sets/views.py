"""Views: the interface of fitted models that prediction sets use."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from .._base.arrays import Items, count, host
from ..decoders.base import Ranked
from ..embedding import Embedding
from ..estimators.base import StructuredEstimator
from ..estimators.head import RegressorDependency
from ..kernels import Delta, Kernel
from ..spaces import Sequences

MOST_RANKED = 100
"""The number of outputs that are requested of a third-party model that ranks outputs."""


class SupportsSets:
    """Base class of models that define how `ConformalSets` uses them.

    Examples
    --------
    >>> from mercer import SequenceTransducer
    >>> from mercer.sets import SupportsSets
    >>> isinstance(SequenceTransducer(), SupportsSets)
    True
    """

    @property
    def parameters_for_sets(self) -> dict[str, Any]:
        """The parameters that `ConformalSets` sets on the model before it fits it."""
        return {}

    def as_points(self) -> Any:
        """Return a view of the fitted model that predicts points; None if it ranks outputs."""
        return None


@dataclass(frozen=True)
class ModelView:
    """View of a fitted model of this library, with the transformers before it in a pipeline.

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
        """The estimator of this library that predicts; None for a third-party model."""
        return self.model

    def inputs(self, X: Items) -> Items:
        """Return the inputs after all transformers of the pipeline."""
        return X if self.before is None else self.before.transform(X)

    def embed(self, X: Items) -> Embedding:
        """Return the predicted points g(x) of raw inputs, one for each input."""
        return self.model.embed(self.inputs(X))


class ThirdPartyView(ModelView):
    """View of a fitted third-party model, whose predictions are converted to points.

    The third-party model is `before`; `model` converts its predictions.
    """

    predictor = None

    def inputs(self, X: Items) -> np.ndarray:
        """Return the inputs as a NumPy array."""
        return np.asarray(X)

    def embed(self, X: Items) -> Embedding:
        """Return a regressor's predictions, or a classifier's scores, as points."""
        if not is_classifier(self.before):
            return self.model.points_from(self.before.predict(X))
        scores = host(_class_scores(self.before, X))
        scores = np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores
        # Nonnegative, so that a class which the model does not know is never the best.
        least = np.minimum(scores.min(axis=1, keepdims=True), 0.0)
        return self.model.points_from(scores - least)


def _class_scores(model: Any, X: Items) -> Any:
    """Return the class probabilities of a classifier, or its decision function if it lacks them."""
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.decision_function(X)


@dataclass(frozen=True)
class RankedView:
    """View of a fitted model that predicts a ranked list of outputs for each input.

    Attributes
    ----------
    model : estimator
        The model.
    output_kernel_ : Kernel
        A kernel whose space compares outputs.
    longest : int, default=None
        The number of outputs that are requested for an input without a list of candidates; None
        for all.
    """

    model: Any
    output_kernel_: Kernel
    longest: int | None = None

    @classmethod
    def of_outputs(cls, model: Any, y: Items) -> RankedView:
        """Return the view of a ranking model that has no output kernel, given outputs y."""
        kernel = Kernel()  # compares outputs by equality
        with suppress(TypeError, ValueError):
            Sequences().check(y)
            kernel.space = Sequences()
        return cls(model, kernel, MOST_RANKED)

    def embed(self, X: Items, **extras: Any) -> list[Ranked]:
        """Return the ranked outputs of each input with their scores, best first."""
        lengths = map(len, extras.get("candidates", ()))
        longest = sys.maxsize if self.longest is None else max([self.longest, *lengths])
        return self.model.predict_top(X, longest, **extras)


View = ModelView | RankedView


def view_of(model: Any, y: Items, listed: bool = False) -> View:
    """Return the view of a fitted model, its interface for prediction sets.

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
        decoder = model.decoder_
        ranked = listed or decoder.per_input or decoder.ranks
        return RankedView(model, model.output_kernel_) if ranked else ModelView(model)
    own = model.as_points() if isinstance(model, SupportsSets) else None
    if own is not None:
        return own
    if is_search(model):
        return view_of(model.best_estimator_, y, listed)
    if is_pipeline(model) and isinstance(model[-1], StructuredEstimator):
        return ModelView(model[-1], None if len(model) == 1 else model[:-1])
    if hasattr(model, "predict_top"):  # a third-party model may rank outputs too
        return RankedView.of_outputs(model, y)
    return ThirdPartyView(_points_converter(model, y), model)


def _points_converter(model: Any, y: Items) -> RegressorDependency:
    """Return a model that converts third-party predictions to points, fitted to classes or to y."""
    if not is_classifier(model):
        return RegressorDependency().fit_outputs(y)
    if not isinstance(model.classes_, np.ndarray):
        raise TypeError(
            f"{type(model).__name__} gives several classes for each input: prediction sets around "
            "a third-party classifier are for one class each."
        )
    return RegressorDependency(output_kernel=Delta()).fit_outputs(model.classes_)


def is_pipeline(model: Any) -> bool:
    """Return whether a model is a scikit-learn pipeline."""
    from sklearn.pipeline import Pipeline  # slow to import, seldom needed

    return isinstance(model, Pipeline)


def is_search(model: Any) -> bool:
    """Return whether a model is a scikit-learn search such as `GridSearchCV`."""
    from sklearn.model_selection._search import BaseSearchCV  # slow to import, seldom needed

    return isinstance(model, BaseSearchCV)


def checked_outputs(view: View, y: Items) -> Items:
    """Return outputs y, checked and converted as the output kernel of a view needs them."""
    reader = view.reader if isinstance(view, ModelView) else None
    return view.output_kernel_.as_outputs(y if reader is None else reader.read(y))


def fit_arguments(model: Any, groups: Any, context: Any = None) -> dict[str, Any]:
    """Return `groups` and `context` as keyword arguments for the `fit` of a model.

    Groups are left out if `fit` does not accept them, because sets keep groups apart themselves.
    In a pipeline they are for its last step. A context that `fit` does not accept is an error.
    """
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


def fit_model(
    model: Any, X: Items, y: Items, labels: np.ndarray, context: Any, left_out: bool
) -> Any:
    """Fit a clone of the model, with left-out predictions at hand if `left_out`.

    A model that would calibrate itself on folds is fitted once, with its `parameters_for_sets`.
    """
    grouped = labels if len(np.unique(labels)) < len(labels) else None
    fresh, given = clone(model), fit_arguments(model, grouped, context)
    if isinstance(model, SupportsSets):
        fresh.set_params(**model.parameters_for_sets)
    if not left_out:
        return fresh.fit(X, y, **given)
    fresh._needs_left_out = True
    fresh.fit(X, y, **given)
    del fresh._needs_left_out
    return fresh


def extra_arguments(context: Items | None, candidates: Items | None, n: int) -> dict[str, Any]:
    """Return those of context and candidates that are given, by name; check their length n."""
    named = {"context": context, "candidates": candidates}
    found = {name: value for name, value in named.items() if value is not None}
    for name, value in found.items():
        if count(value) != n:
            raise ValueError(
                f"{name} must have one entry for each of the {n} inputs, got {count(value)}."
            )
    return found


def rows_of_extras(extras: dict[str, Any], index: np.ndarray) -> dict[str, Any]:
    """Return the extra arguments of the inputs at the positions `index`."""
    return {name: [value[i] for i in index] for name, value in extras.items()}
