"""The bundled digits: lower halves from upper halves, in well under a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.progress import track

from mercer.datasets import load_digit_halves
from mercer.metrics import rbf_loss

from .baselines import predictions
from .halves import OPERATORS, compare
from .pictures import completions
from .report import Report

SCALES = [0.7, 1.0, 1.4]
OUTPUT_SCALE = 2.0


def run(folder: Path, console: Any, quick: bool = False) -> Report:
    """Train on the first 500 digits, test on the rest; parameters by leave-one-out."""
    upper, lower = load_digit_halves()
    n = 150 if quick else 500
    train, test = slice(0, n), slice(n, None)
    steps = compare([(train, test)], upper, lower, OPERATORS, SCALES, OUTPUT_SCALE)
    *_, results = track(steps, "fitting", total=len(OPERATORS), console=console, transient=True)
    report = Report("digits", title="Lower halves of digits from upper halves", wide=True)
    for r in results:
        report.add(r.method, r.decoder, "rbf loss", r.losses[0], seconds=r.seconds)
        report.settings[r.method] = r.chosen[0]
    for name, predicted, seconds in predictions(
        upper[train], lower[train], upper[test], quick=quick
    ):
        loss = rbf_loss(lower[test], predicted, OUTPUT_SCALE)
        report.add(name, "fixed point", "rbf loss", loss, seconds=seconds)
    report.notes.append(
        f"RBF loss of output length scale {OUTPUT_SCALE:g} on {len(upper) - n} unseen digits, "
        f"trained on {n}; kernel, operator and alpha chosen by leave-one-out on those. "
        "scikit-learn's regressors make an image too, tuned by five-fold cross-validation."
    )
    shown = slice(n, n + 8)
    pictures = {f"{r.method}, {r.decoder}": r.pictures for r in results}
    completions(folder / "digits.png", upper[shown], {"truth": lower[shown], **pictures})
    report.captions["digits.png"] = "Unseen digits, the part below the line as completed."
    return report
