"""What every experiment writes: tables, paired differences, one page, all of it or nothing."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from experiments import EXPERIMENTS, digits
from experiments.__main__ import main
from experiments.differences import interval
from experiments.folder import output_folder
from experiments.report import Report
from mercer._base.errors import require

ROOT = Path(__file__).parents[2]
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f64540"
    "0000000049454e44ae426082"
)


def example():
    report = Report("coins", lower_is_better=["loss"], title="Coins <and> dice", wide=True)
    report.add("identity", "chosen", "loss", published=0.6, seconds=1.0, scores=[0.50, 0.52, 0.48])
    report.add("covariance", "chosen", "loss", scores=[0.40, 0.43, 0.37])
    report.add("poor", "chosen", "loss", scores=[0.60, 0.63, 0.57])
    report.add("same", "chosen", "loss", scores=[0.51, 0.51, 0.48])
    report.add("identity", "chosen", "hits", scores=[5, 6, 7])
    report.add("covariance", "chosen", "hits", scores=[6, 7.1, 8])
    report.add("floor", "told", "loss", 0.1)
    report.notes.append("A note & more.")
    report.settings["seed"] = "0"
    return report


def test_json_has_what_scripts_read():
    content = json.loads(json.dumps(example().content()))
    assert content["experiment"] == "coins"
    wanted = ["method", "setting", "metric", "mean", "std", "published", "seconds"]
    assert all(list(row) == wanted for row in content["rows"])
    first = content["rows"][0]
    assert first["mean"] == pytest.approx(0.5) and first["published"] == 0.6
    assert content["scores"][0]["values"] == [0.50, 0.52, 0.48]


def test_differences_are_paired_and_say_who_brings_nothing():
    verdicts = {(d.method, d.metric): d.verdict for d in example().differences()}
    assert verdicts == {
        ("covariance", "loss"): "better",
        ("poor", "loss"): "worse",
        ("same", "loss"): "nothing",
        ("covariance", "hits"): "better",
    }
    losses, hits = example().verdicts()
    assert "better than identity: covariance (−20.0%); worse than identity: poor (+20.0%)" in losses
    assert "no difference from identity that the 3 splits could show: same" in losses
    assert hits == "chosen, hits — better than identity: covariance (+17.2%)."


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=9).filter(lambda d: np.std(d) > 1e-6))
def test_interval_is_that_of_the_t_test(differences):
    test = ttest_1samp(differences, 0.0).confidence_interval(0.95)
    assert interval(differences)[1:] == pytest.approx((test.low, test.high), rel=1e-8, abs=1e-9)


def test_equal_scores_are_no_difference():
    report = Report("x")
    for method in ("identity", "twin"):
        report.add(method, "s", "m", scores=[1.0, 2.0])
    (d,) = report.differences()
    assert (d.low, d.high, d.verdict) == (0.0, 0.0, "nothing")


def test_splits_that_do_not_pair_are_refused():
    report = Report("x")
    report.add("identity", "s", "m", scores=[1.0, 2.0])
    report.add("other", "s", "m", scores=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="other has 3 scores in s, m, and identity 2"):
        report.differences()


def test_a_row_needs_a_result():
    with pytest.raises(ValueError, match="give mean= or scores="):
        Report("x").add("m", "s", "loss")


def test_page_holds_everything_and_asks_for_nothing(tmp_path):
    (tmp_path / "coins.png").write_bytes(PIXEL)
    report = example()
    report.captions["coins.png"] = "Heads <or> tails"
    report.save(tmp_path)
    html = (tmp_path / "report.html").read_text()
    assert "http" not in html and "<script" not in html and "url(" not in html
    assert 'src="data:image/png;base64,' in html
    assert "Coins &lt;and&gt; dice" in html and "Heads &lt;or&gt; tails" in html
    assert 'name="viewport"' in html and "prefers-color-scheme: dark" in html
    for tag in ("table", "tr", "td", "ul", "li", "dl", "figure", "svg", "p", "div"):
        assert len(re.findall(f"<{tag}[ >]", html)) == html.count(f"</{tag}>"), tag


def test_wide_and_long_tables_tell_the_same():
    report = example()
    wide = report.markdown()
    assert "| method | published | chosen | told | seconds |" in wide
    assert "| identity | 0.6000 | 0.5000 ± 0.016 | – | 1.00 |" in wide
    report.wide = False
    assert "| floor | told | loss | 0.1000 | – | – | – |" in report.markdown()
    report.table()


def test_what_all_rows_share_is_said_once():
    report = Report("x")
    report.add("a", "five folds", "loss", 1.0)
    report.add("b", "five folds", "loss", 2.0, seconds=3.0)
    (table,) = report.tables()
    assert table.title == "x, five folds, loss"
    assert table.columns == ["method", "mean", "seconds"]


def interrupted(out, problem):
    with output_folder(out, "x") as folder:
        (folder / "half").touch()
        raise problem


@pytest.mark.parametrize("problem", [KeyboardInterrupt, SystemExit, RuntimeError])
def test_what_is_interrupted_leaves_nothing(tmp_path, problem):
    with pytest.raises(problem):
        interrupted(tmp_path / "out", problem)
    assert not (tmp_path / "out").exists()


def test_earlier_results_stay_until_new_ones_are_complete(tmp_path):
    with output_folder(tmp_path, "x") as folder:
        (folder / "first").touch()
    with pytest.raises(KeyboardInterrupt):
        interrupted(tmp_path, KeyboardInterrupt)
    assert [p.name for p in tmp_path.rglob("*")] == ["x", "first"]
    with output_folder(tmp_path, "x") as folder:
        (folder / "second").touch()
    assert [p.name for p in tmp_path.rglob("*")] == ["x", "second"]


SLOW = """
import sys, time
from experiments import digits
from experiments.__main__ import main

