"""Record the fits of `cases.py`: ``python tests/reference/record.py``.

Run it only where a result is meant to change, and say why in the commit.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.cases import CASES

RECORDS = Path(__file__).with_name("records.json")


def plain(value: Any) -> Any:
    """Numbers to twelve digits, in lists; text as it is."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiu":
        return array.tolist()
    rounded = [float(f"{number:.12g}") for number in array.astype(float).ravel()]
    return np.reshape(rounded, array.shape).tolist()


def main() -> None:
    """Fit everything and write one line a fit."""
    lines = [
        f"{json.dumps(name)}: {json.dumps({key: plain(value) for key, value in run().items()})}"
        for name, run in CASES.items()
    ]
    RECORDS.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(lines)} fits, {RECORDS.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
