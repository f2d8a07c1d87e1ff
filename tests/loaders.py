"""What the workers of a test cluster run: functions that they can import by name."""

import os
import signal
import time
from pathlib import Path

import numpy as np

BLOCKS = 9


def pairs(seed, n=50):
    """A block of pairs."""
    X = np.random.default_rng(seed).normal(size=(n + seed, 3))
    return X, np.column_stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2]]) + 3.0


def inputs(seed):
    """The inputs of a block."""
    return pairs(seed)[0]


def deadly(load, seed, folder, reading):
    """A block whose loading kills its process, once: block 5 at its given reading."""
    if seed == 5:
        taken = len(list(Path(folder).iterdir())) + 1
        (Path(folder) / str(taken)).touch()
        if taken == reading:
            time.sleep(0.2)  # let the other workers get on
            os.kill(os.getpid(), signal.SIGKILL)
    return load(seed)


def broken(seed):
    """A block that cannot be loaded, the fourth."""
    if seed == 4:
        raise OSError("the disk is gone")
    return pairs(seed)


def spoiled(seed):
    """A block with a NaN in it, the fourth."""
    X, y = pairs(seed)
    if seed == 4:
        X[7, 1] = np.nan
    return X, y
