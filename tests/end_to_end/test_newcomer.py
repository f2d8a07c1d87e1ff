"""A newcomer's walk: from the front page, in an empty folder and a fresh Python, to six outputs.

Each page is one or two clicks from the front page; its first examples are pasted as they stand.
"""

import doctest
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from mercer.app.cli import main

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
WALK = {
    "a table of one's own": "auto.md",
    "a ranking": "rankings.md",
    "an image": "start.md",
    "a curve with bands": "curves.md",
    "an inflected word": "plot_plurals",
    "a field": "fields.md",
}
MINUTES = 5
PASTE = """
import json, sys, traceback
failed = {}
for goal, code in json.load(sys.stdin).items():
    try:
        exec(compile(code, goal, "exec"), {"__name__": "__main__"})
    except BaseException:
        failed[goal] = traceback.format_exc()
sys.stderr.write(json.dumps(failed))
"""
"""Runs examples one after the other, each with names of its own."""


def clicks(page):
    """The pages that a page links to."""
    text = (DOCS / page).read_text() if (DOCS / page).exists() else ""
    pages = {link.split("#")[0] for link in re.findall(r"\]\(([\w/]+\.md[^)]*)\)", text)}
    return pages | set(re.findall(r"gallery/(plot_\w+)", text))


def first_example(page):
    """The first examples of a page: all blocks before its second heading, or a whole example."""
    if page.startswith("plot_"):
        return (ROOT / "examples" / f"{page}.py").read_text()
    text = (DOCS / page).read_text()
    parts = re.split(r"(?m)^## ", text)
    block = next(part for part in parts if ">>>" in part)
    return doctest.script_from_examples(block)


def run(command, folder, **more):
    """Run a command in a folder that is not the repository."""
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"MPLBACKEND": "agg", "PYTHONPATH": path, "MERCER_DATA": str(folder)}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True,
        timeout=60 * MINUTES, **more,
    )  # fmt: skip


@pytest.mark.parametrize("goal", WALK)
def test_it_is_two_clicks_from_the_front_page(goal):
    near = clicks("index.md")
    assert WALK[goal] in near | {page for one in near for page in clicks(one)}


@pytest.fixture(scope="module")
def failed(tmp_path_factory):
    """What went wrong with the examples, in one fresh Python: importing takes most of the time."""
    examples = json.dumps({goal: first_example(page) for goal, page in WALK.items()})
    command = [sys.executable, "-W", "error", "-c", PASTE]
    done = run(command, tmp_path_factory.mktemp("empty"), input=examples)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stderr.splitlines()[-1])  # after the line on compiling, if there is one


@pytest.mark.parametrize("goal", WALK)
def test_its_first_example_runs_in_an_empty_folder(goal, failed):
    pytest.importorskip("matplotlib" if WALK[goal].startswith("plot_") else "mercer")
    assert goal not in failed, failed[goal]


def test_the_walk_in_a_terminal(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{w},{w[:-1] + 'ies' if w.endswith('y') else w + 's'}" for w in WORDS]
    (tmp_path / "words.csv").write_text("\n".join(["singular,plural", *rows]))
    (tmp_path / "new.csv").write_text("singular\nberry\nlamp\n")
    start = time.monotonic()
    for arguments in (["--help"], ["fetch"]):
        assert CliRunner().invoke(main, arguments).exit_code == 0
    fit = [sys.executable, "-m", "mercer", "fit", "words.csv", "-o", "words.mercer"]
    done = run(fit, tmp_path)
    assert done.returncode == 0, done.stderr
    done = CliRunner().invoke(main, ["predict", "words.mercer", "new.csv"])
    assert "berries" in done.stdout and "lamps" in done.stdout
    assert time.monotonic() - start < 60 * MINUTES


WORDS = [
    "cherry", "lady", "baby", "city", "party", "story", "army", "pony", "body", "lily", "cat",
    "dog", "lamb", "map", "lamp", "cup", "pen", "ring", "bird", "tree", "car", "book", "desk",
    "door", "hand", "stamp",
]  # fmt: skip
