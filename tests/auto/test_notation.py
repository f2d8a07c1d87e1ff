"""Numbers and dates in the notations of many countries, and what is one of two things."""

from datetime import date, time, timedelta

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import AutoDependency
from mercer.auto.kinds.registry import kind_named
from mercer.auto.kinds.times import write_dates
from mercer.auto.outputs import fit_outputs
from mercer.auto.tables.columns import Column, numbers
from mercer.auto.tables.notation import Dates, Numbers, parse_amount
from mercer.tables import BadTable, Table, read


@pytest.mark.parametrize(
    ("text", "mark", "value"),
    [
        ("1.5", ".", 1.5), ("-1.5e3", ".", -1500), ("1,234.5", ".", 1234.5), ("12%", ".", 12),
        ("1,234,567", ".", 1234567), ("12.5 %", ".", 12.5), ("−3", ".", -3), (".5", ".", 0.5),
        ("1,5", ",", 1.5), ("1.234,5", ",", 1234.5), ("1\u00a0234,5", ",", 1234.5),
        ("1'234.5", ".", 1234.5), ("12,5 %", ",", 12.5), (",5", ",", 0.5),
        ("1 234,5", ", ", 1234.5), ("$1,234.50", ".", 1234.5), ("1.234,50 €", ",", 1234.5),
        ("-£3", ".", -3), ("$-3", ".", -3), ("($1,250)", ".", -1250), ("$", ".", None),
        ("(12.5)", ".", -12.5), ("(2020)", ".", None), ("(1)", ".", None), ("$5%", ".", None),
        ("(x)", ".", None), ("1,23", ".", None), ("1.2.3", ".", None), ("1_000", ".", None),
        ("12,34", ".", None),
        ("1,2,3", ",", None), ("", ".", None), ("%", ".", None), ("0,123", ".", None),
        ("3 apples", ".", None), ("1 234", ".", None), ("1e", ",", None),
    ],
)  # fmt: skip
def test_numbers(text, mark, value):
    amount = parse_amount(text, mark[0], blank=" " in mark)
    assert (amount and amount.value) == (None if value is None else pytest.approx(value))


def column(file, cells, separator=";", **how):
    """What a column says beside another of plain text."""
    text = "x;name\n" + "".join(f'"{cell}";n\n' for cell in cells)
    return numbers(read(file(text.replace(";", separator)), **how), ["x"]).ravel().tolist()


@pytest.mark.parametrize(
    ("cells", "separator", "values"),
    [
        (["1,5", "2,25"], ";", [1.5, 2.25]),
        (["1.234,5", "2,25"], ";", [1234.5, 2.25]),
        (["1,234", "2,500"], ";", [1.234, 2.5]),
        (["1,234", "2,500"], ",", [1234, 2500]),
        (["1,234.5", "12"], ",", [1234.5, 12]),
        (["1,234.5", "12"], "\t", [1234.5, 12]),
        (["950", "1 250", "12 345 678"], ";", [950, 1250, 12345678]),
        (["1.234", "2.500"], ";", [1.234, 2.5]),
        (["10 %", "5 %"], ";", [10, 5]),
        (["10,5%", "5%"], ";", [10.5, 5]),
        (["1.234,50 €", "99,00 €"], ";", [1234.5, 99]),
        (["$2,912", "$504", "($1,300)"], ";", [2912, 504, -1300]),
        (["2.912 €", "504 €"], "\t", [2912, 504]),
        (["£2,91", "£5,04"], "\t", [2.91, 5.04]),
    ],
)
def test_columns_of_numbers(file, cells, separator, values):
    assert column(file, cells, separator) == pytest.approx(values)


def test_one_column_tells_the_mark_of_another(file):
    table = read(file("price;number\n1,5;1.234\n2,75;2.500\n"))
    assert table.decimal == ","
    assert "decimal commas" in table.read_as
    assert numbers(table, ["price", "number"]).tolist() == [[1.5, 1234], [2.75, 2500]]


