"""Write the API pages: one page for each public name, and one table of names for each module."""

import importlib
import inspect
from pathlib import Path

MODULES = {
    "mercer": "estimators", "mercer.estimators": "custom_estimators",
    "mercer.kernels": "kernels", "mercer.spaces": "spaces",
    "mercer.operators": "operators", "mercer.decoders": "decoders",
    "mercer.features": "features", "mercer.fields": "fields",
    "mercer.sets": "sets", "mercer.sources": "sources",
    "mercer.embedding": "embedding", "mercer.metrics": "metrics", "mercer.defaults": "defaults",
    "mercer.datasets": "datasets",
    "mercer.solvers": "solvers", "mercer.problem": "problem",
    "mercer.plots": "plots", "mercer.tables": "tables", "mercer.testing": "testing",
}  # fmt: skip
"""The page under reference/ that lists the names of a module."""
INTERNAL = {
    "mercer.decoders": ("Ranked",),
    "mercer.embedding": ("MovedFrame", "SpanFrame", "feature_variance"),
    "mercer.estimators": ("StructuredEstimator", "on_fresh_state"),
    "mercer.operators": ("Boxes", "ComponentGram"),
    "mercer.problem": ("Moments",),
    "mercer.solvers": (
        "ConjugateGradient", "LeftOut", "Moments", "NotSupported", "Solution", "Solver", "factor",
        "route",
    ),
    "mercer.sources": (
        "Checkpoint", "Expected", "Gathering", "RowBlocks", "is_dask", "mapped", "sample_size",
        "sampled_rows", "sum_moments",
    ),
}  # fmt: skip
"""Names that only mercer itself uses. They may change without notice and have no page."""
CLASS = """{name}
{line}

.. currentmodule:: {module}

.. autoclass:: {name}
   :members:
   :inherited-members: {bases}

.. minigallery:: {module}.{name}
   :add-heading: Examples that use {name}
"""
FUNCTION = """{name}
{line}

.. currentmodule:: {module}

.. autofunction:: {name}

.. minigallery:: {module}.{name}
   :add-heading: Examples that use {name}
"""
ELSEWHERE = (
    "BaseEstimator, _MetadataRequester, ReprHTMLMixin, _HTMLDocumentationLinkMixin, "
    "TransformerMixin, _SetOutputMixin, Exception, ValueError, LookupError, dict, tuple, object"
)
"""Base classes of other libraries, whose members are not listed."""


def public_names(module: str) -> list[str]:
    """Return the public names of a module, without those that `mercer` also exports."""
    found = importlib.import_module(module)
    names = getattr(found, "__all__", None) or [
        name for name, value in vars(found).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module
    ]  # fmt: skip
    shown_by_mercer = importlib.import_module("mercer").__all__ if module != "mercer" else ()
    hidden = (*INTERNAL.get(module, ()), *shown_by_mercer)
    return [name for name in names if callable(getattr(found, name)) and name not in hidden]


def write_pages(folder: Path) -> None:
    """Write the pages of all modules that have changed, and delete old pages."""
    folder.mkdir(exist_ok=True)
    wanted = {}
    for module, page in MODULES.items():
        names = public_names(module)
        table = "\n".join(f"   {name}" for name in names)
        tree = "\n".join(f"   generated/{module}.{name}" for name in names)
        wanted[f"{page}.inc"] = (
            f".. autosummary::\n   :nosignatures:\n\n{table}\n\n"
            f".. toctree::\n   :hidden:\n\n{tree}\n"
        )
        for name in names:
            is_class = inspect.isclass(getattr(importlib.import_module(module), name))
            wanted[f"{module}.{name}.rst"] = (CLASS if is_class else FUNCTION).format(
                name=name, module=module, line="=" * len(name), bases=ELSEWHERE
            )
    for path in folder.iterdir():
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
