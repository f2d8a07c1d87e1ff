"""Modules that have moved: model files and pickles of older versions name them as they were."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

MOVED: dict[str, str] = {
    "estimators.joint_kernel_map": "sequences.joint_kernel_map",
    "estimators.joint_scores": "sequences.joint_scores",
    "estimators.markov": "sequences.markov",
    "estimators.max_margin": "sequences.max_margin",
    "estimators.sequence_transducer": "sequences.sequence_transducer",
    "estimators.transduction": "sequences.transduction",
    "auto.reader": "auto.frames",
    "decoders.simplex": "decoders.direct",
    "estimators.risk_control": "estimators.list_summaries",
    "features.operator_fourier": "features.fourier",
    "kernels.delta": "kernels.labels",
    "kernels.molecules": "kernels.fingerprint",
    "kernels.on": "kernels.mapped",
    "kernels.on_device": "kernels.wrapper",
    "kernels.precomputed": "kernels.function",
    "kernels.quadrature": "kernels.curves",
    "kernels.smoothed": "kernels.standardized",
    "kernels.tanimoto": "kernels.histograms",
    "kernels.words": "kernels.tf_idf",
    "losses.epsilon_insensitive": "losses.huber",
    "losses.scale": "losses.base",
    "operators.identity": "operators.matrix",
    "operators.pointwise": "operators.components",
    "operators.reduced_rank": "operators.learned",
    "operators.scaled": "operators.sums",
    "solvers.conjugate_gradient": "solvers.block_conjugate_gradient",
    "solvers.left_out_weights": "solvers.weights",
    "solvers.place_map": "solvers.place_moments",
    "spaces.grid": "spaces.fields",
    "spaces.spectra": "spaces.molecules",
    "spaces.trees": "spaces.graphs",
    "streams.expected": "sources.blocks",
    "streams": "sources",
}
"""Modules and packages that have moved with all that models hold of them: old and present name."""


def present_name(module: str) -> str:
    """The present name of a module that may have moved."""
    for old, new in MOVED.items():
        if module == old or module.startswith(f"{old}."):
            return new + module.removeprefix(old)
    return module


class _Finder(MetaPathFinder, Loader):
    """Import a module that has moved under its old name, as `pickle` does."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        package, _, old = name.partition(".")
        moved = package == __package__ and present_name(old) != old
        return ModuleSpec(name, self) if moved else None

    def exec_module(self, module: ModuleType) -> None:
        """Put the module that there is in the place of the empty one."""
        package, _, old = module.__name__.partition(".")
        if old == "streams":
            told = "mercer.streams is called mercer.sources now: import from there."
            warnings.warn(told, DeprecationWarning, stacklevel=2)
        sys.modules[module.__name__] = import_module(f"{package}.{present_name(old)}")


sys.meta_path.append(_Finder())
