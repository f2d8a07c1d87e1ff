"""How long do `import mercer` and `mercer --help` take beyond what scikit-learn itself takes?"""

import subprocess
import sys
from pathlib import Path

from _measure import best_times, record, report

COMMAND = str(Path(sys.executable).with_name("mercer"))


def run(*command):
    return lambda: subprocess.run(command, check=True, capture_output=True)


contestants = {
    "import sklearn.base": run(sys.executable, "-c", "import sklearn.base"),
    "import mercer": run(sys.executable, "-c", "import mercer"),
    "mercer --help": run(COMMAND, "--help"),
}
times = best_times(contestants, 7)
report("start", times, "import sklearn.base", "import .1 s over it; help .5 s")
record("import mercer: seconds over sklearn.base",
       times["import mercer"] - times["import sklearn.base"], "at most .1")  # fmt: skip
record("mercer --help: seconds", times["mercer --help"], "at most .5")
