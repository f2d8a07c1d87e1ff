"""The page: files are looked at, learnt from and asked, also wrong ones."""

import base64
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from mercer import AutoDependency, load
from mercer.app.page import table
from mercer.app.page import table as page
from mercer.app.page.plain import to_json_types
from mercer.app.page.table import TablePage

pytestmark = pytest.mark.usefixtures("few_trees")


def sent(text, name="t.csv"):
    return {"name": name, "file": base64.b64encode(text.encode()).decode()}


def learnt(tables, **request):
    tables.fit(request)
    end = time.monotonic() + 300
    while (told := tables.progress({}))["state"] == "running":
        assert time.monotonic() < end
        time.sleep(0.05)
    return told


CLASSES = "size,colour\n" + "".join(f"{i},{'red' if i < 15 else 'blue'}\n" for i in range(30))
LABELS = "text\ttags\n" + "".join(
    f"{a} {b}\t{';'.join(t)}\n"
    for a, b, t in [("sunny", "sea", ["sun", "sea"]), ("rainy", "sea", ["sea"])] * 15
)
RANKS = "x,first\n" + "".join(f"{i},{'a > b > c' if i < 15 else 'c > b > a'}\n" for i in range(30))
MIXED = "x,size,colour\n" + "".join(
    f"{i},{2 * i},{'red' if i < 15 else 'blue'}\n" for i in range(30)
)
NUMBERS = "x,y,z\n" + "".join(f"{i},{2 * i + 0.5},{i * i}\n" for i in range(24))


@pytest.mark.parametrize(
    ("text", "inputs", "outputs", "kind", "row", "expected"),
    [
        (CLASSES, ["size"], ["colour"], "class", {"size": "3"}, {"colour": "red"}),
        (LABELS, ["text"], ["tags"], "labels", {"text": "sunny sea"}, {"tags": "sea;sun"}),
        (RANKS, ["x"], ["first"], "ranking", {"x": "2"}, {"first": "a > b > c"}),
        (MIXED, ["x"], ["size", "colour"], "record", {"x": "2"}, {"size": 4.0, "colour": "red"}),
    ],
    ids=["class", "labels", "ranking", "record"],
)
def test_kinds_of_outputs(text, inputs, outputs, kind, row, expected):
    tables = TablePage()
    tables.upload(sent(text, "t.tsv" if "\t" in text else "t.csv"))
    told = learnt(tables, inputs=inputs, outputs=outputs)
    assert (told["state"], told["kind"]) == ("done", kind), told
    answer = tables.predict({"row": row})
    assert answer["output"] == pytest.approx(expected, abs=0.5)
    assert answer["members"] >= 1 and answer["coverage"] == 0.9


def test_numbers_have_bands_and_the_model_can_be_taken_away(tmp_path):
    tables = TablePage()
    assert tables.upload({}) == {"columns": []}
    looked = tables.upload(sent(NUMBERS))
    assert [column["input"] for column in looked["columns"]] == ["number"] * 3
    assert learnt(tables, inputs=["x"], outputs=["y", "z"])["state"] == "done"
    answer = tables.predict({"row": {"x": "7"}})
    low, high = np.array(answer["band"])
    assert (low < [14.5, 49]).all() and (high > [14.5, 49]).all()
    row = tables.row({"number": 25})
    assert row == {"number": 1, "inputs": {"x": "1"}, "truth": {"y": "2.5", "z": "1"}}
    (tmp_path / "m.mercer").write_bytes(tables.model_file())
    predicted = load(tmp_path / "m.mercer").predict({"x": [7.0]})
    assert predicted["y"][0] == pytest.approx(answer["output"]["y"])
    assert tables.report().startswith(b"<!doctype html>")


def test_a_file_to_begin_with(tmp_path):
    (tmp_path / "flats.csv").write_text(CLASSES)
    told = TablePage(tmp_path / "flats.csv").upload({})
    assert told["name"] == "flats.csv" and told["rows"] == 30


def test_rows_without_an_output_are_left_out_and_counted():
    tables = TablePage()
    tables.upload(sent(CLASSES.replace("3,red", "3,")))
    assert learnt(tables, inputs=["size"], outputs=["colour"])["left_out"] == 2


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"file": "§"}, "base64"),
        (sent(""), "t.csv is empty"),
        (sent("a,b\n1,2,3,4\n"), "t.csv"),
        (sent("a,a\n1,2\n"), "more than once"),
        (sent("a,b\n", "../../up.csv"), "up.csv has a header and no rows"),
        (sent(",".join(f"c{i}" for i in range(400)) + "\n" + ",".join(["1"] * 400)), "takes 300"),
    ],
)
def test_files_that_are_no_tables(request_, message):
    with pytest.raises(ValueError, match=message) as caught:
        TablePage().upload(request_)
    assert "--" not in str(caught.value)  # no options of the command line


