"""The rows that `fields_peers.py` wrote, as one picture and as a table.

python benchmarks/fields_picture.py out/fields_*.json --picture docs/fields_peers.png
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt

EQUATIONS = {
    "advection": "Jumps that travel, 64 points",
    "darcy smooth": "Darcy, smooth coefficients, 32 × 32",
    "helmholtz": "Helmholtz, 32 × 32",
}
TAKEN = "mercer"
STYLES = {
    TAKEN: ("C0", "o", "-"),
    "mercer, global": ("C9", ".", "-"),
    "FNO": ("C3", "s", "-"),
    "DeepONet": ("C1", "^", "--"),
    "PCA-Net": ("C2", "v", "--"),
    "Batlle et al.": ("C7", "x", ":"),
}


def read(paths):
    """All rows that have an error, and of mercer's kinds the one that was taken."""
    rows = [row for path in paths for row in json.loads(Path(path).read_text())]
    last = {(r["equation"], r["n"], r["method"]): r for r in rows if "error" in r}
    of_mercer: dict = {}
    for (equation, n, method), row in last.items():
        if method.startswith("mercer"):
            of_mercer.setdefault((equation, n), []).append(row)
    for (equation, n), kinds in of_mercer.items():
        last[equation, n, TAKEN] = min(kinds, key=lambda row: row["held"])
    return last


def picture(rows, path):
    """Errors above, seconds of training below."""
    grid, axes = plt.subplots(2, 3, figsize=(11, 6), sharex=True, sharey="row")
    for column, (equation, title) in enumerate(EQUATIONS.items()):
        for method, (color, marker, line) in STYLES.items():
            found = sorted((n, r) for (e, n, m), r in rows.items() if (e, m) == (equation, method))
            for axis, what in zip(axes[:, column], ("error", "seconds"), strict=True):
                axis.loglog(
                    [n for n, _ in found], [r[what] for _, r in found],
                    color=color, marker=marker, linestyle=line, label=method,
                )  # fmt: skip
                axis.grid(alpha=0.3, which="both")
        axes[0, column].set_title(title, fontsize=10)
        axes[1, column].set_xlabel("training pairs")
        axes[1, column].set_xticks([200, 1000, 5000], ["200", "1,000", "5,000"])
        axes[1, column].minorticks_off()
    axes[0, 0].set_ylabel("relative L2 error on 200 test fields")
    axes[1, 0].set_ylabel("seconds of training")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    grid.legend(handles, labels, loc="lower center", ncols=len(STYLES), frameon=False)
    grid.tight_layout(rect=(0, 0.05, 1, 1))
    grid.savefig(path, dpi=110)


def table(rows):
    """One line an equation, a size and a method."""
    for (equation, n, method), row in sorted(rows.items()):
        if method != TAKEN:
            mark = " (taken)" if row is rows.get((equation, n, TAKEN)) else ""
            numbers = [row["error"], row["seconds"], row.get("choice", float("nan"))]
            cells = [equation, f"{n:,}", method + mark, *(f"{number:.2g}" for number in numbers)]
            print("|", " | ".join(cells), "|")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    kept = read(given.files)
    table(kept)
    if given.picture is not None:
        picture(kept, given.picture)