def test_one_of_two_numbers_is_asked_for(file):
    with pytest.raises(
        BadTable, match=r"line 2, column 'x': '1,234' can mean two numbers.*decimal="
    ):
        column(file, ["1,234", "2,500"], "\t")
    with pytest.raises(BadTable, match=r"'\$3.499' can mean two numbers"):  # of a gallon, or pesos
        column(file, ["$3.499", "$3.609"], "\t")
    assert column(file, ["1,234", "2,500"], "\t", decimal=",") == [1.234, 2.5]
    assert column(file, ["1,234", "2,500"], "\t", decimal=".") == [1234, 2500]


def test_label_numbers_in_a_comma_file_are_no_decimals(file):
    table = read(file('x,y\n1,"1,2"\n2,"3"\n3,"2,3"\n4,"1,2"\n'))
    with pytest.raises(BadTable, match="not a number"):
        numbers(table, ["y"])


def days(*dates):
    return [(date.fromisoformat(text) - date(1970, 1, 1)).days for text in dates]


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["2024-03-04", "2024-12-31"], days("2024-03-04", "2024-12-31")),
        (["4.3.2024", "31.12.2024"], days("2024-03-04", "2024-12-31")),
        (["04/03/2024", "31/12/2024"], days("2024-03-04", "2024-12-31")),
        (["03/04/2024", "12/31/2024"], days("2024-03-04", "2024-12-31")),
        (["4 Mar 2024", "31 Dec 2024"], days("2024-03-04", "2024-12-31")),
        (["2024-03-04T12:00", "2024-12-31T00:00"],
         [days("2024-03-04")[0] + 0.5, *days("2024-12-31")]),
        (["04.03.2024 12:00", "31.12.2024 00:00:00"],
         [days("2024-03-04")[0] + 0.5, *days("2024-12-31")]),
        (["2024-03-04T12:00+02:00", "2024-12-31T02:00+02:00"],
         [days("2024-03-04")[0] + 10 / 24, *days("2024-12-31")]),
    ],
)  # fmt: skip
def test_dates(file, cells, values):
    assert column(file, cells) == pytest.approx(values)


def test_one_of_two_days_is_asked_for(file):
    cells = ["05/05/2024", "03/04/2024", "04/03/2024"]
    with pytest.raises(
        BadTable,
        match=r"line 3, column 'x': '03/04/2024' can mean two days: pass day",
    ):
        column(file, cells)
    assert column(file, cells, day_first=True)[1:] == days("2024-04-03", "2024-03-04")
    assert column(file, cells, day_first=False)[1:] == days("2024-03-04", "2024-04-03")


def test_dates_are_learnt_and_predicted(file, tmp_path):
    rows = "".join(f"{i};{i % 28 + 1:02d}/{i // 28 + 1:02d}/2024\n" for i in range(60))
    model = AutoDependency().fit(read(file("x;when\n" + rows)))
    assert model.outputs_.kind_ == "number" and "dates from 2024-01-01" in model.found_["when"]
    cell = model.predict(read(file("x\n33\n34\n")))["when"][0]
    assert abs(date.fromisoformat(cell) - date(2024, 2, 6)).days < 4
    back = AutoDependency(["when"], "x").fit(read(file("x;when\n" + rows)))
    back = mercer.load(mercer.save(back, tmp_path / "m.mercer"))
    one = read(file("when;other\n03/02/2024;1\n04/02/2024;1\n"))  # either of two days, but learnt
    assert back.predict(one)["x"][0] == pytest.approx(30, abs=3)


@pytest.mark.parametrize(
    ("cells", "days", "written"),
    [
        (["08:30", "23:00:15"], [8.5 / 24, (23 + 15 / 3600) / 24], ["08:30", "23:00:15"]),
        (["2 days 03:00:00", "-1 days +12:00:00"], [2.125, -0.5], None),
        (["PT5M", "P1DT2H"], [5 / 1440, 26 / 24], ["0 days 00:05:00", "1 days 02:00:00"]),
        ([time(8, 30), time(12)], [8.5 / 24, 0.5], [time(8, 30), time(12)]),
        ([timedelta(hours=3), timedelta(1)], [0.125, 1.0], [timedelta(hours=3), timedelta(1)]),
    ],
)
def test_durations(cells, days, written):
    outputs, items = fit_outputs(None, Table("t.csv", {"y": cells}, range(2)), ["y"])
    assert outputs.kind_ == "number"
    assert items.ravel().tolist() == pytest.approx(days)
    assert outputs.write(items)["y"] == (written or cells)


