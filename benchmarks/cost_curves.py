"""What does a fit cost, in time and memory, as n grows? Writes docs/costs.png.

Every fit runs in a process of its own, whose peak resident size before and after tells its memory.
`python cost_curves.py low-rank` measures the peaks at low rank only, in matrices of n × rank. The
constants of the planner (`mercer._plan`) are these numbers, rounded up.
"""

import json
import subprocess
import sys
from pathlib import Path

SIZES = (500, 1000, 2000, 4000, 8000)
METHODS = ("identity", "covariance", "conditional covariance")
MAPS = ("Nystroem", "RandomPivotedCholesky", "IncompleteCholesky", "RandomFourier")
LOW_RANK_N, RANK = 20_000, 500


def one_fit(method: str, n: int) -> None:
    import time

    import numpy as np
    from _measure import peak_mib  # first: it sets the number of threads

    from mercer import KernelDependency
    from mercer.kernels import RBF
    from mercer.operators import ConditionalCovariance, Covariance, Identity

    operators = dict(
        zip(METHODS, (Identity(), Covariance(), ConditionalCovariance(0.1)), strict=True)
    )
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(n, 20)), rng.normal(size=(n, 20))
    model = KernelDependency(RBF(4.0) * operators[method], RBF(4.0), alpha=0.1)
    KernelDependency(RBF(4.0) * operators[method], RBF(4.0)).fit(X[:50], Y[:50])  # libraries loaded
    before, start = peak_mib(), time.perf_counter()
    model.fit(X, Y)
    seconds = time.perf_counter() - start
    squares = (peak_mib() - before) * 2**20 / (8 * n * n)
    print(json.dumps({"method": method, "n": n, "seconds": seconds, "squares": squares}))


def one_low_rank_fit(name: str, outputs: str) -> None:
    import numpy as np
    from _measure import peak_mib

    from mercer import KernelDependency, KernelDependencyCV, features
    from mercer.kernels import RBF, Linear
    from mercer.operators import ConditionalCovariance

    def model(rank):
        map = getattr(features, name)(rank)
        return {
            "vectors": KernelDependency(RBF(4.0), Linear(), 0.1, features=map),
            "RBF": KernelDependency(RBF(4.0), RBF(4.0), 0.1, features=map),
            "both sides": KernelDependency(
                RBF(4.0) * ConditionalCovariance(0.1), RBF(4.0), 0.1,
                features=map, output_features=map,
            ),
            "choice of alpha": KernelDependencyCV(RBF(4.0), Linear(), features=map),
        }[outputs]  # fmt: skip

    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(LOW_RANK_N, 20)), rng.normal(size=(LOW_RANK_N, 20))
    model(20).fit(X[:50], Y[:50])  # libraries loaded
    before = peak_mib()
    model(RANK).fit(X, Y)
    panels = (peak_mib() - before) * 2**20 / (8 * LOW_RANK_N * RANK)
    print(json.dumps({"map": name, "outputs": outputs, "panels": round(panels, 2)}))


def curves(rows: list[dict], path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    FigureCanvasAgg(figure)
    time_axis, memory_axis = figure.subplots(1, 2)
    for method in METHODS:
        mine = [row for row in rows if row["method"] == method]
        n = [row["n"] for row in mine]
        time_axis.loglog(n, [row["seconds"] for row in mine], "o-", label=method)
        memory_axis.semilogx(n, [row["squares"] for row in mine], "o-", label=method)
    memory_axis.axhline(8, color="grey", linestyle=":", label="8 n² doubles")
    time_axis.set(xlabel="n", ylabel="seconds", title="exact fit, two cores")
    memory_axis.set(xlabel="n", ylabel="peak memory / n² doubles", ylim=(0, 9))
    memory_axis.legend(fontsize=7)
    for axis in (time_axis, memory_axis):
        axis.set_xticks(n, [str(size) for size in n])
        axis.minorticks_off()
    figure.savefig(path, dpi=130)


def in_a_process_of_its_own(*arguments: object) -> dict:
    command = [sys.executable, __file__, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    print(done.stdout, end="", flush=True)
    return json.loads(done.stdout)


def main() -> None:
    if sys.argv[1:] == ["low-rank"]:
        cases = [(name, "vectors") for name in MAPS]
        cases += [(MAPS[0], outputs) for outputs in ("RBF", "both sides", "choice of alpha")]
        for case in cases:
            in_a_process_of_its_own(*case)
        return
    rows = [in_a_process_of_its_own(method, n) for method in METHODS for n in SIZES]
    curves(rows, Path(__file__).parent.parent / "docs" / "costs.png")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        main()
    elif sys.argv[1] in MAPS:
        one_low_rank_fit(*sys.argv[1:])
    else:
        one_fit(sys.argv[1], int(sys.argv[2]))
