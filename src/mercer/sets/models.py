"""Any fitted model as one whose predictions are points, for prediction sets around it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from .._base.arrays import Items, host
from ..decoders.base import Ranked
from ..embedding import Embedding
from ..estimators.base import StructuredEstimator
from ..estimators.head import RegressorDependency
from ..kernels import Delta, Kernel
from ..spaces import Sequences
from .field_model import FieldModel

BEST, EVERY = 100, 10**9
"""Outputs that are requested of a model that ranks outputs itself, and all of a list."""


def is_pipeline(model: Any) -> bool:
    """Return whether a model is a pipeline of scikit-learn's."""
    from sklearn.pipeline import Pipeline  # slow to import, seldom needed

    return isinstance(model, Pipeline)


def is_search(model: Any) -> bool:
    """Return whether a model is a search of scikit-learn's, such as `GridSearchCV`."""
    from sklearn.model_selection._search import BaseSearchCV  # slow to import, seldom needed

    return isinstance(model, BaseSearchCV)


class SupportsSets:
    """A model that says how prediction sets are made around it, as a base class."""

    @property
    def parameters_for_sets(self) -> dict[str, Any]:
        """The parameters that `ConformalSets` changes, because it calibrates on its own pairs."""
        return {}

    def as_points(self) -> Any:
        """Return a view of the fitted model that predicts points; None if it ranks outputs."""
        return None


def as_points(model: Any, y: Items, listed: bool = False) -> Any:
    """Return the model itself if it predicts points, else a view of it that does.

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
        return RankedLists(model) if listed or model.decoder_.per_input else model
    own = model.as_points() if isinstance(model, SupportsSets) else None
    if own is not None:
        return own
    if is_search(model):
        return as_points(model.best_estimator_, y)
    if is_pipeline(model) and isinstance(model[-1], StructuredEstimator):
        return model[-1] if len(model) == 1 else Piped(model[:-1], model[-1])
    if hasattr(model, "predict_top"):  # a third-party model may rank outputs too
        return OwnRanking(model, y)
    if not is_classifier(model):
        return Foreign(model, RegressorDependency().fit_outputs(y))
    if not isinstance(model.classes_, np.ndarray):
        raise TypeError(
            f"{type(model).__name__} gives several classes for each input: prediction sets around "
            "a third party's classifier are for one class each."
        )
    return Foreign(model, RegressorDependency(output_kernel=Delta()).fit_outputs(model.classes_))


@dataclass(frozen=True)
class Behind:
    """A model of mercer's behind something else.

    Attributes
    ----------
    before, model
        What sees the inputs, and the model.
    reader
        What reads outputs where they are given as columns of a table.
    """

    before: Any
    model: Any
    reader: Any = None

    output_kernel_ = property(lambda self: self.model.output_kernel_)
    outputs_ = property(lambda self: self.model.outputs_)
    decoder_ = property(lambda self: self.model.decoder_)

    def embed(self, X: Items) -> Embedding:
        """Return the points of some inputs."""
        raise NotImplementedError

    def _flattened(self, outputs: Any) -> Any:
        return self.model._flattened(outputs)

    def _one_returned(self, output: Any) -> Any:
        return self.model._one_returned(output)


class Piped(Behind):
    """A model behind transformers."""

    def embed(self, X: Items) -> Embedding:
        """Return the points of transformed inputs."""
        return self.model.embed(self.before.transform(X))


class Foreign(Behind):
    """Coordinates of the outputs, and their decoder, behind a model of another library."""

    def embed(self, X: Items) -> Embedding:
        """Return as points the predictions of a regressor, or the class scores of a classifier."""
        model = self.before
        if not is_classifier(model):
            return self.model.points_from(model.predict(X))
        scores = model.predict_proba if hasattr(model, "predict_proba") else model.decision_function
        table = host(scores(X))
        table = np.stack([-table, table], axis=1) if table.ndim == 1 else table
        # From zero on, so that no class which it does not know is above one that it knows.
        least = np.minimum(table.min(axis=1, keepdims=True), 0.0)
        return self.model.points_from(table - least)


class Listing:
    """A model by the list of outputs that it ranks for each input, as a base class.

    Parameters
    ----------
    model
        The fitted model.
    """

    output_kernel_: Kernel
    outputs_: Items

    def __init__(self, model: Any):
        self.model = model

    def embed(self, X: Items, **extras: Any) -> list[Ranked]:
        """Return the best outputs of each input with their scores, best first."""
        lists = extras.get("candidates")
        longest = BEST if lists is None else max([BEST, *map(len, lists)])
        return self.model.predict_top(X, longest, **extras)

    def _flattened(self, outputs: Any) -> Any:
        return outputs

    def _one_returned(self, output: Any) -> Any:
        return output


class OwnRanking(Listing):
    """A model that finds outputs itself, such as a `SequenceTransducer`."""

    def __init__(self, model: Any, y: Items):
        super().__init__(model)
        self.outputs_, self.output_kernel_ = y, Kernel()  # of outputs only equality is known
        with suppress(TypeError, ValueError):
            Sequences().check(y)
            self.output_kernel_.space = Sequences()


class RankedLists(Listing):
    """A model whose inputs have lists of candidates, named by its decoder or given with them."""

    output_kernel_ = property(lambda self: self.model.output_kernel_)
    outputs_ = property(lambda self: self.model.outputs_)

    def embed(self, X: Items, **extras: Any) -> list[Ranked]:
        """Return all candidates of each input with their scores, best first."""
        return self.model.predict_top(X, EVERY, **extras)


PointView = StructuredEstimator | Behind | FieldModel
"""A fitted model as prediction sets see it: with the points of inputs."""
View = PointView | Listing
"""A fitted model as prediction sets see it: with points or ranked lists of inputs."""


def checked_outputs(view: View, y: Items) -> Items:
    """Return outputs as the model behind a view compares them."""
    reader = view.reader if isinstance(view, Behind) else None
    return view.output_kernel_.as_outputs(y if reader is None else reader.read(y))


def fit_parameters(model: Any, groups: Any, context: Any = None) -> dict[str, Any]:
    """Return the arguments of `fit` of a model for groups, if it takes them, and for a context."""
    from sklearn.utils.validation import has_fit_parameter

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
