"""Records: rows whose fields have spaces of their own, and the tables that they come in."""

import numpy as np
import pandas as pd
import pytest

from mercer.defaults import default_kernel, evaluate
from mercer.kernels import Delta, Kendall, Labels, Linear, On, Spectrum, UnitVariance
from mercer.kernels.base import as_output_kernel
from mercer.kernels.records import field_kernels
from mercer.spaces import Classes, LabelSets, Opaque, Rankings, Records, Sequences, Vectors

COLUMNS = {
    "count": [1.0, 2.0, 4.0],
    "weather": ["rain", "sun", "sun"],
    "tags": [["a"], [], ["a", "b"]],
    "order": [[0, 1, 2], [2, 1, 0], [0, 2, 1]],
}
SPACE = Records(
    {"count": Vectors(), "weather": Classes(), "tags": LabelSets(), "order": Rankings()}
)


def test_the_space_of_a_sum_has_the_fields_of_its_terms():
    kernel = On("count", Linear()) + 2 * On("weather", Delta()) + On("order", Kendall())
    assert kernel.space.fields.keys() == {"count", "weather", "order"}
    assert isinstance(kernel.space.fields["weather"], Classes)
    twice = On("title", Spectrum(2)) + On("title", Labels())
    assert isinstance(twice.space.fields["title"], Opaque)
    assert list(field_kernels(kernel)) == ["count", "weather", "order"]
    assert field_kernels(On("count", Linear()) * On("weather", Delta())) is None


def test_equal_records_have_equal_keys():
    records = SPACE.check({name: [*cells, cells[0]] for name, cells in COLUMNS.items()})
    keys = SPACE.keys(records)
    assert keys[0] == keys[3] and len(set(keys)) == 3


class Lengths(Sequences):
    """Texts that are compared by their lengths: a loss of outputs that have no mean."""

    greater_is_better = False

    def metric(self, y_true, y_pred, average=True):
        each = np.array([abs(len(a) - len(b)) for a, b in zip(y_true, y_pred, strict=True)], float)
        return each.mean() if average else each


def test_losses_of_outputs_without_a_mean_are_relative_to_other_records():
    space = Records({"text": Lengths()})
    truth, predicted = ({"text": texts} for texts in (["a", "aaa", "aa"], ["a", "aaaa", "aa"]))
    each = evaluate(space, space.check(truth), space.check(predicted), average=False)
    assert each == pytest.approx([1.0, 1.0 - 1.0 / (4.0 / 3.0), 1.0])


def test_the_metric_is_the_mean_over_fields_and_does_not_depend_on_units():
    truth = SPACE.check(COLUMNS)
    assert evaluate(SPACE, truth, truth) == 1.0
    moved = [{**record, "count": 2.0 * record["count"]} for record in truth]
    other = [{**record, "weather": "sun", "count": 2.0 * record["count"]} for record in truth]
    assert np.isclose(evaluate(SPACE, moved, other), 1.0 - (1 / 3) / 4)
    each = evaluate(SPACE, moved, other, average=False)
    np.testing.assert_allclose(each, [0.75, 1.0, 1.0])


def test_the_default_kernel_is_the_sum_of_those_of_the_fields():
    assert list(field_kernels(default_kernel(SPACE))) == list(COLUMNS)


def test_fields_of_outputs_count_alike_whatever_their_units():
    kernel = as_output_kernel(On("count", Linear()) + 3 * On("weather", Delta()))
    small, large = dict(COLUMNS), {**COLUMNS, "count": [1e6, 2e6, 4e6]}
    np.testing.assert_allclose(kernel.fit(small)(small), kernel.fit(large)(large))
    assert as_output_kernel(kernel) is not kernel
    assert str(as_output_kernel(kernel)) == str(kernel)
    frozen = kernel.frozen()
    assert as_output_kernel(frozen) is frozen


def test_unit_variance_is_the_kernel_over_its_spread():
    values = np.array([[0.0], [20.0]])
    kernel = UnitVariance(Linear()).fit(values)
    assert kernel.variance_ == 100.0
    words = ["ab", "ba", "bb"]
    K = UnitVariance(Spectrum(2)).fit(words)(words)
    assert np.isclose(np.trace(K) / 3 - K.mean(), 1.0)
    assert UnitVariance(Linear()).fit(np.ones((3, 1))).variance_ == 1.0
    with pytest.raises(ValueError, match="call fit"):
        UnitVariance(Linear())(values)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "columns", "structured", "rows"])
def test_predictions_are_tables_like_the_outputs(kind):
    space = Records({"weather": Classes(), "count": Vectors(), "title": Sequences()})
    frame = pd.DataFrame(
        {
            "count": [1, 2],
            "weather": pd.Categorical(["b", "a"], ["a", "b", "c"]),
            "title": ["x", "y"],
        }
    )
    records = space.check(frame)
    given = _as_kind(frame, kind)
    form = space.form(given)
    if kind == "rows":
        assert form is None
        return
    back = form.restore(records)
    assert type(back) is type(given)
    if kind == "pandas":
        pd.testing.assert_frame_equal(back, frame)
    names = back.dtype.names if kind == "structured" else list(_as_columns(back))
    assert list(names) == ["count", "weather", "title"]


def _as_kind(frame, kind):
    plain = {name: frame[name].tolist() for name in frame}
    if kind == "pandas":
        return frame
    if kind in ("polars", "pyarrow"):
        library = pytest.importorskip(kind)
        return library.DataFrame(plain) if kind == "polars" else library.table(plain)
    if kind == "structured":
        rows = list(zip(*plain.values(), strict=True))
        return np.array(rows, dtype=[("count", int), ("weather", "U1"), ("title", "U1")])
    return plain if kind == "columns" else frame.to_dict("records")


def _as_columns(table):
    if isinstance(table, dict):
        return table
    return table.column_names if hasattr(table, "column_names") else table.columns
