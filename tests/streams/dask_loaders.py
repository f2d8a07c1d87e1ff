"""What the workers of a test cluster run: plain functions that they can import by name."""

import os
import signal
from pathlib import Path

import numpy as np


def pairs(seed, n=60):
    """A block of pairs."""
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return X, np.column_stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2]])
