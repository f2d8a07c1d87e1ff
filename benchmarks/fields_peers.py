"""Kernels next to neural operators: error and training time on five equations, at three sizes.

    python benchmarks/fields_peers.py --device cuda --methods mercer Batlle
    python benchmarks/fields_peers.py --device cuda --methods FNO DeepONet PCA-Net --jobs 8

Equations are simulated (`examples/simulators.py`), or read from ``pde`` under MERCER_DATA. The time
of a network is that of its steps, measured with nothing else on the machine, times their number;
the better of two learning rates is taken on a tenth held back, and counted once. Networks see the
symmetries of an equation as random moves of their batches.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
sys.path.insert(0, str(Path(__file__).parent))

TEST = 200
SIZES = (200, 1000, 5000)
SIMULATED = ("advection", "darcy smooth", "helmholtz")


def _chunk(name, n, seed):
    import simulators

    kinds = {"advection": simulators.advection, "darcy smooth": simulators.darcy}
    return {**kinds, "helmholtz": simulators.helmholtz}[name](n, seed=seed)


def data(name, size, pool=None):
    """Training and test pairs of an equation."""
    if name in ("darcy", "burgers"):
        held = np.load(Path(os.environ["MERCER_DATA"]) / "pde" / f"{name}.npz")
        if name == "darcy":
            return [held[k].astype(float) for k in ("train_x", "train_y", "test_x", "test_y")]
        order = np.random.RandomState(0).permutation(800)
        X, Y = held["x"].astype(float)[order], held["y"].astype(float)[order]
        return X[:640], Y[:640], X[640:], Y[640:]
    number = -(-(TEST + size) // 200)
    run = (lambda f, *a: map(f, *a)) if pool is None else pool.map
    parts = list(run(_chunk, [name] * number, [200] * number, range(number)))
    X, Y = (np.concatenate([p[i] for p in parts]) for i in (0, 1))
    if name != "advection":  # positive coefficients: their logarithms, for everybody
        X = np.log(X)
    return X[TEST : TEST + size], Y[TEST : TEST + size], X[:TEST], Y[:TEST]


MOVES = {"advection": "shift", "burgers": "shift", "darcy": "transpose"}
MOVES |= dict.fromkeys(("darcy smooth", "helmholtz"), "square")
"""What every batch of a network's training is moved by at random."""


def error(truth, predicted):
    """The mean relative L2 error."""
    from mercer.metrics import relative_error

    return float(relative_error(truth, np.asarray(predicted)))


def network_row(method, name, pairs, device, epochs, steps, step, limit):
    """A network, trained in a process of its own."""
    import torch

    torch.set_num_threads(1)
    from neural_operators import Training

    X, Y, test, truth = pairs
    kind = {"PCA-Net": "PCANet"}.get(method, method)
    training = Training(kind, X, Y, device, epochs, moves=MOVES[name], least=steps)
    row = {"equation": name, "n": len(X), "method": method}
    try:
        _, rate, steps, model = training.best(deadline=time.monotonic() + limit)
    except TimeoutError as out:
        return [row | {"error": float("nan"), "seconds": float("nan"), "note": str(out)}]
    row |= {"seconds": steps * step, "step": step, "rate": rate}
    row["error"] = error(truth, training.predict(model, test).cpu().numpy())
    if name == "darcy" and method == "FNO":
        held = np.load(Path(os.environ["MERCER_DATA"]) / "pde" / "darcy.npz")
        finer = training.predict(model, held["test32_x"].astype(float)).cpu().numpy()
        row["error32"] = error(held["test32_y"].astype(float), finer)
    return [row]


def main():
    """Run what was requested, print a table and write the numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--methods", nargs="+", default=["mercer", "Batlle"])
    parser.add_argument("--equations", nargs="+", default=[*SIMULATED, "darcy", "burgers"])
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument(
        "--kinds", nargs="+", default=["global", "shifts", "local", "shared", "law"]
    )
    parser.add_argument("--rank", type=int, default=16000)
    parser.add_argument("--law-rank", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=300)
    parser.add_argument("--steps", type=int, default=6000, help="the fewest, whatever the epochs")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=480.0, help="seconds")
    parser.add_argument("--out", type=Path, default=Path("out"))
    given = parser.parse_args()
    start, rows = time.monotonic(), []
    device = None if given.device == "cpu" else given.device
    context = get_context("spawn")

    def keep(found):
        rows.extend(found)
        for row in found:
            print(json.dumps(row, default=str), flush=True)
        given.out.mkdir(parents=True, exist_ok=True)
        name = "fields_" + "_".join(m.replace(".", "") for m in given.methods) + ".json"
        (given.out / name).write_text(json.dumps(rows, indent=1, default=str))

    with ProcessPoolExecutor(max(1, given.jobs), mp_context=context) as pool:
        tasks = {}
        for name in given.equations:
            whole = data(name, max(given.sizes), pool if given.jobs > 1 else None)
            for size in given.sizes if name in SIMULATED else [None]:
                X, Y, test, truth = whole
                tasks[name, size] = X[:size], Y[:size], test, truth
        print(f"data after {time.monotonic() - start:.0f} s", flush=True)
        waiting = []
        networks = [m for m in given.methods if m not in ("mercer", "Batlle")]
        for method in given.methods:
            if method in networks:
                continue
            for (name, _), pairs in tasks.items():
                if time.monotonic() - start > given.limit:
                    print("out of time", flush=True)
                    break
                from fields_kernels import mercer_rows, recipe_rows

                if method == "mercer":
                    ranks = given.rank, given.kinds, given.law_rank
                    keep(mercer_rows(name, *pairs, device, *ranks))
                else:
                    keep(recipe_rows(name, *pairs))
        if networks:
            from neural_operators import Training

            for method in networks:
                for (name, _), pairs in tasks.items():
                    kind = {"PCA-Net": "PCANet"}.get(method, method)
                    step = Training(kind, *pairs[:2], given.device).seconds_a_step()
                    waiting.append((method, name, pairs, step))
            print(f"steps timed after {time.monotonic() - start:.0f} s", flush=True)
            waiting.sort(key=lambda w: -len(w[2][0]) * w[3])  # long ones first
            jobs = [
                pool.submit(
                    network_row, m, name, pairs, given.device, given.epochs, given.steps, step,
                    max(10.0, given.limit - (time.monotonic() - start)),
                )
                for m, name, pairs, step in waiting
            ]  # fmt: skip
            for job in as_completed(jobs):
                keep(job.result())
    print(f"{time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
