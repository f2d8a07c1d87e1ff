"""Decoders in the ONNX format: from predicted points to outputs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import numpy as np

from .._base.arrays import dense, host
from .._base.errors import NotSupported
from ..decoders import Assignment, Borda, Candidates, Direct, Kemeny, Threshold
from ..decoders.base import features
from ..decoders.rankings import ENUMERATED
from ..embedding import Embedding, Frame
from ..kernels import Labels, Spearman
from .graph import Affine, Graph, is_affine
from .kernels import exporter

PREDICTION, LABEL_SCORES = "prediction", "scores"
"""The names of the outputs."""


@dataclass(frozen=True)
class Output:
    """An output of an exported model.

    Attributes
    ----------
    name
        Its name for users.
    value
        The name of the value in the graph.
    shape
        Its shape without the rows.
    kind
        The type of its elements; None for the floating type of the model.
    """

    name: str
    value: str
    shape: tuple[int, ...]
    kind: Any = None


@dataclass(frozen=True)
class Answer:
    """The outputs of an exported model.

    Attributes
    ----------
    outputs
        The outputs.
    notes
        Texts for the model's metadata, such as the names of the labels.
    """

    outputs: list[Output]
    notes: dict[str, str] = field(default_factory=dict)


def answer(graph: Graph, model: Any, found: Affine) -> Answer:
    """Add the decoded outputs of predicted points, coordinates in the model's frame."""
    return exporter(WRITTEN_DECODERS, model.decoder_)(graph, model, found)


def _written(graph: Graph, values: Affine) -> str:
    """Add the values that are decoded, and remember their name."""
    graph.values = values.write(graph)
    return graph.values


def _at(frame: Frame, C: np.ndarray) -> Embedding:
    """Return points with coordinates C."""
    return Embedding(C, frame)


def _direct(graph: Graph, model: Any, found: Affine) -> Answer:
    """Add the outputs whose features are the points."""
    frame, decoder = model.points_.frame, model.decoder_
    outputs = _only_affine(model, lambda C: decoder.decode(_at(frame, C)), found.width)
    shape = () if model.flat_ else tuple(decoder.sample_.shape[1:])
    rows = _written(graph, found.then(graph, outputs))
    target = graph.constant(np.array([-1, *shape]))
    return Answer([Output(PREDICTION, graph.add("Reshape", rows, target), shape)])


