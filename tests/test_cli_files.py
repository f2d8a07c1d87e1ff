"""The command line on files, as a new user would type it."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from mercer.cli import files, main
from mercer.tables import SPACES
from mercer.tables.formats import FORMATS


@pytest.fixture
def run(tmp_path, monkeypatch):
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
    assert "F1, left out" in out
    predicted = run("predict", "m.mercer", "-", input="text\nhot sun today\n").stdout
    assert predicted == "text\tpredicted tags\nhot sun today\tsun\n"
    measures = json.loads(run("evaluate", "m.mercer", "tags.csv", "--json").stdout)
    assert measures["F1"] == 1.0
    facts = json.loads(run("info", "m.mercer", "--json").stdout)
    assert facts["rows"] == 20
    assert "Spectrum" in facts["kernel"]


def test_top_and_files(run, tmp_path):
    run("fit", "tags.csv", "-o", "m.mercer")  # the first column predicts the last
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
        (["fit", "none.csv"], "none.csv does not exist"),
        (["fit", "tags.csv", "--output", "tag"], "did you mean 'tags'"),
        (["fit", "tags.csv", "-o", "no/where/m.mercer"], "no folder"),
        (["predict", "none.mercer", "tags.csv"], "none.mercer is no file"),
        (["predict", "tags.csv", "tags.csv"], "tags.csv is no mercer model"),
        (["fit", "tags.csv", "--space", "vector"], "predict them with --space labels"),
    ],
)
def test_problems_are_one_sentence(run, arguments, message):
    result = run(*arguments, code=1)
    assert message in result.output
    assert "Traceback" not in result.output
    assert result.stdout == ""


def test_usage_errors_have_their_own_code(run):
    run("fit", code=2)
    run("predict", "m.mercer", "tags.csv", "--top", "0", code=2)


@pytest.mark.filterwarnings("default")
def test_warnings_are_sentences_too(run, tmp_path):
    (tmp_path / "same.csv").write_text("x,y\n" + "".join(f"{i},5\n" for i in range(8)))
    result = run("fit", "same.csv")
    assert "Note: all outputs in y are equal" in result.stderr
    assert "UserWarning" not in result.stderr


@pytest.mark.parametrize("arguments", [[], ["usps"], ["all", "--quick", "--out", "o"]])
def test_reproduce_says_where_the_experiments_are(arguments):
    result = CliRunner().invoke(main, ["reproduce", *arguments])
    assert result.exit_code == 1
    assert "make reproduce NAME=" in result.output and "clone of the repository" in result.output
    assert len(result.output.splitlines()) == 1


def test_options_name_what_there_is():
    """The command line says the names again, so that --help need not load the library."""
    assert set(files.FORMATS) == set(FORMATS)
    assert set(files.SPACES) == set(SPACES)
