"""The command line from a file to predictions, in every format, as a new user would type it."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from mercer import AutoDependency
from mercer.app.cli import main

pytestmark = pytest.mark.usefixtures("few_trees")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def flats():
    """Flats whose rent follows from size and city; some cells are empty."""
    rng = np.random.default_rng(0)
    size, city = rng.integers(25, 120, size=60), rng.choice(["Rome", "Oslo"], size=60)
    frame = pd.DataFrame({"size": size.astype(float), "city": city})
    frame["rent"] = frame["size"] * np.where(city == "Rome", 17.0, 24.0)
    frame["built"] = pd.date_range("1990-01-01", periods=60, freq="100D").strftime("%Y-%m-%d")
    frame.loc[3, "size"] = np.nan
    return frame


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*arguments, code=0, input=None):
        result = CliRunner().invoke(main, [str(argument) for argument in arguments], input=input)
        assert result.exit_code == code, result.output
        return result

    return call


WRITERS = {
    "flats.csv": lambda frame, path: frame.to_csv(path, index=False),
    "flats.tsv": lambda frame, path: frame.to_csv(path, sep="\t", index=False),
    "flats.xlsx": lambda frame, path: frame.to_excel(path, index=False),
    "flats.parquet": lambda frame, path: frame.to_parquet(path, index=False),
}


EXTRAS = {"flats.xlsx": "openpyxl", "flats.parquet": "pyarrow"}


@pytest.mark.parametrize("name", WRITERS)
def test_fit_predict_evaluate_in_every_format(run, flats, name):
    pytest.importorskip(EXTRAS.get(name, "pandas"))
    WRITERS[name](flats.iloc[:50], name)
    WRITERS[name](flats.iloc[50:], "new-" + name)
    shown = run("fit", name, "--output", "rent", "-o", "m.mercer").stdout
    assert "rent (number)" in shown and "city" in shown
    assert "rent (number)" in run("info", "m.mercer").stdout
    out = "predicted" + Path(name).suffix
    run("predict", "m.mercer", "new-" + name, "--coverage", "0.8", "-o", out)
    suffix = Path(out).suffix
    readers = {".xlsx": pd.read_excel, ".parquet": pd.read_parquet}
    read = readers.get(
        suffix, lambda path: pd.read_csv(path, sep="\t" if suffix == ".tsv" else ",")
    )
    predicted = read(out)
    error = np.abs(predicted["predicted rent"].astype(float) - flats["rent"].to_numpy()[50:])
    assert error.mean() < 0.1 * flats["rent"].std()
    assert (predicted["lower rent"].astype(float) < predicted["upper rent"].astype(float)).all()
    assert "R²" in run("evaluate", "m.mercer", "new-" + name).stdout


def test_the_kind_of_one_of_several_outputs(run, flats):
    flats.to_csv("flats.csv", index=False)
    run("fit", "flats.csv", "--output", "rent,city", "--space", "city=text", "-o", "m.mercer")
    columns = json.loads(run("info", "m.mercer", "--json").stdout)["columns"]
    assert (columns["rent"], columns["city"]) == ("number", "text")


def test_a_report(run, flats):
    pytest.importorskip("matplotlib")
    flats.to_csv("flats.csv", index=False)
    run("fit", "flats.csv", "--output", "rent", "--report", "report.html")
    report = Path("report.html").read_text()
    assert "data:image/svg+xml" in report and "rent" in report


def test_five_thousand_rows(run):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(5_100, 4)), columns=list("abcd"))
    frame["y"], frame["z"] = 1e4 + frame["a"] + np.sin(frame["b"]), frame["c"] * frame["d"]
    frame[:5_000].to_csv("rows.csv", index=False)
    frame[5_000:].to_csv("new.csv", index=False)
    shown = run("fit", "rows.csv", "--output", "y,z", "--time-limit", "10", "-o", "m.mercer").stdout
    assert "y, z (number)" in shown
    measures = json.loads(run("evaluate", "m.mercer", "new.csv", "--json").stdout)
    assert measures["rows"] == 100 and measures["mean R²"] > 0.8


def test_pipes(run, flats):
    """CSV in, CSV out; the model may come from standard input as well."""
    text = flats.iloc[:50].to_csv(index=False)
    run("fit", "-", "--output", "rent", "-o", "m.mercer", input=text)
    new = flats.iloc[50:].drop(columns="rent").to_csv(index=False)
    predicted = run("predict", "m.mercer", "-", input=new).stdout
    assert predicted.splitlines()[0] == "size,city,built,predicted rent"
    assert len(predicted.splitlines()) == 11
    Path("new.csv").write_text(new)
    model = Path("m.mercer").read_bytes()
    assert run("predict", "-", "new.csv", input=model).stdout == predicted
    assert "rent (number)" in run("info", "-", input=model).stdout
    assert "standard input is not a" in run("predict", "-", "new.csv", input=b"text", code=1).stderr
    assert "only one of MODEL and DATA" in run("predict", "-", "-", input=model, code=1).stderr


def test_the_lines_of_the_readme(run, tmp_path):
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("*.py"))
    lines = re.findall(r"(?m)^mercer ((?:fit|predict) .*)$", (ROOT / "README.md").read_text())
    assert len(lines) == 2
    for line in lines:
        run(*shlex.split(line, comments=True))
    assert list(pd.read_csv("predicted.csv").columns)[:2] == ["text", "predicted tags"]


def test_sets_of_strings_point_to_top(run):
    words = ["cherry", "lady", "baby", "city", "cat", "dog", "map", "cup", "pen", "ring"]
    rows = [f"{w},{w[:-1] + 'ies' if w.endswith('y') else w + 's'}" for w in words]
    Path("words.csv").write_text("\n".join(["singular,plural", *rows]))
    run("fit", "words.csv", "-o", "m.mercer")
    assert "--top" in run("predict", "m.mercer", "words.csv", "--coverage", "0.9", code=1).stderr
    assert "ladies" in run("predict", "m.mercer", "words.csv", "--top", "2").stdout


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("separator", ["", ";"])
def test_unseen_labels_are_named(run, separator):
    cells = ["sun", "rain"] if not separator else ["sun;sea", "rain"]
    Path("d.csv").write_text("x,y\n" + "".join(f"{i},{cells[i % 2]}\n" for i in range(20)))
    Path("new.csv").write_text(f"x,y\n1,{cells[1]}\n2,{cells[0]}\n3,snow{separator}\n")
    run("fit", "d.csv", "-o", "m.mercer")
    assert "'snow'" in run("evaluate", "m.mercer", "new.csv").stderr


def test_help_shows_whole_descriptions():
    shown = CliRunner().invoke(main, ["--help"]).stdout
    assert "..." not in shown.split("Commands:")[1] and "…" not in shown
    for command, words in {"fit": "save the model.", "predict": "by a saved MODEL."}.items():
        assert words in shown, command


def test_interrupted_command(run, flats, monkeypatch):
    flats.to_csv("d.csv", index=False)

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(AutoDependency, "fit", interrupted)
    assert run("fit", "d.csv", code=130).stderr.endswith("Interrupted.\n")


def test_interrupted_process(tmp_path):
    """Ctrl-C ends a command with the exit code of a shell, without a traceback."""
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.normal(size=(3000, 30))).to_csv(tmp_path / "d.csv", index=False)
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "mercer", "fit", "d.csv", "--input", "0..28"]
    running = subprocess.Popen(
        command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    time.sleep(1.0)  # in the middle of importing or fitting, which takes several seconds
    running.send_signal(signal.SIGINT)
    try:
        _, shown = running.communicate(timeout=2)
    except subprocess.TimeoutExpired:  # seen once in many runs, cause unknown: people press again
        running.send_signal(signal.SIGINT)
        _, shown = running.communicate(timeout=120)
    # A shell reports 130 for both: Python ends itself by the signal if an import was interrupted.
    assert running.returncode in (130, -signal.SIGINT), shown
    assert "Traceback" not in shown
    assert not (tmp_path / "model.mercer").exists()


def test_columns_of_different_kinds_in_one_model(run, flats):
    flats.assign(warm=np.where(flats["city"] == "Rome", "yes", "no")).to_csv("flats.csv")
    shown = run("fit", "flats.csv", "--inputs", "size,city", "--outputs", "rent,warm").output
    assert "rent, warm (record)" in shown and "mean of R² and accuracy" in shown
    run("predict", "model.mercer", "flats.csv", "-o", "new.csv", "--coverage", "0.8")
    new = pd.read_csv("new.csv")
    assert (new["predicted warm"] == new["warm"]).mean() > 0.9
    assert {"lower rent", "upper rent", "set of warm"} <= set(new.columns)
    found = run("evaluate", "model.mercer", "flats.csv").output
    assert "rent" in found and "warm" in found


def test_rows_without_some_outputs_count_for_the_others(run, flats):
    gaps = flats.assign(warm=np.where(flats["city"] == "Rome", "yes", "no"))
    gaps.loc[::3, "rent"] = np.nan
    gaps.loc[1::4, "warm"] = None
    gaps.to_csv("gaps.csv", index=False)
    shown = run("fit", "gaps.csv", "--inputs", "size,city", "--outputs", "rent,warm").output
    assert "output cells are empty" in shown
    run("predict", "model.mercer", "gaps.csv", "-o", "new.csv")
    new = pd.read_csv("new.csv")
    known = new["warm"].notna()
    assert (new["predicted warm"] == new["warm"])[known].mean() > 0.9
    assert "rent" in run("evaluate", "model.mercer", "gaps.csv").output
