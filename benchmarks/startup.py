"""How long do `import mercer` and `mercer --help` take beyond what scikit-learn itself takes?

Processor time, not time on the clock, so that other processes matter little.
"""

import subprocess
import sys
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from _measure import record, report

COMMAND = str(Path(sys.executable).with_name("mercer"))
BASE, IMPORT, USE, HELP = "sklearn.base", "mercer", "mercer.KernelDependency", "mercer --help"
commands = {
    BASE: [sys.executable, "-c", "import sklearn.base"],
    IMPORT: [sys.executable, "-c", "import mercer"],
    USE: [sys.executable, "-c", "from mercer import KernelDependency"],
    HELP: [COMMAND, "--help"],
}


def spent() -> float:
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds(command: list[str]) -> float:
    before = spent()
    subprocess.run(command, check=True, capture_output=True)
    return spent() - before


times = dict.fromkeys(commands, float("inf"))
for _ in range(10):
    for name, command in commands.items():
        times[name] = min(times[name], seconds(command))
report("start, processor time", times, BASE, "import .1 s over it; help .5 s")
record("import mercer: seconds over sklearn.base", times[IMPORT] - times[BASE], "at most .1")
record("KernelDependency: seconds over sklearn.base", times[USE] - times[BASE], "no goal")
record("mercer --help: seconds", times[HELP], "at most .5")
