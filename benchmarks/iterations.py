"""When do conjugate gradients solve a fit, and how accurately? A grid of kernels, ridges and data.

    python benchmarks/iterations.py [file of the picture]

For each kernel and ridge a fit with ``solver="auto"`` is compared with a Cholesky factor. The error
is the largest one at new inputs, relative to the largest output; below a ridge of 1e-7 of the
largest eigenvalue at the training inputs, because there the reference is not reliable at new ones.
"""

from __future__ import annotations

import sys

import numpy as np
import scipy.linalg
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from mercer import KernelDependency
from mercer.datasets import load_usps
from mercer.datasets._files import find_file
from mercer.kernels import RBF, Kernel, Laplacian, Linear, Matern, Polynomial

RIDGES = [10.0**-power for power in range(9)]
TRAINED, TESTED = 1580, 200


def data() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Inputs and outputs: digits and USPS as one-hot labels, and a table of six targets."""
    digits = load_digits()
    images, labels, *_ = load_usps()
    arrays = np.load(find_file("multi_output_sets/multi_output_sets.npz"))
    X, Y = (StandardScaler().fit_transform(arrays[name]) for name in ("air_X", "air_y"))
    return {
        "digits": (digits.data / 16, np.eye(10)[digits.target]),
        "USPS": (images.reshape(len(images), -1), np.eye(10)[labels]),
        "table of air pollution": (X, Y),
    }


def kernels(X: np.ndarray) -> dict[str, Kernel]:
    """The kernels; lengths are relative to the median distance."""
    ell = float(RBF("median").fit(X).length_scale_)
    return {
        "RBF, 0.3": RBF(0.3 * ell),
        "RBF, 1": RBF(ell),
        "RBF, 3": RBF(3 * ell),
        "Laplacian": Laplacian("median").fit(X),
        "Matérn 3/2": Matern(ell, nu=1.5),
        "linear": Linear(),
        "polynomial": Polynomial(3),
    }


def cell(kernel: Kernel, alpha: float, rows: tuple, K: np.ndarray, largest: float) -> tuple:
    """The iterations (None for a factorisation) and the error of one fit."""
    X, Y, X_new = rows
    model = KernelDependency(kernel, alpha=alpha, fit_intercept=False).fit(X, Y)
    if model.n_iter_ is None:
        return None, 0.0
    factor = scipy.linalg.cho_factor(K + alpha * np.eye(len(K)))
    at = X if alpha < 1e-7 * largest else X_new
    wanted = kernel(at, X) @ scipy.linalg.cho_solve(factor, Y)
    return model.n_iter_, np.abs(model.predict(at) - wanted).max() / np.abs(Y).max()


def main() -> None:
    found: dict[tuple[str, str], list[tuple]] = {}
    for name, (X, Y) in data().items():
        order = np.random.default_rng(0).permutation(len(X))
        X, Y = X[order], Y[order]
        rows = X[:TRAINED], Y[:TRAINED], X[TRAINED : TRAINED + TESTED]
        for label, kernel in kernels(rows[0]).items():
            K = kernel(rows[0])
            largest = float(scipy.linalg.eigvalsh(K, subset_by_index=[len(K) - 1] * 2)[0])
            found[name, label] = [cell(kernel, alpha, rows, K, largest) for alpha in RIDGES]
    show(found)
    if len(sys.argv) > 1:
        draw(found, sys.argv[1])


def show(found: dict[tuple[str, str], list[tuple]]) -> None:
    """Print the iterations, a dash for a factorisation, and the largest error."""
    table = Table(title="iterations of conjugate gradients")
    for column in ("data", "kernel", *(f"{alpha:.0e}" for alpha in RIDGES), "largest error"):
        table.add_column(column, justify="left" if column in ("data", "kernel") else "right")
    for (name, label), cells in found.items():
        counts = ["–" if count is None else str(count) for count, _ in cells]
        table.add_row(name, label, *counts, f"{max(error for _, error in cells):.0e}")
    Console(width=120).print(table)


def draw(found: dict[tuple[str, str], list[tuple]], path: str) -> None:
    """Draw the iterations as a grid of cells, white where a factorisation was used."""
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(name for name, _ in found))
    figure, axes = plt.subplots(1, len(names), figsize=(11, 3.2), sharey=True)
    for axis, name in zip(axes, names, strict=True):
        rows = {label: cells for (own, label), cells in found.items() if own == name}
        counts = [[np.nan if n is None else n for n, _ in cells] for cells in rows.values()]
        image = axis.imshow(counts, aspect="auto", cmap="viridis", vmin=0, vmax=60)
        for i, line in enumerate(counts):
            for j, count in enumerate(line):
                text = "–" if np.isnan(count) else f"{count:.0f}"
                color = "black" if np.isnan(count) or count > 40 else "white"
                axis.text(j, i, text, ha="center", va="center", fontsize=7, color=color)
        axis.set_xticks(range(len(RIDGES)), [f"{alpha:.0e}" for alpha in RIDGES], rotation=60)
        axis.set_yticks(range(len(rows)), list(rows))
        axis.set_title(name)
        axis.set_xlabel("alpha")
    figure.colorbar(image, ax=axes, label="iterations")
    figure.savefig(path, dpi=110, bbox_inches="tight")


if __name__ == "__main__":
    main()
