"""Does a kernel with weights shared over places reach a neural operator on Darcy's equation?

    python benchmarks/fields_darcy.py --device cuda --ranks 8000 16000 28000 --out out

Reads ``pde/darcy.npz`` under MERCER_DATA; parameters are chosen on the training fields alone.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from mercer import KernelDependency
from mercer.operators import Shared
from mercer.problem import Want
from mercer.solvers import place_choice
from mercer.spaces import Fields


def relative(predicted: Any, truth: np.ndarray) -> float:
    """The mean relative L2 error."""
    gap = (np.asarray(predicted) - truth).reshape(len(truth), -1)
    return float((np.linalg.norm(gap, axis=1) / np.linalg.norm(truth.reshape(len(truth), -1), axis=1)).mean())


def synced(device: str | None) -> float:
    """The time, after all work on the device is done."""
    if device and device.startswith("cuda"):
        import torch

        torch.cuda.synchronize()
    return time.perf_counter()


def main() -> None:
    """Choose, fit at each rank, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default=None)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2000])
    parser.add_argument("--fields", type=int, default=1000)
    parser.add_argument("--ridges", type=float, nargs="+", default=[0.01, 0.03, 0.1, 0.3, 1.0])
    parser.add_argument("--symmetries", nargs="*", default=[])
    parser.add_argument("--limit", type=float, default=480.0, help="seconds")
    parser.add_argument("--out", type=Path, default=Path("out"))
    given = parser.parse_args()
    start = time.perf_counter()
    data = np.load(Path(os.environ["MERCER_DATA"]) / "pde" / "darcy.npz")
    X, Y = data["train_x"][: given.fields].astype(float), data["train_y"][: given.fields].astype(float)
    grid = Fields(spacing=1 / 16)
    report: dict = {"trials": [], "fits": []}
    args.args = given
    plain = place_choice.Search.risk

    def told(self: Any, at: dict) -> float:
        begun = synced(given.device)
        risk = plain(self, at)
        report["trials"].append([at, risk, synced(given.device) - begun])
        print(at, f"{risk:.6g}", f"{report['trials'][-1][2]:.2f} s", flush=True)
        return risk

    place_choice.Search.risk = told  # type: ignore[method-assign]
    begun = synced(given.device)
    open_kernel = Shared(rank=min(given.ranks), fields=grid, output_fields=grid)
    model = KernelDependency(open_kernel, alpha=0.1, device=given.device).fit(X, Y)
    print("chosen", model.kernel_, f"{synced(given.device) - begun:.1f} s", flush=True)
    report["chosen"] = str(model.kernel_)
    report["choice_seconds"] = synced(given.device) - begun
    # The ridge, by left-out fields at the rank of a choice.
    from mercer.solvers import factor

    begun = synced(given.device)
    problem = model.fitted_.problem
    from dataclasses import replace

    problem = replace(problem, kernel=model.kernel_)
    found = list(factor(problem, Want(given.ridges, left_out=True)).left_out(given.ridges))
    risks = [left_out.risk() for left_out in found]
    alpha = given.ridges[int(np.argmin(risks))]
    report["ridges"] = dict(zip(map(str, given.ridges), risks, strict=True))
    report["ridge_seconds"] = synced(given.device) - begun
    print("ridges", report["ridges"], f"{report['ridge_seconds']:.1f} s", flush=True)
    for rank in given.ranks:
        if time.perf_counter() - start > given.limit:
            print("out of time")
            break
        kernel = model.kernel_.__class__(**{**model.kernel_.get_params(deep=False), "rank": rank})
        begun = synced(given.device)
        fitted = KernelDependency(kernel, alpha=alpha, device=given.device).fit(X, Y)
        seconds = synced(given.device) - begun
        row = {"rank": rank, "alpha": alpha, "fit_seconds": seconds}
        row["test"] = relative(fitted.predict(data["test_x"].astype(float)), data["test_y"])
        for other in (0.3 * alpha, 3.0 * alpha):  # a look, not a choice
            points = fitted.fitted_.factorization if False else None
            del points, other
        report["fits"].append(row)
        print(row, flush=True)
        write(given.out, report)
    write(given.out, report)


def write(out: Path, report: dict) -> None:
    """The numbers as a file."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "fields_darcy.json").write_text(json.dumps(report, indent=1, default=str))


if __name__ == "__main__":
    main()
