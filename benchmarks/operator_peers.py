"""Fourier neural operators on the equations of `python -m experiments operators`, by size.

    python benchmarks/operator_peers.py --device cuda --jobs 6

The better of two learning rates is taken on a tenth of the training pairs; with 20,000 pairs there
is one rate and 100 epochs. The time of a network is that of its steps with all jobs on the machine.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))

SEED, TEST = 1, 200
FEW_EPOCHS, MANY_EPOCHS, STEPS = 300, 100, 6000
JOBS = (
    ("Helmholtz", 20_000), ("Navier–Stokes", 20_000), ("Helmholtz", 1000), ("Navier–Stokes", 1000),
    ("Darcy", 1000), ("Burgers", 1000), ("advection", 1000), ("Helmholtz", 3000),
    ("Navier–Stokes", 3000), ("Helmholtz", 300), ("Navier–Stokes", 300),
)  # fmt: skip


def train(equation, size, device, limit):
    """The error of a network on test pairs that follow the training pairs, and its seconds."""
    import torch
    from neural_operators import Training

    from experiments.equations import EQUATIONS

    torch.set_num_threads(1)
    large = equation in ("Helmholtz", "Navier–Stokes")
    first = 20_000 if large and size > 1000 else max(size, 1000)  # where the test pairs begin
    test = 2000 if large else TEST
    X, Y = EQUATIONS[equation](first + test, seed=SEED, device=device)
    many = size > 3000
    training = Training(
        "FNO", X[:size], Y[:size], device, MANY_EPOCHS if many else FEW_EPOCHS, least=STEPS
    )
    start = time.monotonic()
    rates = (1e-3,) if many else (1e-3, 3e-3)
    held, rate, steps, model = training.best(rates, deadline=start + limit)
    seconds = time.monotonic() - start
    predicted, truth = training.predict(model, X[first:]), Y[first:].float()
    gaps = (predicted - truth).flatten(1).norm(dim=1) / truth.flatten(1).norm(dim=1)
    return {
        "equation": equation, "n": size, "method": "FNO", "error": float(gaps.mean()),
        "held": held, "rate": rate, "steps": steps, "seconds": seconds,
    }  # fmt: skip


def main():
    """Train all networks, several at once, and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=480.0, help="seconds")
    parser.add_argument("--out", type=Path, default=Path("out"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    rows = []
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        runs = {pool.submit(train, *job, given.device, given.limit): job for job in JOBS}
        for run in as_completed(runs):
            try:
                rows.append(run.result())
                print(json.dumps(rows[-1]), flush=True)
            except Exception as error:
                print(runs[run], repr(error)[:200], flush=True)
            (given.out / "operator_peers.json").write_text(json.dumps(rows))


if __name__ == "__main__":
    main()
