"""Run every script that asks about speed, and put today's ratios next to those of the last run.

    python benchmarks/board.py             # small sizes, some minutes; make bench does this
    python benchmarks/board.py --full      # the sizes of docs/costs.md
    python benchmarks/board.py --nightly   # exit with 1 where a ratio is 20 % worse than last time

The table is written to out/bench/board.md, the ratios to out/bench/board.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

HERE = Path(__file__).parent
SCRIPTS = [
    "startup",
    "identity_fit",
    "products",
    "exact_fits",
    "leave_one_out_path",
    "left_out_groups",
    "low_rank_fit",
    "random_pivots",
    "posterior",
    "serving",
    "stream",
    "candidate_scoring",
    "faiss_candidates",
    "appendix_c",
    "curl_free_fit",
    "sum_preconditioner",
    "string_grams",
    "graph_grams",
    "peers",
    "cost_curves",
]
WORSE = 1.2
"""How many times a ratio may be that of the last run before it counts as a regression."""
LIMIT = 900
"""Seconds that one script may take."""


def measured(script: str, full: bool) -> tuple[list[dict], str]:
    """The ratios that a script reports, and why there are none where it failed."""
    with tempfile.TemporaryDirectory() as folder:
        board = Path(folder) / "ratios"
        command = [sys.executable, str(HERE / f"{script}.py"), *([] if full else ["--small"])]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT,
                                  env=os.environ | {"MERCER_BOARD": str(board)})  # fmt: skip
            last = done.stderr.strip().splitlines()[-1:] if done.returncode else []
        except subprocess.TimeoutExpired:
            last = [f"not done in {LIMIT} s"]
        lines = board.read_text("utf-8").splitlines() if board.exists() else []
    return [json.loads(line) | {"script": script} for line in lines], "".join(last)


def change(row: dict, before: dict[str, float]) -> float | None:
    """How many times worse than last time: above 1 is worse, whichever way the ratio counts."""
    if row["question"] not in before:
        return None
    factor = row["ratio"] / before[row["question"]]
    return 1 / factor if "at least" in row["limit"] else factor


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scripts", nargs="*", default=SCRIPTS)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--nightly", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("out/bench"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    kept = args.out / "board.json"
    before = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    rows, failed = [], {}
    for script in track(args.scripts, "benchmarks", console=Console(stderr=True)):
        ratios, why = measured(script, args.full)
        rows += ratios
        if why:
            failed[script] = why
    worse = show(rows, before, args.out / "board.md")
    for script, why in failed.items():
        print(f"{script} failed: {why}")
    now = {row["question"]: row["ratio"] for row in rows}
    kept.write_text(json.dumps(before | now, indent=1, ensure_ascii=False), "utf-8")
    return 1 if args.nightly and (worse or failed) else 0


def show(rows: list[dict], before: dict[str, float], path: Path) -> list[str]:
    """Print and write the table; the questions whose ratio is a regression."""
    heads = ("script", "question", "ratio", "last time", "wanted")
    lines, worse = [], []
    for row in rows:
        last = before.get(row["question"])
        factor = change(row, before)
        if factor is not None and factor > WORSE:
            worse.append(row["question"])
        mark = " worse" if row["question"] in worse else ""
        shown = "–" if last is None else f"{last:.2f}{mark}"
        lines.append((row["script"], row["question"], f"{row['ratio']:.2f}", shown, row["limit"]))
    table = Table(*heads, title="benchmarks")
    for line in lines:
        table.add_row(*line)
    Console(width=160).print(table)
    text = [heads, ("---",) * len(heads), *lines]
    path.write_text("\n".join("| " + " | ".join(line) + " |" for line in text) + "\n", "utf-8")
    return worse


if __name__ == "__main__":
    sys.exit(main())