def _only_affine(
    model: Any, function: Callable[[np.ndarray], Any], width: int
) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function of coordinates on the host after checking that it is affine."""

    def values(C: np.ndarray) -> np.ndarray:
        """Return the values as an array of double precision."""
        return np.asarray(host(dense(function(C))), dtype=float).reshape(len(C), -1)

    if not is_affine(values, width):
        raise NotSupported(
            f"to_onnx cannot write {model.decoder_} under {model.output_kernel_}: it writes "
            "outputs that are affine functions of the predicted points, such as those of Linear()."
        )
    return values


def _threshold(graph: Graph, model: Any, found: Affine) -> Answer:
    """Add the scores of labels, and whether they reach the threshold."""
    frame, decoder = model.points_.frame, model.decoder_
    kernel = decoder.kernel_
    scores = _only_affine(
        model, lambda C: kernel.features.inverse(frame.kernel_features(C)), found.width
    )
    labels = [str(label) for label in decoder.labels_.classes_]
    name = _written(graph, found.then(graph, scores))
    threshold = graph.constant(np.asarray(decoder.threshold_, dtype=float))
    chosen = graph.add("GreaterOrEqual", name, threshold)
    if decoder.at_least_one_:
        chosen = graph.add("Or", chosen, _best_of_none(graph, name, threshold, chosen))
    shape = (len(labels),)
    outputs = [Output(PREDICTION, chosen, shape, np.bool_), Output(LABEL_SCORES, name, shape)]
    return Answer(outputs, {"labels": json.dumps(labels)})


def _best_of_none(graph: Graph, scores: str, threshold: str, chosen: str) -> str:
    """Add the label with the largest margin, for rows in which none was chosen."""
    margins = graph.add("Sub", scores, threshold)
    best = graph.add("ArgMax", margins, axis=1, keepdims=1)
    width = graph.add("Shape", scores, start=1, end=2)
    start, step = graph.constant(np.array(0)), graph.constant(np.array(1))
    columns = graph.add("Range", start, graph.add("Squeeze", width), step)
    counted = graph.cast(chosen, np.int64)
    number = graph.add("ReduceSum", counted, graph.constant(np.array([1])), keepdims=1)
    none = graph.add("Equal", number, graph.constant(np.array(0)))
    return graph.add("And", graph.add("Equal", columns, best), none)


def _candidates(graph: Graph, model: Any, found: Affine) -> Answer:
    """Add the candidate with the largest score."""
    frame, decoder = model.points_.frame, model.decoder_
    if decoder.own_ is not None:
        raise NotSupported(
            "to_onnx cannot write Candidates(function): the candidates depend on the input. Pass "
            "a list of candidates."
        )
    E, norms = host(frame.evaluate(decoder.outputs_)), host(frame.sqnorms(decoder.outputs_))
    if frame.euclidean:  # about the first candidate, small differences keep their digits
        found, E = found.shifted(-E[0]), E - E[0]
        norms = (E * E).sum(axis=1)
    excess = norms - norms.min()
    return _best_row(graph, model, found.then(graph, lambda C: 2.0 * C @ E.T - excess))


def _best_row(graph: Graph, model: Any, scores: Affine, table: Any = None) -> Answer:
    """Add the row of a table with the largest score; by default that of the candidates."""
    outputs, notes = _as_table(model) if table is None else (table, {})
    best = graph.add("ArgMax", _written(graph, scores), axis=1, keepdims=0)
    chosen = graph.add("Gather", graph.constant(outputs), best, axis=0)
    kind = None if outputs.dtype.kind == "f" else outputs.dtype
    return Answer([Output(PREDICTION, chosen, outputs.shape[1:], kind)], notes)


def _as_table(model: Any) -> tuple[np.ndarray, dict[str, str]]:
    """Return the candidates of a model as an array of numbers or texts, and what its columns are.

    Label sets become rows of indicators.
    """
    outputs, kernel = host(dense(model.decoder_.outputs_)), model.output_kernel_.multiple.kernel
    if isinstance(kernel, Labels):
        labels = [str(label) for label in kernel.classes_]
        return host(dense(kernel.check(outputs))) > 0, {"labels": json.dumps(labels)}
    outputs = outputs.reshape(len(outputs)) if model.flat_ else outputs
    if outputs.dtype.kind in "biuf":
        return outputs, {}
    if all(isinstance(output, str) for output in outputs):
        return outputs.astype(object), {}
    raise NotSupported(
        f"to_onnx cannot write candidates such as {outputs[0]!r:.60}: they must be numbers, texts "
        "or label sets."
    )


def _sorting(graph: Graph, model: Any, found: Affine) -> Answer:
    """Add the ranks of the labels, sorted by their mean positions."""
    decoder, frame = model.decoder_, model.points_.frame
    ranking = decoder.kernel_.multiple.kernel
    if type(decoder) is Assignment and not isinstance(ranking, Spearman):
        raise NotSupported(
            f"to_onnx cannot write Assignment() under {ranking}, which solves an assignment for "
            "each input. Use decoder=Borda(), which sorts."
        )
    positions = _only_affine(
        model, lambda C: ranking.positions(features(_at(frame, C), decoder.kernel_)), found.width
    )
    order = graph.ordered(_written(graph, found.then(graph, positions)), decoder.m_)
    ranks = graph.cast(graph.ordered(order, decoder.m_), decoder.dtype_)
    return Answer([Output(PREDICTION, ranks, (decoder.m_,), decoder.dtype_)])


def _kemeny(graph: Graph, model: Any, found: Affine) -> Answer:
    """Add the best of all rankings, where these are few enough to be scored."""
    decoder, frame = model.decoder_, model.points_.frame
    if decoder.m_ > ENUMERATED:
        raise NotSupported(
            f"to_onnx cannot write Kemeny() for {decoder.m_} labels, more than {ENUMERATED}: it "
            "searches for each input. Use decoder=Borda(), which sorts."
        )
    rankings = np.array(list(permutations(range(decoder.m_))))
    E = decoder.kernel_.multiple.kernel.features(rankings)
    scores = found.then(graph, lambda C: 2.0 * host(features(_at(frame, C), decoder.kernel_)) @ E.T)
    return _best_row(graph, model, scores, rankings.astype(decoder.dtype_))


WRITTEN_DECODERS: dict[type, Callable[[Graph, Any, Affine], Answer]] = {
    Assignment: _sorting,
    Borda: _sorting,
    Candidates: _candidates,
    Direct: _direct,
    Kemeny: _kemeny,
    Threshold: _threshold,
}
"""The function that writes each decoder."""
