"""Check an environment that has `pip install .` without extras: `make minimal`.

The wheel has the files of `src/mercer`, the snippets of the README run, and every part that needs
an extra names it in one sentence before anything is fitted.
"""

from __future__ import annotations

import doctest
import os
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from click.testing import CliRunner

import mercer
from mercer.app.cli import main as command_line

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
MODULES = {
    "dask": "dask", "demo": "starlette", "excel": "openpyxl", "faiss": "faiss", "fetch": "pooch",
    "graphs": "ot", "molecules": "rdkit", "onnx": "onnx", "parquet": "pyarrow",
    "plots": "matplotlib", "strings": "rapidfuzz", "torch": "torch",
}  # fmt: skip
"""One module of each extra."""
X = np.arange(24.0).reshape(12, 2)
STRINGS = ["ab", "ba", "abb", "bab"] * 3


def run_command(*arguments: str) -> None:
    """Run the command line in this process, and raise its error message as an ImportError."""
    result = CliRunner().invoke(command_line, arguments)
    if result.exit_code:
        raise ImportError(result.stderr)


def fit_model(output_kernel: Any, y: Any, decoder: Any = None) -> None:
    """Fit a `KernelDependency` with an output kernel and a decoder to simple inputs."""
    mercer.KernelDependency("rbf", output_kernel, alpha=1.0, decoder=decoder).fit(X, y)


def uses_of_extras() -> list[tuple[str, Callable[[], Any]]]:
    """Return (extra, function) for each feature that needs an extra."""
    from mercer.app.page import serve
    from mercer.decoders import ByLoss, Candidates, GromovWassersteinBarycenter
    from mercer.kernels import RBF, Fingerprint, ShortestPath, Spectrum

    graphs = [(np.ones((n, n)), ["a"] * n) for n in range(1, 13)]
    return [
        ("demo", serve),
        ("demo", lambda: run_command("demo")),
        ("excel", lambda: run_command("predict", "model.mercer", "table.csv", "-o", "new.xlsx")),
        ("excel", lambda: run_command("fit", "table.xlsx")),
        ("faiss", lambda: fit_model(RBF(1.0), X, Candidates(index="faiss"))),
        ("fetch", lambda: mercer.datasets.fetch("usps", ".")),
        ("graphs", lambda: fit_model(ShortestPath(), graphs, GromovWassersteinBarycenter())),
        ("molecules", lambda: fit_model(Fingerprint(), ["CCO", "CC", "C"] * 4)),
        ("onnx", lambda: mercer.to_onnx(mercer.KernelDependency())),
        (
            "parquet",
            lambda: run_command("predict", "model.mercer", "table.csv", "-o", "new.parquet"),
        ),
        (
            "plots",
            lambda: run_command("fit", "table.csv", "--report", "report.html", "-o", "new.mercer"),
        ),
        ("plots", lambda: mercer.plots.completions(np.zeros((2, 3, 4)), {})),
        ("strings", lambda: fit_model(Spectrum(2), STRINGS, ByLoss("edit"))),
        ("strings", lambda: mercer.metrics.edit_distance(["a"], ["b"])),
        ("torch", lambda: mercer.train_network(mercer.KernelDependency("rbf"), X, X)),
    ]


def problem_with(extra: str, use: Callable[[], Any]) -> str:
    """Return what is wrong with the error for a missing extra; "" if nothing is."""
    fitted = []

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        """Record calls of `factor` in a solver, with which every fit begins."""
        code = frame.f_code
        if event == "call" and code.co_name == "factor" and "solvers" in code.co_filename:
            fitted.append(code)

    sys.setprofile(watch)
    try:
        use()
    except ImportError as problem:
        sentence = str(problem)
    except Exception as problem:
        return f"gives {type(problem).__name__}: {problem}"
    else:
        return "needs no extra"
    finally:
        sys.setprofile(None)
    if f'pip install "mercer[{extra}]"' not in sentence:
        return f"says {sentence}"
    return "is named only after a model was fitted" if fitted else ""


def files(folder: Path) -> dict[str, bytes]:
    """Return the contents of the files in a folder, without what Python and numba compile."""
    found = (file for file in folder.rglob("*") if file.is_file())
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in found
        if file.parent.name != "__pycache__"
    }


def main() -> int:
    """Check the README and the errors for missing extras; return the number of problems."""
    present = [extra for extra, module in MODULES.items() if find_spec(module)]
    if present:
        print(f"this environment has extras: {', '.join(present)}")
        return 1
    installed, source = files(Path(mercer.__file__).parent), files(ROOT / "src/mercer")
    if installed != source:
        different = sorted(
            name for name in {*installed, *source} if installed.get(name) != source.get(name)
        )
        print(f"the installed files are not those of src/mercer: {', '.join(different)}")
        return 1
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, tried = doctest.testfile(str(README), module_relative=False, optionflags=flags)
    print(f"README: {tried - failed} of {tried} lines run as shown")
    os.chdir(tempfile.mkdtemp())
    Path("table.csv").write_text("x,y\n" + "".join(f"{i},{i * i}\n" for i in range(12)))
    Path("table.xlsx").write_bytes(b"PK\x03\x04 a spreadsheet")
    run_command("fit", "table.csv", "-o", "model.mercer")
    for number, (extra, use) in enumerate(uses_of_extras()):
        why = problem_with(extra, use)
        failed += bool(why)
        print(f"{extra} ({number}): {why or 'named'}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
