"""Do ten million windows stream through a fit in bounded memory, and in time linear in them?

python benchmarks/fields_stream.py --device cuda --rank 4000
python benchmarks/fields_stream.py --rank 500
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path

import numpy as np

from experiments.equations.batches import on_device
from mercer import KernelDependency
from mercer.fields import Shared
from mercer.kernels import Matern
from mercer.spaces import Fields


def main() -> None:
    """Fit fields of 32 × 32 in three numbers, each twice the last."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default=None)
    parser.add_argument("--rank", type=int, default=500)
    parser.add_argument("--windows", type=float, default=1e7)
    parser.add_argument("--out", type=Path, default=Path("out"))
    given = parser.parse_args()
    grid, rows = Fields(spacing=1 / 32), []
    for share in (0.25, 0.5, 1.0):
        n = int(share * given.windows / 1024)
        X = np.random.default_rng(0).normal(size=(n, 32, 32))
        X, Y = (on_device(A, given.device) for A in (X, X * np.roll(X, 1, axis=2)))
        kernel = Shared(
            Matern(3.0), None, 0.05, 0.0, 0.1, given.rank, fields=grid, output_fields=grid
        )
        start = time.perf_counter()
        model = KernelDependency(kernel, alpha=1.0).fit(X, Y)
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        row = {"windows": n * 1024, "seconds": seconds, "peak GiB": peak}
        if given.device and given.device.startswith("cuda"):
            import torch

            row["device GiB"] = torch.cuda.max_memory_allocated() / 2**30
        row["score"] = float(model.score(X[:50], Y[:50]))
        rows.append(row)
        print(row, flush=True)
    given.out.mkdir(parents=True, exist_ok=True)
    name = f"fields_stream_{given.device or 'host'}.json"
    (given.out / name).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
