"""Tables with something wrong with them: read right, or refused in a sentence that names the file.

Mutated files are read, learnt from and predicted. MERCER_HOSTILE=long takes hundreds of times as
many.
"""

import gzip
import io
import json
import os
import random
import warnings
import zipfile

import numpy as np
from click.testing import CliRunner

from mercer.app.cli import main
from mercer.auto.inputs import Inputs
from mercer.auto.kinds.registry import KINDS
from mercer.auto.outputs import fit_outputs
from mercer.tables import BadTable, Table, read

LONG = os.environ.get("MERCER_HOSTILE") == "long"
FILES = 100_000 if LONG else 1500
CELLS = 200_000 if LONG else 2000
MODELS = 2_000 if LONG else 15

NASTY = [
    "", " ", "NA", "1e308", "-1e400", "9" * 400, "inf", "nan", "0x10", "1_0", "1,5", "1.234,5",
    "1 234", "12%", "2024-02-30", "31/12/2024", "03/04/2024", "[", "[1, 2]", '["a", 3]', "[" * 2000,
    "[[]]", "a>b>c", ">", "a;b", ";", "|", "a,b,c", "[/bold]", "\x1b[31m", "\u202e", "\u2028",
    "=1+1", "x" * 3000, "ü", "漢字", "C1CC1", "true", '"', "''", "-", "%", "\t", "\\N",
]  # fmt: skip
VALUES = [None, True, 0, -1, 2**70, 10**400, 1e308, float("nan"), "x", [], [[]], [1, [2, "x"]], {},
          {"a": {"b": []}}, [None], ["a", "b"], [1.5, 2.5]]  # fmt: skip


def sound(draw):
    """Files of every format with the same twelve rows."""
    rows = [
        {"x": i, "name": draw.choice(["ann", "bob"]), "tags": draw.choice(["a;b", "b", "a"]),
         "y": round(draw.random(), 3)}
        for i in range(12)
    ]  # fmt: skip
    text = ",".join(rows[0]) + "\n" + "".join(
        ",".join(map(str, row.values())) + "\n" for row in rows
    )  # fmt: skip
    arrays = io.BytesIO()
    np.savez(arrays, x=[row["x"] for row in rows], y=np.ones((12, 2)), s=["a"] * 12)
    files = {
        "t.csv": text.encode(),
        "t.tsv": text.replace(",", "\t").encode(),
        "t.csv.gz": gzip.compress(text.encode(), mtime=0),
        "t.jsonl": "".join(json.dumps(row) + "\n" for row in rows).encode(),
        "t.json": json.dumps(rows).encode(),
        "t.npz": arrays.getvalue(),
        "t": text.replace(",", ";").encode("utf-16"),
    }
    try:
        from openpyxl import Workbook
    except ImportError:
        return files
    book, sheet = Workbook(), io.BytesIO()
    for row in [list(rows[0]), *(list(row.values()) for row in rows)]:
        book.active.append(row)
    book.save(sheet)
    return files | {"t.xlsx": sheet.getvalue()}


def mutated(draw, data):
    """The same bytes with a few changes, deletions, repetitions or insertions."""
    data = bytearray(data)
    for _ in range(draw.choice([1, 1, 2, 8])):
        at = draw.randrange(len(data) + 1)
        size = draw.choice([1, 2, 10, 100])
        change = draw.randrange(5)
        if change == 0 and at < len(data):
            data[at] = draw.randrange(256)
        elif change == 1:
            del data[at : at + size]
        elif change == 2:
            data[at:at] = draw.choice(NASTY).encode()
        elif change == 3:
            data[at:at] = data[at : at + size] * draw.choice([1, 50])
        else:
            data[at:at] = draw.choice([b"\n", b'"', b",", b"\0", b"\xff", b"\r", b";", b"\t", b"{"])
    return bytes(data)


