"""List phrases of the project's old dialect in the package, the documentation and the README.

`make words` prints each place with the usual term. The list should be empty.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

USUAL = {
    r"settle[ds]?|settling": "fit, resolve, determine",
    r"told|tells": "reported, shows, returns",
    r"(is|are) no (?!longer|more|better|worse|less|fewer|room)\w+": "is not a ..., are not ...",
    r"ha(s|ve) none": "has no ...",
    r"held whole|holds? whole": "in memory",
    r"beside|besides": "next to, compared with",
    r"asked for|is wanted|are wanted": "requested, needed",
    r"let go|lets go": "released",
    r"taken off|takes off": "subtracted",
    r"turned back": "rotated back, converted back",
    r"parted|informed|afresh|lean": "a name that says what is returned",
    r"of one's own|of others": "custom, third-party",
    r"come again|comes again": "repeat",
    r"whole numbers?": "integer",
    r"a share of|the share of|shares of": "a fraction of",
    r"mend|mends|mended": "fix",
    r"may stand": "is allowed",
    r"cannot be had": "is not available",
    r"but for luck|beyond luck": "within one standard error",
    r"the usual one|the main ones": "the default, the leading components",
    r"weighers?|weighed": "training weights, weighted",
    r"the house|rooms? of the house|the walk": "package, folder, call path",
}
"""A pattern of phrases to avoid, and the usual term."""
ALLOWED = ("there is no", "there are no", "mean of others", "asked for in")
"""Phrases that are correct English although a pattern finds a part of them."""
PATTERNS = {re.compile(rf"\b(?:{words})\b", re.IGNORECASE): usual for words, usual in USUAL.items()}


def phrases(line: str) -> list[str]:
    """Return the phrases of a line that should be replaced, each with its usual term."""
    for allowed in ALLOWED:
        line = re.sub(re.escape(allowed), "", line, flags=re.IGNORECASE)
    return [
        f"{found.group()!r}: {usual}"
        for pattern, usual in PATTERNS.items()
        for found in pattern.finditer(line)
    ]


def files(root: Path) -> list[Path]:
    """Return the files of the documentation and the package that are checked."""
    pages = [path for path in (root / "docs").rglob("*.md") if "_build" not in path.parts]
    return [root / "README.md", *sorted(pages), *sorted((root / "src").rglob("*.py"))]


def main(root: Path) -> int:
    """Print every phrase to replace, and return the number of phrases."""
    places = [
        f"{path.relative_to(root)}:{number}: {phrase}"
        for path in files(root)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for phrase in phrases(line)
    ]
    print("\n".join([*places, f"{len(places)} phrases to replace"]))
    return len(places)


if __name__ == "__main__":
    sys.exit(bool(main(Path(__file__).parents[1])))
