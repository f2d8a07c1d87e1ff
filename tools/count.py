"""Print the lines of code, classes and files of the package, per folder and in total.

A line of code is a line that holds a token other than a comment or a docstring.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

IGNORED = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.ENCODING,
}


def docstring_lines(tree: ast.AST) -> set[int]:
    """Return the numbers of the lines of docstrings, including those of constants."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def code_lines(source: str) -> set[int]:
    """Return the numbers of the lines that hold code or a docstring."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in IGNORED:
            lines.update(range(token.start[0], token.end[0] + 1))
    return lines


def count(path: Path) -> Counter[str]:
    """Return the numbers of code lines, classes and files of one Python file."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    return Counter(
        lines=len(code_lines(source) - docstring_lines(tree)),
        classes=sum(isinstance(node, ast.ClassDef) for node in ast.walk(tree)),
        files=1,
    )


def main(root: Path) -> None:
    """Print the counts of each folder below `root`, and the total."""
    folders: dict[str, Counter[str]] = {}
    for path in sorted(root.rglob("*.py")):
        inside = path.relative_to(root).parts
        folder = inside[0] if len(inside) > 1 else "."
        folders.setdefault(folder, Counter()).update(count(path))
    rows = [*sorted(folders.items()), ("total", sum(folders.values(), Counter()))]
    print(f"{'folder':<14}{'lines':>8}{'classes':>9}{'files':>7}")
    for folder, counts in rows:
        print(f"{folder:<14}{counts['lines']:>8,}{counts['classes']:>9,}{counts['files']:>7,}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "src/mercer"))
