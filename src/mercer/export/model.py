"""Fitted models as files in the ONNX format, which other programs evaluate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._base.errors import NotSupported, require
from .._base.parameters import one_of
from ..estimators import Blend, ForestDependency, KernelDependency, KernelDependencyCV
from .decoders import Answer, answer
from .graph import FLOATING_TYPES, INPUT_NAME, IR_VERSION, OPSET, Graph
from .maps import points

WRITTEN_MODELS = (Blend, ForestDependency, KernelDependency, KernelDependencyCV)
"""The models that can be written."""
SINGLE_ERROR = 1e-5
"""The largest error of single precision, as a fraction of the largest value of an example."""


def to_onnx(model: Any, path: str | Path | None = None, precision: str = "double") -> Any:
    """Return a fitted model in the ONNX format, and write it to a file if a path is given.

    The result needs neither mercer nor Python: onnxruntime evaluates it. Its input is "X", one row
    of numbers for each item, and its outputs are "prediction" and, for label sets, "scores".

    Parameters
    ----------
    model : KernelDependency, KernelDependencyCV, ForestDependency or Blend
        A fitted model of vectors. Its outputs are vectors, label sets, classes, rankings, or
        candidates that are numbers or texts. What cannot be written raises an error that names it,
        before anything is written.
    path : str or Path, default=None
        The file to write; None for none.
    precision : {"double", "single"}, default="double"
        The precision of the numbers. Single precision halves the file and suits GPUs. Small ridges
        magnify its rounding errors.

    Returns
    -------
    onnx.ModelProto
        The model. Label sets are rows of indicators, whose labels are in its metadata.

    Examples
    --------
    >>> import mercer
    >>> from mercer.kernels import RBF
    >>> model = mercer.KernelDependency(RBF(1.0)).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
    >>> made = mercer.to_onnx(model)
    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession(made.SerializeToString())
    >>> (predicted,) = session.run(["prediction"], {"X": [[0.5], [1.5]]})
    >>> bool(abs(predicted - model.predict([[0.5], [1.5]])).max() < 1e-12)
    True
    """
    require("onnx", "onnx")
    one_of(precision, "precision", tuple(FLOATING_TYPES))
    if not isinstance(model, WRITTEN_MODELS):
        names = ", ".join(kind.__name__ for kind in WRITTEN_MODELS)
        raise NotSupported(
            f"to_onnx cannot write {type(model).__name__}: it writes {names} on vectors."
        )
    check_is_fitted(model)
    made = _written(model, FLOATING_TYPES[precision])
    if path is not None:
        Path(path).write_bytes(made.SerializeToString())
    return made


def _written(model: Any, dtype: Any) -> Any:
    """Return a model in the ONNX format with inputs and outputs of a floating type.

    In single precision, it is computed in double precision if single precision would change the
    values of training inputs too much, or if that is not known.
    """
    graph, found = _drawn(model, dtype, dtype)
    if dtype == np.float32 and not _is_accurate(model, graph):
        graph, found = _drawn(model, np.float64, dtype)
    return _assembled(model, graph, found, dtype)


def _drawn(model: Any, arithmetic: Any, dtype: Any) -> tuple[Graph, Answer]:
    """Return the graph of a model that computes in one type, for inputs of another."""
    graph = Graph(arithmetic)
    given = INPUT_NAME if arithmetic == dtype else graph.cast(INPUT_NAME, arithmetic)
    return graph, answer(graph, model, points(graph, model.points_, given))


def _is_accurate(model: Any, single: Graph) -> bool:
    """Return whether single precision changes examples by at most half of `SINGLE_ERROR`."""
    if single.unbounded or not single.examples:
        return not single.unbounded
    rows = np.concatenate(single.examples).astype(np.float32)
    double = _drawn(model, np.float64, np.float32)[0]
    found, exact = _values(single, rows), _values(double, rows)
    return bool(np.abs(found - exact).max() <= 0.5 * SINGLE_ERROR * np.abs(exact).max())


def _values(graph: Graph, rows: np.ndarray) -> np.ndarray:
    """Return what a graph decodes at some rows, in single precision."""
    from onnx import helper
    from onnx.reference import ReferenceEvaluator

    inputs = [_description(INPUT_NAME, np.float32)]
    outputs = [_description(graph.values, graph.dtype)]
    drawn = helper.make_graph(graph.nodes, "values", inputs, outputs, graph.constants)
    made = helper.make_model(drawn, opset_imports=[helper.make_opsetid("", OPSET)])
    found: Any = ReferenceEvaluator(made).run([graph.values], {INPUT_NAME: rows})
    return found[0]


def _description(name: str, kind: Any, shape: tuple[Any, ...] | None = None) -> Any:
    """Return the description of an input or output; None is any shape."""
    from onnx import helper

    return helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), shape
    )


def _assembled(model: Any, graph: Graph, found: Answer, dtype: Any) -> Any:
    """Return the nodes of a graph as a checked model with its inputs, outputs and metadata."""
    from onnx import checker, helper

    inputs = [_description(INPUT_NAME, dtype, ("rows", model.n_features_in_))]
    outputs = []
    for output in found.outputs:
        kind = dtype if output.kind is None else output.kind
        same = output.kind is not None or graph.dtype == dtype
        if same:
            graph.add("Identity", output.value, to=output.name)
        else:
            graph.cast(output.value, dtype, to=output.name)
        outputs.append(_description(output.name, kind, ("rows", *output.shape)))
    drawn = helper.make_graph(graph.nodes, "mercer", inputs, outputs, graph.constants)
    opset = [helper.make_opsetid("", OPSET)]
    made = helper.make_model(drawn, opset_imports=opset, ir_version=IR_VERSION)
    made.producer_name, made.doc_string = "mercer", repr(model)
    computed = {"arithmetic": np.dtype(graph.dtype).name}
    helper.set_model_props(made, {**computed, **found.notes, **_names(model)})
    checker.check_model(made)
    return made


def _names(model: Any) -> dict[str, str]:
    """Return the names of the columns of tables that the model was fitted on, if they have any."""
    names = {"columns": vars(model).get("feature_names_in_"), "outputs": model.output_names_}
    return {
        key: json.dumps([str(name) for name in value])
        for key, value in names.items()
        if value is not None
    }
