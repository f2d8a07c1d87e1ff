"""Any fitted model as one whose predictions are points, for prediction sets around it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from .._arrays import Items, host
from ..decoders import Direct
from ..decoders.base import Ranked
from ..embedding import Embedding, OrthonormalFrame, SpanFrame
from ..features import Explicit
from ..kernels import Delta, Kernel, Linear
from ..spaces import Sequences
from .base import StructuredEstimator

BEST = 100
"""Outputs that a model which ranks its own is asked for."""


def is_pipeline(model: Any) -> bool:
    """Whether a model is a pipeline of scikit-learn's."""
    from sklearn.pipeline import Pipeline  # slow to import, seldom needed

    return isinstance(model, Pipeline)


def as_points(model: Any, y: Items) -> Any:
    """The model itself if it predicts points, else a view of it that does.

    Parameters
    ----------
    model
        A fitted model: one of mercer's, a `Pipeline` or a search around one, a model that ranks
        outputs (`predict_top`), a classifier, a regressor.
    y
        Its training outputs.
    """
    if isinstance(model, StructuredEstimator):
        return model
    if hasattr(model, "as_points"):
        return model.as_points()
    if hasattr(model, "best_estimator_"):
        return as_points(model.best_estimator_, y)
    if is_pipeline(model) and isinstance(model[-1], StructuredEstimator):
        return model[-1] if len(model) == 1 else Piped(model[:-1], model[-1])
    if hasattr(model, "predict_top"):
        return Listing(model, y)
    return Classifying(model) if is_classifier(model) else Regressing(model, y)


@dataclass(frozen=True)
class Piped:
    """A model of mercer's behind transformers."""

    before: Any
    model: Any
    reader: Any = None
    """What reads outputs where they are given as columns of a table."""

    output_kernel_ = property(lambda self: self.model.output_kernel_)
    outputs_ = property(lambda self: self.model.outputs_)
    decoder_ = property(lambda self: self.model.decoder_)

    def embed(self, X: Items) -> Embedding:
        """The points of transformed inputs."""
        return self.model.embed(self.before.transform(X))

    def read(self, y: Items) -> Items:
        """Outputs as the model sees them."""
        return y if self.reader is None else self.reader.read(y)

    def _flattened(self, outputs: Any) -> Any:
        return self.model._flattened(outputs)


class View:
    """A model of another library, or one that ranks outputs, as one that predicts points."""

    def __init__(self, model: Any, output_kernel: Kernel, y: Items):
        self.model, self.output_kernel_, self.outputs_ = model, output_kernel, y

    def _flattened(self, outputs: Any) -> Any:
        return outputs


class Regressing(View):
    """A regressor: its predictions as points under the linear kernel."""

    def __init__(self, model: Any, y: Items):
        kernel = Linear()
        super().__init__(model, kernel, kernel.as_outputs(y))
        self.decoder_ = Direct().fit(kernel, self.outputs_)
        self.frame = OrthonormalFrame(Explicit().fit(kernel, self.outputs_))
        self.flat = self.outputs_.shape[1:] == (1,) and np.asarray(y).ndim == 1

    def embed(self, X: Items) -> Embedding:
        """The predictions."""
        outputs = self.output_kernel_.as_outputs(self.model.predict(X))
        return Embedding(self.output_kernel_.features(outputs), self.frame)

    def _flattened(self, outputs: Any) -> Any:
        return np.reshape(outputs, (len(outputs),)) if self.flat else outputs


@dataclass(frozen=True)
class ClassScores:
    """The scores that a classifier gives to its classes, one row an input."""

    table: np.ndarray
    frame: SpanFrame
    """The classes, one for each column of the table."""
    left_out: None = None

    def scores(self, Y: Items) -> np.ndarray:
        """The columns of some classes; one that the classifier does not know scores -∞."""
        keys = self.frame.kernel.space.keys
        columns = {key: i for i, key in enumerate(keys(self.frame.outputs))}
        known = np.array([columns.get(key, -1) for key in keys(Y)])
        return np.where(known < 0, -np.inf, self.table[:, known])


class Classifying(View):
    """A classifier: its classes as candidates, by probability or decision value."""

    def __init__(self, model: Any):
        if not isinstance(model.classes_, np.ndarray):
            raise TypeError(
                f"{type(model).__name__} gives several classes for each input: prediction sets "
                "around a third party's classifier are for one class each."
            )
        super().__init__(model, Delta(), model.classes_)

    def embed(self, X: Items) -> ClassScores:
        """The scores of the classes."""
        probable = hasattr(self.model, "predict_proba")
        table = host((self.model.predict_proba if probable else self.model.decision_function)(X))
        table = np.stack([-table, table], axis=1) if table.ndim == 1 else table
        return ClassScores(table, SpanFrame(self.output_kernel_, self.outputs_))


class Listing(View):
    """A model that ranks outputs itself, such as a `SequenceTransducer`."""

    def __init__(self, model: Any, y: Items):
        kernel = Kernel()  # of its outputs only equality is known
        with suppress(TypeError, ValueError):
            Sequences().check(y)
            kernel.space = Sequences()
        super().__init__(model, kernel, y)

    def embed(self, X: Items) -> list[Ranked]:
        """The best outputs of each input with their scores, best first."""
        return self.model.predict_top(X, BEST)


def checked_outputs(view: Any, y: Items) -> Items:
    """Outputs as the model behind a view compares them."""
    return view.output_kernel_.as_outputs(view.read(y) if isinstance(view, Piped) else y)


def fit_parameters(model: Any, groups: Any) -> dict[str, Any]:
    """How `fit` of a model is told of groups; nothing where it does not ask."""
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.utils.validation import has_fit_parameter

    if groups is None:
        return {}
    if isinstance(model, BaseSearchCV) or has_fit_parameter(model, "groups"):
        return {"groups": groups}
    if is_pipeline(model) and has_fit_parameter(model[-1], "groups"):
        return {f"{model.steps[-1][0]}__groups": groups}
    return {}
