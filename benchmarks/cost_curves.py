"""What does an exact fit cost, in time and memory, as n grows? Writes docs/costs.png.

Every fit runs in a process of its own, whose peak resident size before and after tells its memory.
"""

import json
import subprocess
import sys
from pathlib import Path

SIZES = (500, 1000, 2000, 4000, 8000)
METHODS = ("identity", "covariance", "conditional covariance")


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


def main() -> None:
    rows = []
    for method in METHODS:
        for n in SIZES:
            command = [sys.executable, __file__, method, str(n)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            rows.append(json.loads(done.stdout))
            print(rows[-1], flush=True)
    curves(rows, Path(__file__).parent.parent / "docs" / "costs.png")


if __name__ == "__main__":
    one_fit(sys.argv[1], int(sys.argv[2])) if len(sys.argv) > 1 else main()
