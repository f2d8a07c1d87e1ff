"""What the command line writes to: nothing that it reads, whole files, and terminals safely."""

import gzip
import json
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import mercer
from hostile.mutations import Members
from mercer import AutoDependency
from mercer.app.cli import main
from mercer.app.cli.terminal import escape_controls
from mercer.tables import read

ROWS = "".join(f"{i},{2 * i + 1},{'ab'[i % 2]}\n" for i in range(12))


@pytest.fixture(scope="module")
def saved(tmp_path_factory, few_trees):
    folder = tmp_path_factory.mktemp("model")
    (folder / "d.csv").write_text("x,y,kind\n" + ROWS)
    model = AutoDependency(["x"], "y").fit(read(folder / "d.csv"))
    return mercer.save(model, folder / "m.mercer")


@pytest.fixture
def folder(tmp_path, monkeypatch, saved):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.csv").write_text("x,y,kind\n" + ROWS)
    (tmp_path / "m.mercer").write_bytes(saved.read_bytes())
    return tmp_path


def run(*arguments, code=0, input=None):
    result = CliRunner().invoke(main, arguments, input=input)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


@pytest.fixture
def process(forks):
    """Run the command in a process of its own, after a line of code that changes its streams."""
    start = "import os, resource, sys\n{}\nfrom mercer.app.cli import main\nmain()"
    return lambda *arguments, given: forks(start.format(given), *arguments)


@pytest.mark.parametrize(
    ("arguments", "lost"),
    [
        (["fit", "d.csv", "-o", "d.csv"], "d.csv"),
        (["fit", "d.csv", "-o", "link"], "d.csv"),
        (["fit", "d.csv", "-o", "hard"], "d.csv"),
        (["predict", "m.mercer", "d.csv", "-o", "d.csv"], "d.csv"),
        (["predict", "m.mercer", "d.csv", "-o", "m.mercer"], "m.mercer"),
        (["predict", "m.mercer", "d.csv", "-o", "./m.mercer"], "m.mercer"),
    ],
)
def test_what_is_read_is_not_written_over(folder, arguments, lost):
    before = (folder / lost).read_bytes()
    (folder / "link").symlink_to("d.csv")
    os.link(folder / "d.csv", folder / "hard")
    message = run(*arguments, code=1).stderr
    assert "is the file that is read" in message
    assert "-o" in message
    assert (folder / lost).read_bytes() == before


def test_standard_input_is_not_written_over(folder, process):
    table = "os.dup2(os.open('d.csv', os.O_RDONLY), 0)"
    result = process("fit", "-", "-o", "d.csv", given=table)
    assert result.returncode == 1
    assert "is the file that is read" in result.stderr
    assert (folder / "d.csv").read_text().startswith("x,y")


def test_files_of_another_kind_are_not_replaced(folder):
    (folder / "other.csv").write_text("a,b\n1,2\n")
    assert "is not a mercer model" in run("fit", "d.csv", "-o", "other.csv", code=1).stderr
    (folder / "twin").write_bytes((folder / "m.mercer").read_bytes())
    assert "is a mercer model" in run("predict", "m.mercer", "d.csv", "-o", "twin", code=1).stderr
    run("fit", "d.csv", "-o", "twin")
    run("predict", "m.mercer", "d.csv", "-o", "other.csv")
    assert "predicted y" in (folder / "other.csv").read_text()


@pytest.mark.parametrize("command", ["fit", "predict"])
def test_a_link_stays_a_link(folder, command):
    (folder / "there").mkdir()
    (folder / "link").symlink_to("there/target")
    (folder / "there" / "target").touch(mode=0o640)
    run(*([command, "d.csv"] if command == "fit" else [command, "m.mercer", "d.csv"]), "-o", "link")
    assert (folder / "link").is_symlink()
    target = folder / "there" / "target"
    assert target.stat().st_size > 100
    assert target.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir("there")) == ["target"]