def test_questions_out_of_order():
    tables = TablePage()
    with pytest.raises(ValueError, match="Drop a table"):
        tables.fit({"inputs": ["a"], "outputs": ["b"]})
    tables.upload(sent(CLASSES))
    for ask in (tables.predict, tables.row):
        with pytest.raises(ValueError, match="fit one first"):
            ask({"row": {}})
    with pytest.raises(ValueError, match="at least one input"):
        tables.fit({"inputs": [], "outputs": ["colour"]})
    with pytest.raises(ValueError, match="both input and output"):
        tables.fit({"inputs": ["size"], "outputs": ["size"]})
    with pytest.raises(ValueError, match="list of column names"):
        tables.fit({"inputs": "size", "outputs": [1]})
    assert tables.progress({}) == {"state": "none"}


def test_the_kind_of_one_of_several_outputs_can_be_changed():
    tables = TablePage()
    tables.upload(sent(MIXED))
    kinds = {"colour": "text"}
    assert learnt(tables, inputs=["x"], outputs=["size", "colour"], kinds=kinds)["state"] == "done"
    assert tables.job.model.spaces_ == {"x": "number", "size": "number", "colour": "text"}


def test_kinds_can_be_changed():
    tables = TablePage()
    looked = tables.upload(sent("zip,x,y\n" + "".join(f"{i % 4},{i},{i % 3}\n" for i in range(30))))
    assert looked["columns"][2] == {"name": "y", "input": "number", "output": "class"}
    kinds = {"zip": "category", "y": "number"}
    assert kinds["zip"] in looked["kinds"]["input"] and kinds["y"] in looked["kinds"]["output"]
    found = learnt(tables, inputs=["zip"], outputs=["y"], kinds=kinds)
    assert found["kind"] == "number"
    assert [(field["name"], field["kind"]) for field in found["form"]] == [("zip", "category")]


def test_one_fit_at_a_time(monkeypatch):
    """Also of requests that arrive together, and of a table that replaces another."""
    release, fits = threading.Event(), []

    def slow(model, table):
        fits.append(table)
        release.wait(60)

    monkeypatch.setattr(AutoDependency, "fit", slow)
    tables = TablePage()
    tables.upload(sent(CLASSES))
    request = {"inputs": ["size"], "outputs": ["colour"]}

    def begin(_):
        try:
            return tables.fit(request)
        except ValueError as problem:
            return str(problem)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(begin, range(8)))
    assert sum(isinstance(answer, dict) for answer in answers) == 1
    tables.upload(sent(CLASSES))
    assert "Another fit is running" in begin(0)
    release.set()
    tables.started.thread.join()
    assert len(fits) == 1


def test_a_file_that_cannot_be_read_replaces_the_table():
    tables = TablePage()
    tables.upload(sent(CLASSES))
    with pytest.raises(ValueError, match="empty"):
        tables.upload(sent(""))
    assert tables.upload({}) == {"columns": []}


def test_a_fit_that_fails_says_why():
    tables = TablePage()
    tables.upload(sent("a,b\n1,2\n1,3\n1,2\n1,5\n1,6\n"))
    told = learnt(tables, inputs=["a"], outputs=["b"])
    assert told == {
        "state": "failed",
        "why": "t.csv: no input column varies: there is nothing to learn from.",
    }


def test_plain_values():
    assert to_json_types({"a": np.array([1.0, np.nan]), "b": {"x", "w"}, 3: np.float64("inf")}) == {
        "a": [1.0, None], "b": ["w", "x"], "3": None,
    }  # fmt: skip


def test_two_uploads_at_once_are_both_answered(monkeypatch):
    tables = TablePage()
    look = table._kinds_by_role

    def while_another_upload_begins(given, name):
        """Look at a column, after another upload has taken the table away."""
        tables.table = None
        return look(given, name)

    monkeypatch.setattr(table, "_kinds_by_role", while_another_upload_begins)
    looked = tables.upload(sent(NUMBERS))
    assert [column["name"] for column in looked["columns"]] == NUMBERS.splitlines()[0].split(",")


def test_uploads_at_once_answer_for_their_own_table(monkeypatch):
    tables, other = TablePage(), sent(LABELS, "u.tsv")
    real = page._kinds_by_role

    def interrupted(table, name):
        """Another upload arrives while the first is answered, and cannot be read."""
        monkeypatch.setattr(page, "_kinds_by_role", real)
        with pytest.raises(ValueError, match="is empty"):
            tables.upload(sent(""))
        return real(table, name)

    monkeypatch.setattr(page, "_kinds_by_role", interrupted)
    assert tables.upload(sent(CLASSES))["rows"] == 30
    assert tables.upload(other)["name"] == "u.tsv"


def test_rows_with_empty_tags_are_kept_as_sets_without_labels():
    tables = TablePage()
    tables.upload(sent(LABELS.replace("\tsea\n", "\t\n"), "t.tsv"))
    told = learnt(tables, inputs=["text"], outputs=["tags"])
    assert (told["rows"], told["left_out"]) == (30, 0)
