"""Are landmarks as good and as fast as scikit-learn's, and which landmarks are best where?

USPS halves (7,291 training digits): pixels of the lower half from those of the upper one. The
length scale and alpha are chosen on training digits by closed-form leave-one-out at rank 500.
"""

import numpy as np
from _measure import SMALL, best_times, report, size
from rich.console import Console
from rich.table import Table
from sklearn.kernel_approximation import Nystroem as Peer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from mercer import KernelDependency, KernelDependencyCV
from mercer.datasets import load_usps
from mercer.features import IncompleteCholesky, Nystroem, RandomPivotedCholesky
from mercer.kernels import RBF

RANK, SEEDS = 500, range(5)
console = Console()
train, _, test, _ = load_usps()
X, Y, X_test, Y_test = (
    half.reshape(len(half), -1) for half in (train[:, :8], train[:, 8:], test[:, :8], test[:, 8:])
)
with console.status("choosing the length scale and alpha"):
    best = KernelDependencyCV(
        [RBF(s) for s in (3.0, 4.0, 6.0, 8.0, 12.0)],
        alphas=np.logspace(-4, 1, 11),
        features=RandomPivotedCholesky(RANK, random_state=0),
    ).fit(X, Y)
kernel, alpha = best.kernel_.scalar, best.alpha_
print(f"chosen: {kernel}, alpha {alpha:.1e}")


def mine(map):
    return KernelDependency(kernel, alpha=alpha, features=map)


def peer(seed):
    gamma = 0.5 / kernel.length_scale**2
    coordinates = Peer(kernel="rbf", gamma=gamma, n_components=RANK, random_state=seed)
    return make_pipeline(coordinates, Ridge(alpha, fit_intercept=False))


def error(model):
    return float(((model.fit(X, Y).predict(X_test) - Y_test) ** 2).mean())


times = best_times(
    {
        "scikit-learn Nystroem + Ridge": lambda: peer(0).fit(X, Y),
        "Nystroem": lambda: mine(Nystroem(RANK, random_state=0)).fit(X, Y),
        "RandomPivotedCholesky": lambda: mine(RandomPivotedCholesky(RANK, random_state=0)).fit(
            X, Y
        ),
        "IncompleteCholesky": lambda: mine(IncompleteCholesky(RANK)).fit(X, Y),
    },
    size(12, 3),
)
report(f"USPS, rank {RANK}, n = {len(X):,}", times, "scikit-learn Nystroem + Ridge", "at most 1")
if SMALL:
    raise SystemExit


def clusters(rng):
    """9,000 items close together, and 200 groups of 5 far apart from them and each other."""
    crowd = rng.normal(size=(9000, 5))
    centres = 100.0 * rng.normal(size=(200, 5))
    return np.concatenate([crowd, np.repeat(centres, 5, axis=0) + 0.1 * rng.normal(size=(1000, 5))])


MAPS = {
    "uniform": lambda seed: Nystroem(RANK, random_state=seed),
    "random pivots": lambda seed: RandomPivotedCholesky(RANK, random_state=seed),
    "greedy pivots": lambda seed: IncompleteCholesky(RANK),
}
rows = {name: ([], [], []) for name in ["scikit-learn", *MAPS]}
with console.status("comparing landmarks") as status:
    for seed in SEEDS:
        status.update(f"comparing landmarks, seed {seed}")
        rows["scikit-learn"][2].append(error(peer(seed)))
        far = clusters(np.random.default_rng(seed))
        for name, make in MAPS.items():
            rows[name][0].append(make(seed).fit(kernel, X).trace_error_)
            rows[name][1].append(make(seed).fit(RBF(2.0), far).trace_error_)
            rows[name][2].append(error(mine(make(seed))))
table = Table(title=f"rank {RANK}, mean of {len(SEEDS)} draws")
for column in ("landmarks", "trace error, USPS", "trace error, far groups", "test squared error"):
    table.add_column(column)
for name, values in rows.items():
    table.add_row(name, *(f"{np.mean(v):.4f} ± {np.std(v):.4f}" if v else "–" for v in values))
console.print(table)
usps, groups = (np.mean(rows["random pivots"][j]) / np.mean(rows["uniform"][j]) for j in (0, 1))
print(
    f"random pivots over uniform: {usps:.3f} on USPS (wanted: at most 1.02), "
    f"{groups:.3f} on far groups (wanted: at most 0.5)"
)
