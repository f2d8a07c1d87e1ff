"""A column is read in the notation of its training cells, whatever else is in the batch."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import mercer
from mercer import AutoDependency
from mercer.app.cli import main
from mercer.app.page.plain import sentence_of
from mercer.auto.inputs import Inputs
from mercer.auto.kinds.guess import input_kind, output_kind
from mercer.auto.outputs import fit_outputs
from mercer.tables import BadTable, Option, Table, read

N = 24
X = np.arange(N) / 5


def fitted(cells):
    """What is learnt of a column of inputs, beside a column of numbers."""
    return Inputs().fit(table(cells))


def table(cells, name="data.csv", **how):
    return Table(name, {"c": list(cells), "x": X[: len(cells)]}, range(2, len(cells) + 2), **how)


def days_read(inputs, *cells):
    rows = inputs.unscaled_numbers(inputs.transform(table(cells, "new.csv")))
    return [str(np.datetime64("1970-01-01") + int(day)) for day in rows[:, 0]]


def values_read(inputs, *cells, **how):
    rows = inputs.unscaled_numbers(inputs.transform(table(cells, "new.csv", **how)))
    return rows[:, 0].tolist()


DAYS_FIRST = [f"{i + 5:02d}/{i % 12 + 1:02d}/2024" for i in range(N)]


def test_the_order_of_day_and_month_is_that_of_training():
    inputs = fitted(DAYS_FIRST)
    assert days_read(inputs, "05/03/2024") == ["2024-03-05"]
    assert days_read(inputs, "05/03/2024", "06/04/2024") == ["2024-03-05", "2024-04-06"]
    with pytest.raises(BadTable, match=r"new.csv, line 3, column 'c': '03/15/2024' is not a date "
                       "with the day first"):  # fmt: skip
        days_read(inputs, "05/03/2024", "03/15/2024")


def test_a_decisive_date_may_be_in_any_row():
    late = ["05/03/2024"] * 300 + ["31/12/2024"]
    _, days = fit_outputs(None, Table("t.csv", {"y": late}, range(301)), ["y"])
    assert str(np.datetime64("1970-01-01") + int(days[0, 0])) == "2024-03-05"


def test_what_the_user_states_of_a_file_overrides_training():
    inputs = fitted(DAYS_FIRST)
    new = table(["03/15/2024"], day_first=False)
    assert inputs.transform(new).shape == inputs.transform(table(["15/03/2024"])).shape
    prices = fitted([f"{i}.5" for i in range(N)])
    stated = values_read(prices, "12,5", "1.000,5", decimal=",", decimal_is_stated=True)
    assert stated == pytest.approx([12.5, 1000.5])


@pytest.mark.parametrize(
    ("cells", "read", "refused"),
    [
        ([f"{1000 + i:,}.5" for i in range(N)], {"12,500": 12500, "7": 7}, ["12,5", "1.000,5"]),
        ([f"{i}.5" for i in range(N)], {"59.5": 59.5, "1,234.5": 1234.5}, ["1,500", "12,5"]),
        ([f"{i},5" for i in range(N)], {"59,5": 59.5}, ["1.500", "12.5"]),
        ([str(i) for i in range(N)], {"30": 30, "30.5": 30.5}, ["1,500", "30,5"]),
    ],
)
@pytest.mark.parametrize("separator", [None, ";", "\t"])
def test_marks_in_numbers_are_those_of_training(cells, read, refused, separator):
    inputs = Inputs().fit(table(cells, separator=separator))
    for cell, value in read.items():
        assert values_read(inputs, cell, separator=separator) == pytest.approx([value])
    for cell in refused:
        for others in ([], ["12,5", "0,5"], ["12.5"]):
            with pytest.raises(BadTable, match=r"new.csv, line \d, column 'c': '"):
                values_read(inputs, cell, *others, separator=separator)


@pytest.mark.parametrize(
    ("cells", "bad"),
    [
        (["7 %", "8 %", "9"], "'9' does not have the unit of the other cells (%)"),
        (["$7", "$8", "€9"], "'€9' does not have the unit of the other cells ($)"),
        (["7", "8", "9 %"], "'9 %' does not have the unit of the other cells (none)"),
    ],
)
def test_one_column_has_one_unit(cells, bad):
    with pytest.raises(BadTable) as caught:
        fitted(cells * 4)
    assert bad in str(caught.value) and "line 4, column 'c'" in str(caught.value)
    inputs = fitted(cells[:2] * 4)
    with pytest.raises(BadTable, match=r"new.csv, line 2, column 'c'"):
        values_read(inputs, cells[2])


def test_a_currency_sign_may_be_left_out_and_a_number_in_an_array_has_no_per_cent():
    dollars = fitted([f"${i}" for i in range(N)])
    assert values_read(dollars, "$5", "7") == pytest.approx([5, 7])
    percents = fitted([f"{i} %" for i in range(N)])
    assert values_read(percents, "5 %") == pytest.approx([5])
    for cells in ([5.0], np.array([5.0])):
        with pytest.raises(BadTable, match="does not have the unit of the other cells"):
            percents.transform(Table("new", {"c": cells, "x": X[:1]}, [0]))


def test_per_cent_are_predicted_in_per_cent(few_trees):
    model = AutoDependency(preset="fast", random_state=0)
    frame = pd.DataFrame({"x": np.arange(N), "share": [f"{2 * i} %" for i in range(N)]})
    model.fit(frame)
    assert model.found_["share"] == "0 to 46 %"
    assert model.predict(pd.DataFrame({"x": [10]}))["share"][0] == pytest.approx(20, abs=2)


ISO_TIMES = [f"2024-01-{i + 1:02d}T10:30" for i in range(N)]


@pytest.mark.parametrize("aware", [False, True])
def test_times_with_and_without_a_time_zone_are_not_mixed(aware):
    own, other = ("+02:00", "") if aware else ("", "+02:00")
    cells = [time + own for time in ISO_TIMES]
    with pytest.raises(BadTable, match=r"line 25, column 'c': .* has (a|no) time zone, unlike"):
        fitted([*cells[:-1], ISO_TIMES[-1] + other])
    inputs = fitted(cells)
    with pytest.raises(BadTable, match=r"new.csv, line 2, column 'c': .* time zone, unlike"):
        values_read(inputs, ISO_TIMES[0] + other)
    stamps = pd.date_range("2024-01-01", periods=N, tz=None if aware else "Europe/Rome")
    with pytest.raises(BadTable, match="time zone, unlike the other cells"):
        inputs.transform(pd_table(stamps))


def pd_table(cells):
    from mercer.auto.tables.frames import as_table

    return as_table(pd.DataFrame({"c": cells, "x": X[: len(cells)]}))


@pytest.mark.parametrize(
    "cells",
    [
        [f"<p>text {i}</p>" for i in range(N)],
        [f"<b>{'yes' if i % 2 else 'no'}</b> {i}" for i in range(N)],
        [f"Ann {i} <ann{i}@x.org>" for i in range(N)],
        [f"size > {i} and < {i + 2}" for i in range(N)],
    ],
)
def test_markup_and_addresses_are_not_rankings(cells):
    assert output_kind(table(cells), "c") in ("text", "class")


def test_a_frame_of_booleans_and_categories_comes_back_from_csv(tmp_path):
    frame = pd.DataFrame({
        "member": np.arange(N) % 2 > 0,
        "size": pd.Categorical(np.arange(N) % 3),
        "x": np.arange(N) / 7,
    })  # fmt: skip
    frame["wide"], frame["level"] = frame["member"], frame["size"].astype(int)
    frame.to_csv(tmp_path / "t.csv", index=False)
    file = read(tmp_path / "t.csv")
    inputs = Inputs(["member", "size", "x"]).fit(pd_frame(frame))
    np.testing.assert_array_equal(inputs.transform(file), inputs.transform(pd_frame(frame)))
    assert Inputs(["member", "size", "x"]).fit(file).kinds_ == inputs.kinds_
    for name, kind in (("wide", "b"), ("level", "i")):
        outputs, items = fit_outputs(None, pd_frame(frame), [name])
        assert items.dtype.kind == kind
        again = outputs.read(file)
        assert again.tolist() == items.tolist()
        assert {type(item) for item in again.tolist()} == {type(item) for item in items.tolist()}


def pd_frame(frame):
    from mercer.auto.tables.frames import as_table

    return as_table(frame)


def test_an_index_is_not_an_input_of_a_frame_or_of_a_file(tmp_path):
    frame = pd.DataFrame({"a": np.linspace(0, 1, N), "y": np.linspace(0, 2, N)})
    frame[frame["a"] > 0.1].to_csv(tmp_path / "t.csv")
    for data in (read(tmp_path / "t.csv"), pd_frame(pd.read_csv(tmp_path / "t.csv"))):
        assert list(data.columns) == ["Unnamed: 0", "a", "y"]
        assert input_kind(data, "Unnamed: 0") == "nothing"
        assert input_kind(data, "a") == "number"


def test_errors_are_data_that_each_front_end_words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("x;y\n" + "".join(f"{i};{i * 2}\n" for i in range(12)))
    problem = BadTable("t.csv is odd", ["fix it", Option("decimal", ","), Option("decimal", ".")])
    assert str(problem) == "t.csv is odd: fix it, pass decimal=',' or decimal='.'."
    assert problem.remedy == ["fix it", Option("decimal", ","), Option("decimal", ".")]
    assert sentence_of(problem) == "t.csv is odd: fix it."
    told = CliRunner().invoke(main, ["fit", "t.csv", "--output", "rows out"])
    assert "has no column 'rows out': its columns are 'x', 'y'." in told.stderr
    (tmp_path / "u.csv").write_text("missing=['a'],b\n1,2\n")
    told = CliRunner().invoke(main, ["fit", "u.csv", "--output", "missing=['b']"])
    assert "\"missing=['b']\"" in told.stderr
    told = CliRunner().invoke(main, ["fit", "t.csv", "--no-header"])
    assert "pass --missing y or --space COLUMN=text." in " ".join(told.stderr.split())


def test_notations_are_saved_with_the_model(few_trees, tmp_path):
    frame = pd.DataFrame({"when": DAYS_FIRST, "price": [f"$1,{i:03d}" for i in range(N)]})
    frame["y"] = np.arange(N)
    model = AutoDependency(preset="fast", random_state=0).fit(frame)
    loaded = mercer.load(mercer.save(model, tmp_path / "m.mercer"))
    assert loaded.inputs_.forms_ == model.inputs_.forms_
    with pytest.raises(BadTable, match="'03/15/2024' is not a date with the day first"):
        loaded.predict({"when": ["03/15/2024"], "price": ["$1,500"]})