def repacked(draw, data):
    """A zip file whose members are mutated, so that the mutation is reached."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        chosen = draw.choice(old.namelist())
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, mutated(draw, content) if name == chosen else content)
    return out.getvalue()


def answered(call):
    """What a call returns, and the sentence with which it refuses; any other error passes."""
    try:
        return call(), None
    except (BadTable, ImportError) as problem:  # an extra that is not installed
        return None, str(problem)


def test_mutated_files_are_read_or_refused(tmp_path):
    draw = random.Random(0)
    files = sound(draw)
    refused = 0
    for i in range(FILES):
        name = draw.choice(sorted(files))
        zipped = files[name][:2] == b"PK" and draw.random() < 0.7
        data = (repacked if zipped else mutated)(draw, files[name])
        path = tmp_path / name
        path.write_bytes(data)
        table, problem = answered(lambda: read(path))  # noqa: B023
        if table is None:
            refused += 1
            assert str(path) in problem, i
            assert len(problem) < 700
        else:
            assert all(len(cells) == len(table) for cells in table.columns.values())
    assert 0.1 < refused / FILES < 0.95


def column(draw, n):
    """Cells of one kind, with a few of another."""
    kinds = [
        lambda: str(draw.randrange(5)), lambda: str(draw.random()), lambda: draw.choice("ab"),
        lambda: draw.choice(["a;b", "b"]), lambda: draw.choice(["a>b", "b>a"]),
        lambda: f"{draw.random():.2f}".replace(".", ","),
        lambda: f"2024-01-{draw.randrange(1, 29):02d}",
        lambda: draw.random(), lambda: ["a", "b"][: draw.randrange(3)], lambda: draw.choice(NASTY),
        lambda: draw.choice(VALUES), lambda: [draw.random(), 1], lambda: "1 2 3",
    ]  # fmt: skip
    kind = draw.choice(kinds)
    other = draw.choice([kind, kind, lambda: draw.choice(NASTY), lambda: draw.choice(VALUES)])
    return [other() if draw.random() < 0.1 else kind() for _ in range(n)]


def test_spaces_read_any_cells_or_name_the_line():
    draw = random.Random(1)
    learnt = 0
    for _ in range(CELLS):
        columns = {"x": column(draw, 12), "z": column(draw, 12)}
        table = Table("t.csv", columns, range(2, 14), separator=draw.choice([",", ";", None]))
        names = draw.choice([["x"], ["x", "z"]])
        kind = draw.choice([*KINDS, None, None, None])
        rows, problem = answered(lambda: learnt_rows(table, names, kind))  # noqa: B023
        learnt += rows is not None
        assert problem is None or "t.csv" in problem or "pip install" in problem
    assert learnt > CELLS / 20


def learnt_rows(table, names, kind):
    """Learn what columns hold, and read a row again; the number of items."""
    inputs = Inputs(names)
    if kind is None:
        assert len(inputs.fit(table).transform(table)) == len(table)
    table = table.filled(names, drop=True)
    outputs, items = fit_outputs(kind and dict.fromkeys(names, kind), table, names)
    assert len(items) == len(table)
    outputs.read(table.rows([0]))
    assert {len(cells) for cells in outputs.write(items).values()} == {len(table)}
    return len(items)


def test_models_of_any_cells_predict_or_say_why(tmp_path, monkeypatch, few_trees):
    monkeypatch.chdir(tmp_path)
    draw = random.Random(2)
    for i in range(MODELS):
        rows = [{"x": a, "y": b} for a, b in zip(column(draw, 12), column(draw, 12), strict=True)]
        lines = [json.dumps(row, allow_nan=True) + "\n" for row in rows]
        (tmp_path / "t.jsonl").write_text("".join(lines))
        for arguments in (
            ["fit", "t.jsonl", "--drop-missing", "-o", f"{i}.mercer"],
            ["predict", f"{i}.mercer", "t.jsonl", "--drop-missing", "-o", f"{i}.csv"],
        ):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = CliRunner().invoke(main, arguments)
            if result.exit_code:
                assert isinstance(result.exception, SystemExit), (i, result.exc_info)
                assert result.stderr.count("Error: ") == 1
                break
        else:
            for cell in read(f"{i}.csv").columns.get("predicted y", []):
                assert cell not in ("nan", "inf")
    assert not [name for name in os.listdir() if name.startswith(".mercer")]
