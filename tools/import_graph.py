"""Write into CONTRIBUTING.md which folders of the package each folder imports.

A string that names a folder in a module that calls `import_module` counts as an import. The order
of `ORDER` is the architecture: a module imports from its own folder and from those before it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ORDER = [
    "_base", "spaces", "datasets", "kernels", "features", "operators", "embedding",
    "problem", "solvers", "sources", "decoders", "metrics", "defaults", "estimators", "export",
    "sets", "fields", "sequences", "plots", "auto", "tables", "persistence", "testing", "app",
    "__main__",
]  # fmt: skip
ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "mercer"
START, END = "<!-- imports -->\n", "<!-- end of imports -->\n"


def modules() -> list[Path]:
    """Return the paths of the modules of the package, except the top-level `__init__`."""
    paths = sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))
    return [path for path in paths if path != Path("__init__.py")]


def folder_of(path: Path) -> str:
    """Return the folder of a module, or the name of a top-level module."""
    return path.parts[0].removesuffix(".py")


@cache
def syntax_tree(path: Path) -> ast.Module:
    """Return the syntax tree of a module."""
    return ast.parse((SOURCE / path).read_text(encoding="utf-8"))


@cache
def imported_names(path: Path) -> list[list[str]]:
    """Return the absolute dotted names that a module imports, split at the dots."""
    return list(_imported_names(path))


def _imported_names(path: Path) -> Iterator[list[str]]:
    """Yield them, those in strings last."""
    nodes = list(ast.walk(syntax_tree(path)))
    for node in nodes:
        match node:
            case ast.Import(names=names):
                yield from (alias.name.split(".") for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                base = ["mercer", *path.parts[:-1]][: len(path.parts) - level + 1] if level else []
                stem = module.split(".") if module else []
                yield from ([*base, *stem, alias.name] for alias in names)
    yield from _names_in_strings(nodes)


def _names_in_strings(nodes: list[ast.AST]) -> Iterator[list[str]]:
    """Yield the modules named in strings of a module that calls `import_module`."""
    if not any(isinstance(node, ast.Name) and node.id == "import_module" for node in nodes):
        return
    for node in nodes:
        match node:
            case ast.Constant(value=str(text)) if text.split(".")[0] == "mercer":
                yield text.split(".")
            case ast.Constant(value=str(text)) if text in ORDER:
                yield ["mercer", text]


def imported_folders(path: Path) -> set[str]:
    """Return the folders of the package that a module imports from."""
    names = (name for name in imported_names(path) if name[0] == "mercer" and len(name) > 1)
    return {name[1] for name in names if _is_folder(name[1])}


def _is_folder(name: str) -> bool:
    """Return whether a name is that of a folder or a top-level module of the package."""
    return bool(name) and ((SOURCE / name).is_dir() or (SOURCE / f"{name}.py").exists())


def backward_imports(path: Path) -> Iterator[str]:
    """Yield a sentence for each import of a folder that comes later in `ORDER`."""
    folder = folder_of(path)
    for other in sorted({folder, *imported_folders(path)} - set(ORDER)):
        yield f"{path}: {other} is not in ORDER of tools/import_graph.py"
    for other in imported_folders(path) & set(ORDER):
        if folder in ORDER and ORDER.index(other) > ORDER.index(folder):
            yield f"{path} imports {other}, which comes after {folder} in ORDER"


def format_graph() -> str:
    """Return the import graph as text, with one line for each folder."""
    imports: dict[str, set[str]] = {}
    for path in modules():
        imports.setdefault(folder_of(path), set()).update(imported_folders(path))
    rows = (
        f"{folder:20}{' '.join(sorted(imports[folder] - {folder}, key=ORDER.index))}".rstrip()
        for folder in ORDER
        if folder in imports
    )
    return "```\n" + "\n".join(rows) + "\n```\n"


def main() -> None:
    """Write the graph to CONTRIBUTING.md; exit with an error for backward imports."""
    problems = [problem for path in modules() for problem in backward_imports(path)]
    if problems:
        sys.exit("\n".join(problems))
    page = ROOT / "CONTRIBUTING.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(START)
    page.write_text(
        before + START + format_graph() + END + rest.partition(END)[2], encoding="utf-8"
    )


if __name__ == "__main__":
    main()