def run(folder, console, quick=False):
    (folder / "half").write_text("written")
    print("ready", flush=True)
    time.sleep(30)

digits.run = run
main(["digits", "--out", sys.argv[1]])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
def test_a_terminated_run_takes_its_draft_with_it(tmp_path):
    command = [sys.executable, "-c", SLOW, str(tmp_path / "out")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout.readline() == "ready\n"
        assert list((tmp_path / "out").rglob("half"))
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 128 + signal.SIGTERM
    assert not list(tmp_path.iterdir())


def test_rerun_gives_the_same_numbers(tmp_path, few_trees):
    runs = []
    for _ in range(2):
        arguments = ["digits", "--quick", "--out", str(tmp_path)]
        told = CliRunner().invoke(main, arguments)
        assert told.exit_code == 0 and re.search(r"\d s, peak memory \d", told.output)
        runs.append(json.loads((tmp_path / "digits" / "results.json").read_text()))
    first, second = ([row | {"seconds": None} for row in run["rows"]] for run in runs)
    assert first == second
    assert runs[0]["run"]["seconds"] > 0 and runs[0]["run"]["peak_gib"] > 0.05


def test_missing_data_is_one_sentence_a_set(tmp_path, monkeypatch):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path / "nowhere"))
    with_files = sorted(set(EXPERIMENTS) - {"digits", "guarantees", "operators", "trees"})
    names = [*with_files, "trees"]  # the last one needs no file, and runs in spite of the others
    result = CliRunner().invoke(main, [*names, "--quick", "--out", str(tmp_path / "o")])
    assert result.exit_code == 1
    for name in with_files:
        (line,) = [line for line in result.output.splitlines() if line.startswith(f"{name}: ")]
        assert f"put it at {tmp_path / 'nowhere'}" in line
    assert [path.name for path in (tmp_path / "o").iterdir()] == ["trees"]


def test_a_missing_extra_is_one_sentence(tmp_path, monkeypatch):
    def run(folder, console, quick=False):
        require("no_such_module", "plots")

    monkeypatch.setattr(digits, "run", run)
    result = CliRunner().invoke(main, ["digits", "--out", str(tmp_path / "o")])
    assert result.exit_code == 1
    assert 'no_such_module is needed for this: pip install "mercer[plots]".' in result.output
    assert not (tmp_path / "o").exists()


def test_faces_are_for_faces(tmp_path):
    arguments = ["digits", "--faces", str(tmp_path), "--out", str(tmp_path / "o")]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "--faces is for the experiment faces, not for digits" in result.output


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    out = tmp_path / "file" / "out"
    result = CliRunner().invoke(main, ["digits", "--quick", "--out", str(out)])
    assert result.exit_code == 1
    assert "cannot be written to" in result.output
    assert "--out" in result.output
