"""The command line on files, as a new user would type it."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from mercer.app.cli import main, options
from mercer.auto.tables.content import TABLE_FORMATS


@pytest.fixture
def run(tmp_path, monkeypatch, few_trees):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tags.csv").write_text(
        "text,tags\n"
        + "the sea is blue,sea\nsun and sea,sea;sun\nhot sun,sun\ncold rain,rain\n" * 5
    )

    def call(*arguments, code=0, input=None):
        result = CliRunner().invoke(main, arguments, input=input)
        assert result.exit_code == code, result.output
        return result

    return call


def test_fit_predict_evaluate_info(run):
    out = run("fit", "tags.csv", "--input", "text", "--output", "tags", "-o", "m.mercer").output
    assert "tags (labels)" in out
    assert "F1, left out" in out and "F1 of left-out rows: " in out
    assert "Use --space COLUMN=KIND" in out
    predicted = run("predict", "m.mercer", "-", input="text\nhot sun today\n").stdout
    assert predicted == "text,predicted tags\nhot sun today,sun\n"
    measures = json.loads(run("evaluate", "m.mercer", "tags.csv", "--json").stdout)
    assert measures["F1"] == 1.0
    facts = json.loads(run("info", "m.mercer", "--json").stdout)
    assert facts["rows"] == 20
    assert facts["columns"] == {"text": "text", "tags": "labels"}


def test_top_and_files(run, tmp_path):
    run("fit", "tags.csv", "-o", "m.mercer")  # the other columns predict the last
    run("predict", "m.mercer", "tags.csv", "--top", "2", "-o", "top.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "top.jsonl").read_text().splitlines()]
    assert [row["rank"] for row in rows[:2]] == [1, 2]
    assert rows[0]["score"] >= rows[1]["score"]


def test_images(run, tmp_path, rng):
    upper = rng.normal(size=(12, 3, 4))
    np.savez(tmp_path / "halves.npz", upper=upper, lower=upper[:, ::-1])
    out = run("fit", "halves.npz", "--input", "upper", "--output", "lower").output
    assert "lower (image)" in out
    run("predict", "model.mercer", "halves.npz", "-o", "completed.npz")
    with np.load(tmp_path / "completed.npz") as file:
        assert file["predicted lower"].shape == (12, 3, 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "tags.csv", "--output", "tag"], "did you mean 'tags'"),
        (["fit", "tags.csv", "-o", "no/where/m.mercer"], "not a folder"),
        (["predict", "tags.csv", "tags.csv"], "tags.csv is not a mercer model"),
        (["fit", "tags.csv", "--space", "vector"], "must be one of number"),
        (["fit", "tags.csv", "--space", "number"], "column 'tags': 'sea' is not a number"),
        (["fit", "tags.csv", "--space", "text=song"], "must be one of number, category"),
        (["fit", "tags.csv", "--space", "txt=text"], "did you mean 'text'"),
        (["fit", "tags.csv", "--input", "tags"], "cannot be both input and output"),
        (["fit", "tags.csv", "--scoring", "beauty"], "'beauty' is neither a scorer"),
        (["fit", "tags.csv", "--report", "tags.csv"], "is the file that is read"),
        (["fit", "tags.csv", "--report", "report.pdf"], "must end in .html"),
        (["fit", "tags.csv", "--coverage", "0.99"], "need at least 99"),
    ],
)
def test_problems_are_one_sentence(run, arguments, message):
    result = run(*arguments, code=1)
    assert message in result.output
    assert "Traceback" not in result.output
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit"], "Missing argument 'DATA'"),
        (["fit", "none.csv"], "'none.csv' does not exist"),
        (["predict", "none.mercer", "tags.csv"], "'none.mercer' does not exist"),
        (["predict", "tags.csv", "tags.csv", "--top", "0"], "0 is not in the range"),
        (["fit", "tags.csv", "--coverage", "90"], "90.0 is not in the range 0<x<1"),
        (["predict", "tags.csv", "tags.csv", "--coverage", "nan"], "nan is not a finite number"),
        (["fit", "tags.csv", "--time-limit", "nan"], "nan is not a finite number"),
        (["fit", "tags.csv", "--time-limit", "inf"], "inf is not a finite number"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_read(run, arguments, message):
    assert message in run(*arguments, code=2).stderr


@pytest.mark.filterwarnings("default")
def test_warnings_are_sentences_too(run, tmp_path):
    (tmp_path / "same.csv").write_text("x,y\n" + "".join(f"{i},5\n" for i in range(8)))
    result = run("fit", "same.csv")
    assert "Note: all outputs in y are equal" in result.stderr
    assert "UserWarning" not in result.stderr


def test_options_name_what_there_is():
    """The command line says the names again, so that --help need not load the library."""
    assert set(options.OUTPUT_FORMATS) == set(TABLE_FORMATS)


def test_kinds_groups_ids_and_sets(run, tmp_path, rng):
    kind = rng.choice(["a", "b", "c"], size=60)
    y = np.where(kind == "a", 0.0, 5.0) + rng.normal(size=60)
    rows = [f"r{i},g{i // 3},{k},{v}" for i, (k, v) in enumerate(zip(kind, y, strict=True))]
    (tmp_path / "d.csv").write_text("name,who,kind,y\n" + "\n".join(rows) + "\n")
    result = run("fit", "d.csv", "--id", "name", "--groups", "who", "--json", "--coverage", "0.8",
               "--time-limit", "60", "--report", "r.html")  # fmt: skip
    facts = json.loads(result.stdout)
    assert facts["columns"] == {"kind": "category", "y": "number"}
    assert set(facts["baselines"]) >= {"mean", "ridge"}
    assert "<title>mercer" in (tmp_path / "r.html").read_text()
    run("predict", "model.mercer", "d.csv", "--coverage", "0.8", "-o", "p.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert list(rows[0]) == ["name", "who", "kind", "y", "predicted y", "lower y", "upper y"]
    inside = [row["lower y"] <= float(row["y"]) <= row["upper y"] for row in rows]
    assert np.mean(inside) > 0.7
    out = run("fit", "d.csv", "--input", "kind..kind,y", "--output", "who", "-o", "w.mercer").stdout
    assert "who (class)" in out or "who (text)" in out
    run("predict", "w.mercer", "d.csv", "--top", "2", "--coverage", "0.5", code=1)


def test_a_guess_is_overridden_by_column(run, tmp_path, rng):
    rows = "".join(f"{i % 4},{i % 3},{i % 3}\n" for i in range(40))
    (tmp_path / "d.csv").write_text("zip,x,y\n" + rows)
    result = run("fit", "d.csv", "--space", "zip=category", "--space", "y=number", "--json",
               "--scoring", "neg_mean_squared_error")  # fmt: skip
    facts = json.loads(result.stdout)
    assert facts["columns"] == {"zip": "category", "x": "number", "y": "number"}
    assert facts["score, left out"] <= 0
    result = run("fit", "d.csv", "--space", "x=nothing", "--json")
    assert json.loads(result.stdout)["columns"] == {"zip": "number", "x": "nothing", "y": "class"}


def test_rows_with_empty_cells_are_left_out(run, tmp_path):
    rows = "".join(f"{i if i % 4 else ''},,{2 * i}\n" for i in range(40))
    (tmp_path / "d.csv").write_text("x,empty,y\n" + rows)
    result = run("fit", "d.csv", "--drop-missing", "--json", "--preset", "fast")
    assert json.loads(result.stdout)["rows"] == 30
    result = run("evaluate", "model.mercer", "d.csv", "--drop-missing", "--json")
    assert json.loads(result.stdout)["rows"] == 30
    result = run("predict", "model.mercer", "-", "--drop-missing", input="x,y\n3,6\n,2\n5,\n")
    assert len(result.stdout.splitlines()) == 3


def test_sets_of_every_kind(run, tmp_path):
    lines = ["x,kind,tags,order"]
    for i in range(40):
        order = "a > b > c" if i % 2 else "c > b > a"
        lines.append(f"{i % 2},{'on' if i % 2 else 'off'},{'p;q' if i % 2 else 'q'},{order}")
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    for output, column, cell in [
        ("kind", "set of kind", ["off"]),
        ("tags", "surely tags", "q"),
        ("order", "set of order", ["c > b > a"]),
    ]:
        run("fit", "d.csv", "--input", "x", "--output", output)
        result = run("predict", "model.mercer", "d.csv", "--coverage", "0.9", "--json").stdout
        assert json.loads(result.splitlines()[0])[column] == cell


def test_progress_goes_into_a_log(run, tmp_path, monkeypatch):
    from mercer._base import progress

    monkeypatch.setattr(progress, "LINE", 0.0)
    (tmp_path / "d.csv").write_text("x,y\n" + "".join(f"{i},{i * i}\n" for i in range(12)))
    err = run("fit", "d.csv").stderr
    assert "% done (ridge), about " in err and " s left" in err