@pytest.mark.parametrize("cells", [["16:9", "4:3"], ["2:1", "3:0"], ["1:75", "2:80"]])
def test_ratios_and_scores_are_not_durations(cells):
    assert fit_outputs(None, Table("t.csv", {"y": cells}, range(2)), ["y"])[1].dtype.kind in "OU"


def test_words_that_pandas_takes_for_dates_are_words(file):
    with pytest.raises(BadTable, match="line 3, column 'x': 'today' is not a date"):
        column(file, ["04.03.2024", "today", "05.03.2024"])


def test_a_word_among_dates_is_named(file):
    cells = [*["2024-03-04"] * 9, "soon"]
    table = read(file("x;when\n" + "".join(f"{i};{cell}\n" for i, cell in enumerate(cells))))
    with pytest.raises(BadTable, match="line 11, column 'when': 'soon' is not a date, but 9 of 10"):
        AutoDependency(["when"], "x").fit(table)


@pytest.mark.parametrize("days", [["yesterday"], ["2024-03-04", "yesterday"]])
def test_a_word_instead_of_a_new_date_is_named(days):
    when = pd.date_range("2024-01-01", periods=20)
    model = AutoDependency(output="y", preset="fast", random_state=0)
    model.fit(pd.DataFrame({"when": when, "y": np.sin(np.arange(20.0))}))
    with pytest.raises(BadTable, match="column 'when': 'yesterday' is not a date"):
        model.predict(pd.DataFrame({"when": days}))


def test_days_are_written_within_the_calendar():
    days = np.array([0.4, 1e12, -1e12])
    assert write_dates(days, "text", False) == ["1970-01-01", "9999-12-30", "0001-01-01"]
    assert write_dates(np.array([0.5]), "text", True) == ["1970-01-01T12:00:00"]


@pytest.mark.parametrize("cell", [10**400, "1" * 400, [10**400], float("inf")])
def test_numbers_beyond_floating_point_are_refused(cell, file):
    assert not np.isfinite(Numbers().parse(cell)).all()


@pytest.mark.parametrize("value", ["1e308", "-1e61", "1e400", "9" * 400])
def test_values_that_leave_floating_point_are_named(file, value):
    rows = "".join(f"{i},{i}\n" for i in range(8))
    for text in (f"x,y\n{rows}8,{value}\n", f"x,y\n{rows}{value},8\n"):
        with pytest.raises(BadTable, match=r"line 10, column '[xy]': the value is (over|not)"):
            AutoDependency().fit(read(file(text)))


def test_large_values_are_learnt(file):
    rows = "".join(f"{i},{i}e58,{i}\n" for i in range(8))
    for kind in ("number", "curve"):
        outputs = kind_named(kind)
        items = outputs.fit(read(file("x,y,z\n" + rows)), ["y", "z"])
        kernel = outputs.kernel(items).fit(items)
        assert np.isfinite(kernel(items, items)).all()
        assert np.isfinite(outputs.write(items)["y"]).all()


def test_arrays_have_one_notation(file):
    table = read(file("x,y\n1,2\n"))
    table = type(table)("a.npz", {"x": np.array(["2024-01-01"], dtype="datetime64[D]")}, [1])
    assert Column.of(table, "x").notation() == Dates(aware=False)
    assert numbers(table, ["x"]).ravel().tolist() == days("2024-01-01")


def test_a_long_text_is_not_parsed_to_its_end(monkeypatch):
    parsed = []
    monkeypatch.setattr("mercer.auto.tables.notation.parse_amount", lambda *a: parsed.append(a))
    assert Numbers().parse("many words " * 1000) is None
    assert len(parsed) < 5


@pytest.mark.parametrize("offset", ["", "+00:00", "+02:00", "-05:30"])
def test_dates_in_text_keep_their_offset_from_utc(offset):
    cells = [f"2024-01-{day:02d}T10:30:00{offset}" for day in range(1, 29)]
    outputs, items = fit_outputs(None, Table("t.csv", {"when": cells}, range(28)), ["when"])
    assert outputs.write(items)["when"] == cells
