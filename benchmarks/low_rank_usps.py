"""How fast does the loss at low rank come near the exact one? Writes docs/scale.png.

USPS halves, 7,291 training and 2,007 test digits, RBF kernels on both sides, identity operator,
fixed point, the loss of `make reproduce NAME=usps`. Length scale and alpha are chosen on the
training digits, by closed-form leave-one-out at rank 1,000; test losses are only reported. `python
low_rank_usps.py times` compares the times of the fits alone, at the parameters so chosen.
"""

import json
import sys
from pathlib import Path

import numpy as np
from _measure import best_times, peak_mib, report
from rich.console import Console
from rich.table import Table

from mercer import KernelDependency, KernelDependencyCV
from mercer.datasets import load_usps
from mercer.features import IncompleteCholesky, Nystroem, RandomPivotedCholesky
from mercer.kernels import RBF
from mercer.metrics import rbf_loss

OUTPUT_SCALE = 12.0
CHOSEN = RBF(6.0), 10**-0.5
RANKS = (250, 500, 1000, 2000)
FOLDER = Path(__file__).parent.parent / "docs"
MAPS = {
    "random pivots": lambda rank: RandomPivotedCholesky(rank, random_state=0),
    "uniform": lambda rank: Nystroem(rank, random_state=0),
    "greedy pivots": lambda rank: IncompleteCholesky(rank),
}


def measured(kernel, alpha, map, data) -> dict:
    X, Y, X_test, Y_test = data
    model = KernelDependency(kernel, RBF(OUTPUT_SCALE), alpha=alpha, features=map)
    model.fit(X, Y)
    error = 0.0 if map is None else model.points_.map.at.map.trace_error_
    loss = float(rbf_loss(Y_test, model.predict(X_test), OUTPUT_SCALE))
    return {"loss": loss, "trace": error}


def times(data) -> None:
    kernel, alpha = CHOSEN
    ways = {"exact": None}
    ways |= {f"{name}, rank {rank}": MAPS[name](rank) for rank in (1000, 2000) for name in MAPS}
    models = {
        name: KernelDependency(kernel, RBF(OUTPUT_SCALE), alpha=alpha, features=map)
        for name, map in ways.items()
    }
    fits = {name: lambda model=model: model.fit(*data[:2]) for name, model in models.items()}
    report("fit, n = 7,291", best_times(fits, 3), "exact", "rank 1,000 at most 0.2")


def curves(rows: list[dict], path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    exact = next(row for row in rows if row["map"] == "exact")
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    FigureCanvasAgg(figure)
    trace, loss = figure.subplots(1, 2)
    for name in MAPS:
        mine = [row for row in rows if row["map"] == name]
        ranks = [row["rank"] for row in mine]
        trace.semilogx(ranks, [row["trace"] for row in mine], "o-", label=name)
        loss.semilogx(ranks, [row["loss"] / exact["loss"] for row in mine], "o-", label=name)
    loss.axhline(1.0, color="grey", linestyle=":", label="exact")
    trace.set(xlabel="rank", ylabel="tr(K − UUᵀ) / tr K", title="what the landmarks miss")
    loss.set(xlabel="rank", ylabel="loss / exact loss", title="USPS halves, test loss")
    loss.legend(fontsize=7)
    for axis in (trace, loss):
        axis.set_xticks(RANKS, [str(rank) for rank in RANKS])
        axis.minorticks_off()
    figure.savefig(path, dpi=130)


def main() -> None:
    console = Console()
    train, _, test, _ = load_usps()
    data = train[:, :8], train[:, 8:], test[:, :8], test[:, 8:]
    if sys.argv[1:] == ["times"]:
        times(data)
        return
    with console.status("choosing the length scale and alpha at rank 1,000"):
        chosen = KernelDependencyCV(
            [RBF(scale) for scale in (4.0, 6.0, 8.0)],
            RBF(OUTPUT_SCALE),
            alphas=np.logspace(-4, 1, 11),
            features=RandomPivotedCholesky(1000, random_state=0),
        ).fit(*data[:2])
    kernel, alpha = chosen.kernel_.scalar, chosen.alpha_
    print(f"chosen: {kernel}, alpha {alpha:.1e}, left-out risk {chosen.loo_risk_:.4f}", flush=True)
    rows = []
    for name, rank in [("exact", None), *((name, rank) for rank in RANKS for name in MAPS)]:
        with console.status(f"{name}, rank {rank}"):
            map = None if rank is None else MAPS[name](rank)
            rows.append({"map": name, "rank": rank, **measured(kernel, alpha, map, data)})
        print(json.dumps(rows[-1]), flush=True)
    table = Table(title="USPS halves, 7,291 training digits, 2,007 test digits")
    for column in ("landmarks", "rank", "trace error", "loss", "of exact"):
        table.add_column(column, justify="right")
    for row in rows:
        over = row["loss"] / rows[0]["loss"]
        numbers = f"{row['trace']:.3f}", f"{row['loss']:.4f}", f"{over:.3f}"
        table.add_row(row["map"], str(row["rank"] or "–"), *numbers)
    console.print(table, f"peak memory {peak_mib():.0f} MiB")
    curves(rows, FOLDER / "scale.png")


if __name__ == "__main__":
    main()