@pytest.mark.parametrize("command", ["fit", "predict"])
def test_pipes_and_devices_are_written_into(folder, command):
    start = [command, "d.csv"] if command == "fit" else [command, "m.mercer", "d.csv"]
    os.mkfifo("pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append(Path("pipe").read_bytes()))
    reader.start()
    run(*start, "-o", "pipe")
    reader.join()
    assert got[0].startswith(b"PK" if command == "fit" else b"x,")
    assert (folder / "pipe").is_fifo()
    (folder / "null").symlink_to("/dev/null")
    run(*start, "-o", "null")
    assert os.path.exists("/dev/null") and not os.path.isfile("/dev/null")
    message = run(*start, "-o", "/dev/full", code=1).stderr
    assert "/dev/full cannot be written: No space left on device." in message


def test_a_full_disk_leaves_the_old_file(folder, process):
    (folder / "d.csv").write_text("x,y,kind\n" + 10 * ROWS)
    (folder / "out.csv").write_text("old\n")
    limit = "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))"
    result = process("predict", "m.mercer", "d.csv", "-o", "out.csv", given=limit)
    assert result.returncode == 1
    assert "out.csv cannot be written: File too large. What was there before" in result.stderr
    assert (folder / "out.csv").read_text() == "old\n"
    assert sorted(os.listdir()) == ["d.csv", "m.mercer", "out.csv"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_file_that_may_not_be_written_is_kept(folder):
    (folder / "out.csv").touch(mode=0o444)
    assert (
        "may not be written" in run("predict", "m.mercer", "d.csv", "-o", "out.csv", code=1).stderr
    )


def test_standard_output_by_its_name(folder):
    plain = run("predict", "m.mercer", "d.csv").stdout
    assert run("predict", "m.mercer", "d.csv", "-o", "-").stdout == plain
    result = CliRunner().invoke(main, ["fit", "d.csv", "-o", "-"])
    assert result.stdout_bytes.startswith(b"PK")
    assert "rows" in result.stderr
    assert not (folder / "-").exists()


def test_closed_streams(folder, process):
    predict = ["predict", "m.mercer", "d.csv"]
    closed = process("fit", "-", given="os.close(0); sys.stdin = None")
    assert "standard input is closed" in closed.stderr
    closed = process(*predict, given="os.close(1); sys.stdout = None")
    assert closed.returncode == 1
    assert "standard output is closed" in closed.stderr
    full = process(*predict, given="os.dup2(os.open('/dev/full', os.O_WRONLY), 1)")
    assert full.returncode == 1
    assert "Traceback" not in full.stderr


def test_the_ending_says_the_format(folder):
    for name in ("out.csv", "out.tsv", "out.txt", "out", "out.jsonl", "out.json", "out.npz",
                 "out.parquet", "out.xlsx", "out.csv.gz", "out.json.gz"):  # fmt: skip
        run("predict", "m.mercer", "d.csv", "-o", name)
        table = read(name)
        assert len(table) == 12, name
        assert list(table.columns) == ["x", "y", "kind", "predicted y"], name
        assert float(table.columns["predicted y"][3]) == pytest.approx(7, abs=0.5)
    assert (folder / "out.xlsx").read_bytes()[:2] == b"PK"
    assert gzip.decompress((folder / "out.csv.gz").read_bytes()).startswith(b"x,y,kind,")
    assert isinstance(json.loads((folder / "out.json").read_text()), list)
    for name in ("out.doc", "out.xls", "out.npz.gz", "out.mercer"):
        run("predict", "m.mercer", "d.csv", "-o", name, code=1)
        assert not (folder / name).exists()


def test_nothing_is_rounded_and_other_columns_are_carried_through(folder, rng):
    x = [repr(v) for v in rng.normal(size=20).tolist()]
    (folder / "e.csv").write_text(
        "id,x,note\n" + "".join(f"{i},{v},n{i}\n" for i, v in enumerate(x))
    )
    run("fit", "e.csv", "--input", "x", "--output", "id", "-o", "e.mercer")
    for name in ("p.csv", "p.tsv", "p.jsonl"):
        run("predict", "e.mercer", "e.csv", "-o", name)
    table = read("p.csv")
    assert table.columns["x"] == x
    assert table.columns["note"][4] == "n4"
    exact = [json.loads(line)["predicted id"] for line in Path("p.jsonl").read_text().splitlines()]
    assert [float(cell) for cell in table.columns["predicted id"]] == exact
    run("predict", "e.mercer", "p.csv", "-o", "q.csv")  # a second time: nothing is replaced
    assert read("q.csv").columns["predicted id"] == table.columns["predicted id"]
    assert list(read("q.csv").columns)[-1] == "predicted id (2)"


def test_columns_named_like_markup(folder):
    (folder / "e.csv").write_text("x,[/bold],[red]y\n" + ROWS)
    out = run("fit", "e.csv", "--output", "[/bold]", "-o", "e.mercer").stdout
    assert "[/bold] (number)" in out
    assert "[red]y" in run("fit", "e.csv", "-o", "e.mercer").stdout
    assert "[red]y" in run("info", "e.mercer").stdout
    assert "'[/b]'" in run("fit", "e.csv", "--output", "[/b]", code=1).stderr


def test_escape_sequences_do_not_reach_the_terminal(folder):
    bad = "y\x1b]0;owned\x07\x9b31m\u202e"
    table = read("d.csv")
    columns = {"x": table.columns["x"], bad: table.columns["y"]}
    model = AutoDependency(["x"], [bad]).fit(type(table)("d.csv", columns, table.lines))
    mercer.save(model, folder / "bad.mercer")
    for arguments in (["info", "bad.mercer"], ["info", "bad.mercer", "--json"]):
        out = run(*arguments).stdout
        assert not set(out) & set("\x1b\x07\x9b\u202e")
    (folder / "e\x1b[31m.csv").write_text("x\x1b[31m,y\n1,oh\x1bno\n2\n")
    message = run("fit", "e\x1b[31m.csv", code=1).stderr
    assert "\x1b" not in message
    assert "line 3" in message


def test_a_terminal_gets_safe_predictions(folder, process):
    pty = pytest.importorskip("pty")
    (folder / "e.csv").write_text("x,note\n3,red\x1b[31m\n4,\x9b\n")
    parent, child = pty.openpty()
    terminal = f"os.dup2(os.open({os.ttyname(child)!r}, os.O_WRONLY | os.O_NOCTTY), 1)"
    assert process("predict", "m.mercer", "e.csv", given=terminal).returncode == 0
    os.close(child)
    seen = os.read(parent, 10_000).decode()
    os.close(parent)
    assert "red\\x1b[31m" in seen and "\x1b" not in seen and "\x9b" not in seen
    assert "red\x1b[31m" in run("predict", "m.mercer", "e.csv").stdout  # a pipe gets what there is


def test_what_is_shown():
    assert escape_controls("a\nb\t\udcff") == "a\\nb\\t\\udcff"
    assert escape_controls("a\nb\x00", keep="\n") == "a\nb\\x00"
    assert escape_controls("آرلن ü 漢") == "آرلن ü 漢"


def test_a_spreadsheet_keeps_text_text(folder):
    openpyxl = pytest.importorskip("openpyxl")
    (folder / "e.csv").write_text('x,note\n3,"=1+1"\n4,plain\n')
    run("predict", "m.mercer", "e.csv", "-o", "out.xlsx")
    sheet = openpyxl.load_workbook("out.xlsx").active
    assert sheet["B2"].value == "=1+1" and sheet["B2"].data_type == "s"
    (folder / "e.csv").write_text("x,note\n3,a\x01b\n")
    assert (
        "control characters" in run("predict", "m.mercer", "e.csv", "-o", "o.xlsx", code=1).stderr
    )
    assert not (folder / "o.xlsx").exists()


def test_predictions_that_are_not_finite_are_refused(folder, monkeypatch):
    predicted = {"y": np.full(12, np.nan)}
    monkeypatch.setattr(AutoDependency, "predict", lambda model, X: predicted)
    message = run("predict", "m.mercer", "d.csv", code=1).stderr
    assert "d.csv, line 2: the prediction is not finite" in message


def test_info_of_a_damaged_model_is_one_sentence(folder):
    file = Members((folder / "m.mercer").read_bytes())
    file.tree["root"]["part"][1]["baseline_scores_"] = 7
    (folder / "m.mercer").write_bytes(file.packed()[0])
    told = run("info", "m.mercer", code=1).output
    assert "m.mercer is damaged" in " ".join(told.split())


def test_probabilities_of_classes_are_columns(folder):
    run("fit", "d.csv", "-o", "kind.mercer")
    run("predict", "kind.mercer", "d.csv", "--probabilities", "-o", "p.jsonl")
    first = json.loads((folder / "p.jsonl").read_text().splitlines()[0])
    assert first["probability of a"] + first["probability of b"] == pytest.approx(1.0)
    refused = run("predict", "m.mercer", "d.csv", "--probabilities", code=1)
    assert "classes or label sets" in refused.output
