"""mercer: predict images, curves, words, rankings, label sets and graphs with kernels.

A kernel maps outputs to points of a feature space. Ridge regression with an operator-valued kernel
predicts these points from inputs. A decoder converts predicted points to outputs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .auto import AutoDependency
    from .estimators import (
        Blend,
        BoostedDependency,
        ForestDependency,
        KernelDependency,
        KernelDependencyCV,
        RegressorDependency,
    )
    from .estimators.learn_metric import learn_metric
    from .estimators.train_network import train_network
    from .estimators.tune import tune
    from .export import to_onnx
    from .fields import LocalLaw
    from .persistence import DamagedModel, Limits, load, register, save
    from .sequences import SequenceTransducer
    from .sets import ConformalSets

__version__ = "0.2.0"

__all__ = [
    "AutoDependency", "Blend", "BoostedDependency", "ConformalSets", "DamagedModel",
    "ForestDependency", "KernelDependency", "KernelDependencyCV", "Limits",
    "LocalLaw", "RegressorDependency", "SequenceTransducer",
    "__version__", "learn_metric", "load", "register", "save", "to_onnx", "train_network", "tune",
]  # fmt: skip

_HOMES = ("persistence", "estimators", "export", "sets", "fields", "sequences", "auto")
"""The folders that define the public names; each imports only those before it."""
_MOVED = dict.fromkeys(("JointKernelMap", "MaxMarginMarkovNetwork"), "experiments.peers")
"""Public names that moved, and where they are now; `experiments` is not in the wheel."""
_SUBPACKAGES = (
    "datasets", "decoders", "defaults", "estimators", "features", "fields", "kernels",
    "metrics", "operators", "plots", "sequences", "sets", "solvers", "sources", "spaces", "testing",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a public name or a subpackage on first use, so that the command line starts fast."""
    if name in _MOVED:
        raise ImportError(f"{name} moved: from {_MOVED[name]} import {name}", name=__name__)
    if name in __all__:
        homes = (import_module(f".{home}", __name__) for home in _HOMES)
        value = next(getattr(home, name) for home in homes if name in home.__all__)
    else:
        value = _submodule(name)
    globals()[name] = value
    return value


def _submodule(name: str) -> Any:
    """Return a subpackage; raise AttributeError if there is none of this name."""
    full = f"{__name__}.{name}"
    try:
        return import_module(full)
    except ModuleNotFoundError as error:
        if error.name != full:
            raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBPACKAGES})
