"""How do time and memory grow with n, the rank, the candidates, the length of strings?

    python cost_curves.py                                # every curve, some minutes
    python cost_curves.py stream rank --longest 120      # some of them, to larger sizes
    python cost_curves.py --picture docs/costs.png       # and a picture of the exact fits
    python cost_curves.py peaks                          # peak memory at low rank

A curve ends where its next point would take more than `--longest` seconds. Every point is measured
in a process of its own. The constants of the planner (`mercer._base.plan`) are these numbers.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

POWERS = tuple(10**k for k in range(3, 8))
CURVES = {
    "identity": (500, 1000, 2000, 4000, 8000, 16000),
    "covariance": (500, 1000, 2000, 4000, 8000),
    "conditional covariance": (500, 1000, 2000, 4000, 8000),
    "choice of 20 ridges": (500, 1000, 2000, 4000, 8000),
    "stream": POWERS,
    "rank": (100, 200, 500, 1000, 2000, 4000, 8000),
    "rank, random pivots": (100, 200, 500, 1000, 2000, 4000),
    "candidates": POWERS,
    "Spectrum: length": (10, 100, 1000, 10_000),
    "Subsequences: length": (10, 100, 1000, 10_000),
}
EXACT = tuple(CURVES)[:3]
MAPS = ("Nystroem", "RandomPivotedCholesky", "IncompleteCholesky", "RandomFourier")
LOW_RANK_N, RANK = 20_000, 500
STREAM_RANK, STREAM_BLOCK = 300, 8192
INPUTS, STRINGS = 1000, 30


def pairs(n):
    import numpy as np

    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 20)), rng.normal(size=(n, 20))


def exact_fit(name, n):
    """Warm up, run and plan of an exact fit with an RBF on both sides, or a choice of a ridge."""
    import numpy as np

    from mercer import KernelDependency, KernelDependencyCV
    from mercer.kernels import RBF, Linear
    from mercer.operators import ConditionalCovariance, Covariance, Identity

    operators = dict(
        zip(EXACT, (Identity(), Covariance(), ConditionalCovariance(0.1)), strict=True)
    )
    X, Y = pairs(n)
    if name in operators:
        model = KernelDependency(RBF(4.0) * operators[name], RBF(4.0), alpha=0.1)
    else:
        model = KernelDependencyCV(RBF(4.0), Linear(), alphas=np.logspace(-6, 1, 20))
    return lambda: model.fit(X[:300], Y[:300]), lambda: model.fit(X, Y)


def low_rank_fit(name, rank):
    from mercer import KernelDependency
    from mercer.features import Nystroem, RandomPivotedCholesky
    from mercer.kernels import RBF

    X, Y = pairs(LOW_RANK_N)
    kind = RandomPivotedCholesky if "pivots" in name else Nystroem

    def fit(n, rank):
        map = kind(rank, random_state=0)
        return KernelDependency(RBF(4.0), alpha=0.1, features=map).fit(X[:n], Y[:n])

    return lambda: fit(5000, 50), lambda: fit(LOW_RANK_N, rank)


def stream_fit(name, n):
    import numpy as np

    from mercer import KernelDependency
    from mercer.features import Nystroem
    from mercer.kernels import RBF
    from mercer.sources import Stream

    held, Y = pairs(STREAM_BLOCK)
    model = KernelDependency(
        RBF(4.0), alpha=0.1, features=Nystroem(landmarks=np.array(held[:STREAM_RANK]))
    )

    def blocks(n):
        """The same block again, moved: making numbers would take longer than learning them."""
        for start in range(0, n, STREAM_BLOCK):
            stop = min(STREAM_BLOCK, n - start)
            yield held[:stop] + 1e-3 * np.sin(start), Y[:stop]

    def fit(n):
        return model.fit(Stream(lambda: blocks(n), sample=256))

    return lambda: fit(5000), lambda: fit(n)


def scoring(name, candidates):
    import numpy as np

    from mercer.decoders import Candidates
    from mercer.embedding import Embedding, OrthonormalFrame
    from mercer.features import Explicit
    from mercer.kernels import Linear

    rng = np.random.default_rng(0)
    points, outputs = rng.normal(size=(INPUTS, 16)), rng.normal(size=(candidates, 16))
    embedding = Embedding(points, OrthonormalFrame(Explicit().fit(Linear(), outputs[:2])))
    decoder = Candidates(outputs).fit(Linear(), outputs[:2])
    return lambda: decoder.decode(embedding[:2]), lambda: decoder.decode(embedding)


def string_gram(name, length):
    import numpy as np

    from mercer.kernels import Spectrum, Subsequences

    kernel = Spectrum(3) if name.startswith("Spectrum") else Subsequences(3, 0.5)
    letters = np.random.default_rng(0).integers(97, 117, size=(STRINGS, length), dtype=np.uint32)
    words = ["".join(map(chr, word)) for word in letters]
    return lambda: kernel([word[:10] for word in words]), lambda: kernel(words)


def prepared(name, size):
    """Two functions, to warm up and to measure."""
    if name in EXACT or name.startswith("choice"):
        return exact_fit(name, size)
    if name.startswith("rank"):
        return low_rank_fit(name, size)
    ways = {"stream": stream_fit, "candidates": scoring}
    return ways.get(name, string_gram)(name, size)


def one_point(name, size):
    from _measure import best_times, clock, peak_mib  # first: it sets the number of threads

    warm_up, run = prepared(name, size)
    warm_up()
    before, start = peak_mib(), clock()
    run()
    seconds = clock() - start
    extra = peak_mib() - before
    if seconds < 2.0:  # a short run is made again: other processes disturb it
        seconds = min(seconds, best_times({"run": run}, 3)["run"])
    found = {"curve": name, "size": size, "seconds": seconds, "mib": extra}
    print(json.dumps(found))


def one_peak(name, outputs):
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

    X, Y = pairs(LOW_RANK_N)
    model(20).fit(X[:50], Y[:50])  # libraries loaded
    before = peak_mib()
    model(RANK).fit(X, Y)
    panels = (peak_mib() - before) * 2**20 / (8 * LOW_RANK_N * RANK)
    print(json.dumps({"map": name, "outputs": outputs, "panels": round(panels, 2)}))


def measured(*arguments):
    """What this script finds of one point, in a process of its own."""
    command = [sys.executable, __file__, "--one", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{arguments}: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


def curve(name, longest):
    """The points of a curve, until the next would take too long."""
    points = []
    for size in CURVES[name]:
        if len(points) > 1:
            (a, b), (s, t) = ([point[key] for point in points[-2:]] for key in ("size", "seconds"))
            growth = max(1.0, slope([a, b], [s, t]))
            if t * (size / b) ** growth > longest:
                break
        points.append(measured(name, size))
        print(points[-1], file=sys.stderr, flush=True)
    return points


def slope(sizes, seconds):
    import numpy as np

    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def show(name, points):
    from _measure import record
    from rich.console import Console
    from rich.table import Table

    table = Table("size", "seconds", "MiB", title=name)
    for point in points:
        table.add_row(f"{point['size']:,}", f"{point['seconds']:.3g}", f"{point['mib']:.0f}")
    last = points[-3:]
    end = slope(*([point[key] for point in last] for key in ("size", "seconds")))
    record(f"{name}: slope of the last {len(last)} points", end, "no goal")
    Console().print(table, f"slope of the last {len(last)} points: {end:.2f}\n")


def picture(found, path):
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    FigureCanvasAgg(figure)
    time_axis, memory_axis = figure.subplots(1, 2)
    for name in EXACT:
        n = [point["size"] for point in found[name]]
        squares = [point["mib"] * 2**20 / (8 * point["size"] ** 2) for point in found[name]]
        time_axis.loglog(n, [point["seconds"] for point in found[name]], "o-", label=name)
        memory_axis.semilogx(n, squares, "o-", label=name)
    time_axis.set(xlabel="n", ylabel="seconds", title="exact fit")
    memory_axis.set(xlabel="n", ylabel="peak memory / n² doubles", ylim=(0, 9))
    memory_axis.legend(fontsize=7)
    figure.savefig(path, dpi=130)


def main():
    from _measure import size  # takes --small off the command line

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("curves", nargs="*", default=[], help=", ".join([*CURVES, "peaks"]))
    parser.add_argument("--longest", type=float, default=size(30.0, 2.0))
    parser.add_argument("--picture", type=Path)
    args = parser.parse_args()
    if args.curves == ["peaks"]:
        cases = [(name, "vectors") for name in MAPS]
        cases += [(MAPS[0], outputs) for outputs in ("RBF", "both sides", "choice of alpha")]
        for case in cases:
            print(measured(*case))
        return
    found = {name: curve(name, args.longest) for name in args.curves or CURVES}
    for name, points in found.items():
        show(name, points)
    if args.picture:
        picture(found, args.picture)


if __name__ == "__main__":
    if "--one" not in sys.argv:
        main()
    elif sys.argv[2] in MAPS:
        one_peak(*sys.argv[2:])
    else:
        one_point(sys.argv[2], int(sys.argv[3]))
