"""The first compilation in an environment is announced by one line on stderr."""

import os
import subprocess
import sys

SCRIPT = """
import sys
from importlib.util import module_from_spec, spec_from_file_location
import numpy as np
import mercer
name = "mercer.sequences.transduction._key_loops"  # without the package, which takes a second
path = f"{mercer.__path__[0]}/sequences/transduction/_key_loops.py"
module = module_from_spec(spec_from_file_location(name, path))
sys.modules[name] = module
module.__spec__.loader.exec_module(module)
keys = np.arange(1, 5, dtype=np.uint64)
print(len(module.hash_table(keys, 16)))
"""


def test_compilation_is_announced_once(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    lines = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True
        )
        assert done.stdout == "16\n"
        lines.append(done.stderr.splitlines())
    assert len(lines[0]) == 1 and "mercer compile" in lines[0][0]
    assert lines[1] == []
