"""Does a kernel with weights shared over places reach a neural operator on Darcy's equation?

    python benchmarks/fields_darcy.py --device cuda --ranks 8000 16000 28000 --out out

Reads ``pde/darcy.npz`` under MERCER_DATA; parameters are chosen on the training fields alone.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from fields_kernels import Clock, placed
from sklearn.base import clone

from mercer import KernelDependency, KernelDependencyCV
from mercer._base.arrays import host, namespace
from mercer.fields import Shared, predict_on, shared_search
from mercer.kernels import RBF, Matern
from mercer.metrics import relative_error
from mercer.spaces import Fields

RIDGES = [0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0]


def tell_trials(report: dict, device: str | None) -> None:
    """Print the risk of every trial of the choice."""
    plain = shared_search.SharedSearch.risk

    def recorded(self: Any, at: dict) -> float:
        clock = Clock(device)
        risk = plain(self, at)
        report["trials"].append([at, risk, clock()])
        print("trial", at, f"{risk:.6g}", f"{clock():.2f} s", flush=True)
        report["search"] = self
        return risk

    shared_search.SharedSearch.risk = recorded  # type: ignore[method-assign]


def variants(kernel: Shared) -> dict[str, Shared]:
    """Other window and position kernels next to the one chosen."""
    scale = kernel.window.length_scale
    found = {
        f"nu {nu}, {s:g}": Matern(s * scale, nu=nu) for nu in (1.5, 2.5) for s in (0.7, 1, 1.4)
    }
    found |= {f"RBF, {s:g}": RBF(s * scale) for s in (0.5, 1.0)}
    made = {name: clone(kernel).set_params(window=window) for name, window in found.items()}
    made["no position"] = clone(kernel).set_params(position=None)
    made["RBF position"] = clone(kernel).set_params(position=RBF(kernel.position.length_scale))
    made["radius 0.5"] = clone(kernel).set_params(radius=0.5)
    return made


def main() -> None:
    """Choose, fit at each rank, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default=None)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2000])
    parser.add_argument("--fields", type=int, default=1000)
    parser.add_argument("--explore", action="store_true", help="risks of other kernels")
    parser.add_argument("--limit", type=float, default=480.0, help="seconds")
    parser.add_argument("--out", type=Path, default=Path("out"))
    given = parser.parse_args()
    whole, device = Clock(given.device), given.device
    data = np.load(Path(os.environ["MERCER_DATA"]) / "pde" / "darcy.npz")
    X, Y = (data[f"train_{side}"][: given.fields].astype(float) for side in "xy")
    X, Y, test = placed(device, X, Y, data["test_x"].astype(float))
    truth = data["test_y"].astype(float)
    grid = Fields(spacing=1 / 16)
    report: dict = {"trials": [], "fits": []}
    tell_trials(report, device)
    clock = Clock(device)
    kernel = Shared(rank=given.ranks[0], fields=grid, output_fields=grid)
    model = KernelDependencyCV(kernel, alphas=RIDGES).fit(X, Y)
    report |= {"chosen": str(model.kernel_), "alpha": model.alpha_, "seconds": clock()}
    report["risks"] = dict(zip(map(str, RIDGES), model.cv_results_["risk"].tolist(), strict=True))
    report["test"] = relative_error(truth, host(model.predict(test)))
    print(json.dumps({k: v for k, v in report.items() if k != "search"}, default=str), flush=True)
    search = report.pop("search")
    if given.explore:
        report["variants"] = {}
        for name, other in variants(clone(model.kernel_).set_params(rank=search.rank)).items():
            report["variants"][name] = search._risk(other)
            print("variant", name, f"{report['variants'][name]:.6g}", flush=True)
    for rank in given.ranks:
        if whole() > given.limit:
            print("out of time")
            break
        chosen = clone(model.kernel_).set_params(rank=rank)
        for transposed in (False, True):
            clock, pairs, alpha = Clock(device), (X, Y), model.alpha_
            if transposed:  # twice the pairs, so that twice the ridge has the same meaning
                pairs = tuple(namespace(A).concat([A, A.swapaxes(1, 2)]) for A in pairs)
                alpha = 2 * alpha
            fitted = KernelDependency(chosen, alpha=alpha).fit(*pairs)
            row = {"rank": rank, "transposed": transposed, "seconds": clock()}
            row["test"] = relative_error(truth, host(fitted.predict(test)))
            (fine,) = placed(device, data["test32_x"].astype(float))
            finer = predict_on(fitted, fine, Fields(spacing=1 / 32))
            row["asked at 32 x 32"] = relative_error(data["test32_y"].astype(float), host(finer))
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
