"""How near are fits on a GPU to their floors: the eigendecompositions, the bare products?

Needs PyTorch with CUDA (and CuPy for its row). Results are compared with the CPU's first.
"""

import argparse
import time

import numpy as np
import torch
from array_api_compat.torch import linalg as library
from rich.console import Console
from rich.table import Table

from mercer import KernelDependency
from mercer.kernels import RBF
from mercer.operators import ConditionalCovariance, Covariance, Identity

console = Console(width=110)


def timed(run, repeats=1):
    best = float("inf")
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    return best


def agreement():
    """Predictions on the GPU minus those of the CPU, float64."""
    rng = np.random.default_rng(0)
    X, Y, new = rng.normal(size=(1500, 10)), rng.normal(size=(1500, 8)), rng.normal(size=(200, 10))
    table = Table(title="largest difference between the GPU's and the CPU's points, n = 1,500")
    for column in ("operator", "library", "difference"):
        table.add_column(column)
    libraries = {"torch": lambda A: torch.asarray(A, device="cuda")}
    try:
        import cupy

        libraries["cupy"] = cupy.asarray
    except ImportError:
        pass
    for operator in (Identity(), Covariance(), ConditionalCovariance(0.1)):
        model = KernelDependency(RBF(4.0) * operator, RBF(4.0), alpha=0.1)
        wanted = model.fit(X, Y).embed(new).inner(Y[:50])
        for name, move in libraries.items():
            got = model.fit(move(X), move(Y)).embed(move(new)).inner(move(Y[:50]))
            got = got.get() if name == "cupy" else got.cpu().numpy()
            table.add_row(str(operator), name, f"{np.abs(got - wanted).max():.1e}")
    console.print(table, "wanted: at most 1e-6")


def exact(n):
    """The conditional covariance at n, against the eigh calls that it makes."""
    torch.manual_seed(0)
    X = torch.randn(n, 20, device="cuda", dtype=torch.float64)
    Y = torch.randn(n, 20, device="cuda", dtype=torch.float64)
    model = KernelDependency(RBF(4.0) * ConditionalCovariance(0.1), RBF(4.0), alpha=0.1)
    calls = []
    eigh = library.eigh

    def counted(A, *args, **kwargs):
        torch.cuda.synchronize()
        start = time.perf_counter()
        result = eigh(A, *args, **kwargs)
        torch.cuda.synchronize()
        calls.append(time.perf_counter() - start)
        return result

    torch.linalg.eigh(torch.eye(500, device="cuda", dtype=torch.float64))  # load the library
    library.eigh = counted
    try:
        whole = timed(lambda: model.fit(X, Y))
    finally:
        library.eigh = eigh
    inside = ", ".join(f"{call:.2f}" for call in calls)
    console.print(
        f"conditional covariance, exact, n = {n:,}: {whole:.2f} s, of which eigh {inside}; ratio "
        f"{whole / sum(calls):.3f} (wanted: at most 1.4); peak "
        f"{torch.cuda.max_memory_allocated() / 2**30:.1f} GiB"
    )


def moments(n, m, rows):
    """Moments of n pairs at m landmarks, float32 products, against the bare product loop."""
    from mercer.features import Explicit, Nystroem
    from mercer.kernels import Linear
    from mercer.sources import Gathering

    torch.manual_seed(0)
    X = torch.randn(n, 64, dtype=torch.float32)  # on the host: blocks stream from there
    Y = torch.randn(n, 16, dtype=torch.float32)
    landmarks = torch.randn(m, 64, device="cuda", dtype=torch.float64)
    map = Nystroem(landmarks=landmarks).fit(RBF(8.0), landmarks)
    sample = torch.asarray(Y[:256], device="cuda", dtype=torch.float64)
    outputs = Explicit().fit(Linear(), sample)
    U = torch.randn(rows, m, device="cuda", dtype=torch.float32)

    def bare():
        S = torch.zeros(m, m, device="cuda", dtype=torch.float32)
        for _ in range(n // rows):
            S += U.T @ U
        return S

    def gather(precision):
        gathering = Gathering.of(map, outputs, landmarks[:256], sample, precision=precision)
        for start in range(0, n, rows):
            x = X[start : start + rows].to("cuda", dtype=torch.float64)
            y = Y[start : start + rows].to("cuda", dtype=torch.float64)
            gathering = gathering.plus(gathering.moments_of(x, y))
        return gathering.raw.uu

    bare()
    floor = timed(bare, 2)
    result = {}
    for precision in ("float32", "float64"):
        seconds = timed(lambda p=precision: result.update({p: gather(p)}), 2)
        console.print(
            f"moments, n = {n:,}, m = {m:,}, {precision} products: {seconds:.2f} s; the bare "
            f"float32 product loop takes {floor:.2f} s; ratio {seconds / floor:.2f}"
        )
    error = torch.linalg.norm(result["float32"] - result["float64"])
    scale = torch.linalg.norm(result["float64"])
    console.print(
        f"relative error of the float32 moments: {float(error / scale):.1e} (wanted: ratio ≤ 1.4)"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=20_000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rank", type=int, default=8_192)
    parser.add_argument("--block", type=int, default=16_384)
    options = parser.parse_args()
    console.print(torch.cuda.get_device_name(), torch.__version__)
    agreement()
    exact(options.n)
    moments(options.rows, options.rank, options.block)
