"""Kernels on fields as `fields_peers.py` runs them: chosen, judged and fitted like a user would.

A kind of kernel (global, local, shared) has its parameters chosen by left-out pairs; which kind is
taken is decided by its error on a fifth of the training pairs that it has not seen; then it is
fitted to all. `choice` is the time of all that, `seconds` that of the last fit.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA

from experiments.equations.batches import on_device
from mercer import KernelDependency, KernelDependencyCV, LocalLaw
from mercer._base.arrays import host
from mercer.fields import Shared, ShiftEquivariant
from mercer.kernels import Matern
from mercer.metrics import relative_error
from mercer.operators import Local
from mercer.spaces import Fields

SQUARE = ("darcy smooth", "helmholtz")
"""Equations that do not change when the square is turned or mirrored."""
CIRCLE = ("advection", "burgers")
"""Equations that do not change when the circle is turned."""
CHOICE = 200
"""Pairs that parameters are chosen on, where copies of them are added or windows are many."""
COPIES = 10_000
"""The most examples that copies of pairs are added up to, for local kernels."""


class Clock:
    """Seconds since it was made, after all work on the device is done."""

    def __init__(self, device):
        self.device, self.start = device, 0.0
        self.start = self()

    def __call__(self):
        if self.device and self.device.startswith("cuda"):
            import torch

            torch.cuda.synchronize()
        return time.perf_counter() - self.start


def fields_of(name, X, Y):
    """What the fields of an equation are on: inputs, outputs."""
    closed = ("x",) if name in CIRCLE else ()
    grid = Fields(periodic=closed, spacing=1.0 / X.shape[-1])
    if Y.ndim > X.ndim:
        return grid, Fields(("t", "x"), periodic=("x",), spacing=(1 / 16, 1 / 16))
    return grid, grid


def placed(device, *fields):
    """The fields on the device."""
    return [on_device(A, device) for A in fields]


def copies(name, *arrays):
    """All fields, turned and mirrored where the equation allows it, and the labels of pairs."""
    number = np.arange(len(arrays[0]))
    if name not in SQUARE:
        return arrays, number
    turned = [[np.rot90(A, k, (1, 2)) for k in range(4)] for A in arrays]
    every = [np.concatenate([*T, *(t[:, ::-1] for t in T)]) for T in turned]
    return every, np.tile(number, 8)


def global_model(name, X, Y, device):
    """A scalar kernel on whole fields: a function that fits it to pairs."""
    few = slice(0, CHOICE if name in SQUARE else 1000)
    median = Matern().fit(X.reshape(len(X), -1)[few]).length_scale_
    scales, smooth = (1.0, 3.0, 8.0), (1.5, 2.5, 3.5)
    kernels = [Matern(s * median, nu=nu) for s in scales for nu in smooth]
    kept = {"alphas": 8 * np.logspace(-10, -2, 9)} if name in SQUARE else {}
    pairs, labels = copies(name, X[few], Y[few])
    chosen = KernelDependencyCV(kernels, **kept).fit(*placed(device, *pairs), groups=labels)
    model = KernelDependency(chosen.kernel_.scalar, alpha=chosen.alpha_)
    return lambda A, B: clone(model).fit(*placed(device, *copies(name, A, B)[0]))


def shift_model(name, X, Y, device):
    """A scalar kernel with all shifts, one Fourier mode at a time."""
    median = Matern().fit(X.reshape(len(X), -1)[:1000]).length_scale_
    kernels, ridges = [Matern(2.0 * median, nu=nu) for nu in (3.5, 5.5)], np.logspace(-13, -7, 7)
    if name == "advection":  # jumps: a rough kernel
        kernels, ridges = [Matern(s * median) for s in (3.0, 8.0)], np.logspace(-8, 0, 5)
    few, shifted = slice(0, CHOICE), [ShiftEquivariant(kernel) for kernel in kernels]
    chosen = KernelDependencyCV(shifted, alphas=ridges)
    chosen.fit(*placed(device, X[few], Y[few]))
    model = KernelDependency(clone(chosen.kernel_), alpha=chosen.alpha_)
    return lambda A, B: clone(model).fit(*placed(device, A, B))


def local_model(name, X, Y, device):
    """One kernel a place, chosen with all copies on a coarse grid that the symmetries keep."""
    grid, _ = fields_of(name, X, Y)
    first, step = {32: (3, 5), 16: (2, 1)}[X.shape[-1]]
    few, at = slice(0, CHOICE), slice(first, X.shape[-1] - first, step)
    coarse = Fields(origin=first * grid.spacing, spacing=step * grid.spacing)
    median = Matern().fit(X.reshape(len(X), -1)[few]).length_scale_
    tried = [
        Local(Matern(s * median, nu=2.5), width=w, floor=f, fields=grid, output_fields=coarse)
        for s in (1.0, 3.0)
        for w in (0.1, 0.15, 0.25)
        for f in (0.01, 0.05, 0.2)
    ]
    pairs, labels = copies(name, X[few], Y[few, at, at])
    number = len(labels) // len(X[few])
    chosen = KernelDependencyCV(tried, alphas=number * np.logspace(-9, -2, 8))
    chosen.fit(*placed(device, *pairs), groups=labels)
    kernel = clone(chosen.kernel_).set_params(output_fields=grid, output_shape=X.shape[1:])
    model = KernelDependency(kernel, alpha=chosen.alpha_)

    def fit(A, B):
        if number * len(A) <= COPIES:
            return clone(model).fit(*placed(device, *copies(name, A, B)[0]))
        smaller = clone(model).set_params(alpha=chosen.alpha_ / number)
        return smaller.fit(*placed(device, A, B))

    return fit


def shared_model(name, X, Y, device, rank):
    """Windows with weights shared by all places."""
    grid, outputs = fields_of(name, X, Y)
    kernel = Shared(rank=min(rank, 2000), fields=grid, output_fields=outputs)
    few = slice(0, CHOICE if X.ndim == 3 and X.shape[1] > 16 else 1000)
    chosen = KernelDependencyCV(kernel, alphas=np.logspace(-4, 1, 6))
    chosen.fit(*placed(device, X[few], Y[few]))
    last = clone(chosen.kernel_).set_params(rank=rank)

    def fit(A, B):
        many = A.shape[0] * np.prod(B.shape[1:]) > 2_000_000
        kernel = clone(last).set_params(rank=rank // 2 if many else rank)
        return KernelDependency(kernel, alpha=chosen.alpha_).fit(*placed(device, A, B))

    return fit


def law_model(name, X, Y, device, rank):
    """The law of neighbours; how far it reaches is chosen by left-out fields at a low rank."""
    grid, _ = fields_of(name, X, Y)
    kept = {"fields": grid, "device": device, "n_windows": 2048 * rank if device else 10**5}
    few, reaches = slice(0, CHOICE if device else 50), ((1.0, 1.0), (1.5, 1.0), (1.5, 1.5))
    tried = [
        LocalLaw(radius=a * grid.spacing, reach=b * grid.spacing, rank=min(rank, 100), **kept)
        for a, b in reaches
    ]
    best = min(tried, key=lambda model: model.fit(X[few], Y[few]).errors_.min())
    return lambda A, B: clone(best).set_params(rank=rank).fit(A, B)


def mercer_rows(name, X, Y, test, truth, device, rank, kinds, law_rank=150):
    """A row for each kind, and which of them the pairs held back would have taken."""
    made = {
        "global": lambda *p: global_model(name, *p, device),
        "shifts": lambda *p: shift_model(name, *p, device),
        "local": lambda *p: local_model(name, *p, device),
        "shared": lambda *p: shared_model(name, *p, device, rank),
        "law": lambda *p: law_model(name, *p, device, law_rank),
    }
    rows, cut = [], len(X) - len(X) // 5
    for kind in kinds:
        if (kind == "shifts") != (name in CIRCLE) and kind in ("shifts", "local"):
            continue
        if kind in ("local", "law") and X.ndim < 3:
            continue
        row = {"equation": name, "n": len(X), "method": f"mercer, {kind}", "held": np.inf}
        rows.append(row)
        try:
            if device and device.startswith("cuda"):
                import torch

                torch.cuda.empty_cache()  # a fit asks how much is free
            clock = Clock(device)
            fit = made[kind](X[:cut], Y[:cut])
            on = None if kind == "law" else device  # whose fields are on the host
            held = fit(X[:cut], Y[:cut]).predict(*placed(on, X[cut:]))
            row["held"] = float(relative_error(Y[cut:], host(held)))
            row["choice"], clock = clock(), Clock(device)
            model = fit(X, Y)
            row["seconds"] = clock()
            row["error"] = float(relative_error(truth, host(model.predict(*placed(on, test)))))
            row["kernel"] = str(getattr(model, "kernel_", model))
        except (ValueError, RuntimeError, MemoryError) as failed:  # the others still have their row
            row["note"] = str(failed)
    if rows:
        min(rows, key=lambda row: row["held"])["taken"] = True
    return rows


def recipe_rows(name, X, Y, test, truth):
    """The global recipe of Batlle et al. (2023): components of both sides, Matérn, ridge chosen."""
    start = time.perf_counter()
    few = slice(0, 1000)
    flat = [A.reshape(len(A), -1) for A in (X, Y, test)]
    left, right = PCA(0.999).fit(flat[0]), PCA(0.9999).fit(flat[1])
    A, B = left.transform(flat[0]), right.transform(flat[1])
    median = Matern().fit(A[few]).length_scale_
    kernels = [Matern(s * median, nu=2.5) for s in (1.0, 2.0, 4.0, 8.0)]
    model = KernelDependencyCV(kernels).fit(A[few], B[few])
    if len(X) > 1000:
        model = KernelDependencyCV(model.kernel_.scalar, alphas=[model.alpha_]).fit(A, B)
    seconds = time.perf_counter() - start
    predicted = right.inverse_transform(model.predict(left.transform(flat[2])))
    row = {"equation": name, "n": len(X), "method": "Batlle et al.", "seconds": seconds}
    return [row | {"error": float(relative_error(truth, predicted.reshape(truth.shape)))}]
