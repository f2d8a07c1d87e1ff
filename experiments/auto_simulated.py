"""Thirty simulated sets, each with a test part of fresh rows: ordinary tables and hard ones."""

from __future__ import annotations

import numpy as np

from .auto_sets import DataSet

TEST = 1000
"""Fresh rows that predictions are scored on."""
Random = np.random.Generator


def simulated(name: str) -> DataSet:
    """Return the simulated data set of the given name."""
    make, n, *more = SIMULATED[name]
    random = np.random.default_rng([sum(map(ord, name)), n])
    X, Y, kind = make(random, n + TEST, *more)
    return DataSet(X, Y, kind, test=n)


def _friedman(random: Random, n: int, d: int = 10, noise: float = 1.0) -> tuple:
    """Simulate Friedman's function of five out of d uniform inputs, plus noise."""
    X = random.uniform(size=(n, d))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    y += 10 * X[:, 3] + 5 * X[:, 4] + noise * random.normal(size=n)
    return X, y[:, None], "numbers"


def _linear(random: Random, n: int, d: int, q: int) -> tuple:
    """Simulate q sparse linear functions of d normal inputs, plus noise."""
    X = random.normal(size=(n, d))
    W = random.normal(size=(d, q)) * (random.random((d, q)) < 0.3)
    return X, X @ W + 2.0 * random.normal(size=(n, q)), "numbers"


def _steps(random: Random, n: int, d: int = 8) -> tuple:
    """Simulate a piecewise constant function of four out of d inputs, plus noise."""
    X = random.normal(size=(n, d))
    y = np.floor(2 * X[:, 0]) * np.sign(X[:, 1]) + 2 * (X[:, 2] > X[:, 3])
    return X, (y + 0.5 * random.normal(size=n))[:, None], "numbers"


def _smooth(random: Random, n: int, d: int, q: int) -> tuple:
    """Simulate q smooth functions of d inputs by a network with 20 units, plus noise."""
    X = random.normal(size=(n, d))
    H = np.tanh(X @ random.normal(size=(d, 20)) / np.sqrt(d))
    return X, H @ random.normal(size=(20, q)) + random.normal(size=(n, q)), "numbers"


def _mixed(random: Random, n: int) -> tuple:
    """Simulate a target of numbers with very different spreads and of 0/1 columns."""
    codes = random.integers(0, 2, size=(n, 8))
    numbers = np.exp(random.normal(size=(n, 4)) * [0.1, 1.0, 2.0, 3.0])
    y = np.log(numbers[:, 1]) * codes[:, 0] + np.log(numbers[:, 3]) + 2 * codes[:, 1] * codes[:, 2]
    return np.hstack([numbers, codes]), (y + random.normal(size=n))[:, None], "numbers"


def _wide(random: Random, n: int, d: int, q: int, bent: bool = False) -> tuple:
    """Simulate d columns made of eight factors and noise, with outputs of the factors."""
    F = random.normal(size=(n, 8))
    X = F @ random.normal(size=(8, d)) + 2.0 * random.normal(size=(n, d))
    H = np.hstack([F, np.abs(F)]) if bent else F
    return X, H @ random.normal(size=(H.shape[1], q)) + 2.0 * random.normal(size=(n, q)), "numbers"


def _counts(random: Random, n: int, d: int = 10, heavy: float = 1.0) -> tuple:
    """Simulate rare counts with heavy tails that hardly depend on the inputs."""
    X = random.normal(size=(n, d))
    rate = np.exp(-2.0 + 0.4 * X[:, :3] + heavy * random.standard_t(3, size=(n, 3)))
    return X, random.poisson(np.minimum(rate, 1e3)).astype(float), "numbers"


def _curves(random: Random, n: int, noise: float = 0.3) -> tuple:
    """Simulate curves that a smooth operator computes from other curves, plus noise."""
    t = np.linspace(0, 1, 40)
    basis = np.stack([np.sin((k + 1) * np.pi * t) / (k + 1) for k in range(6)])
    C = random.normal(size=(n, 6))
    X = C @ basis + 0.05 * random.normal(size=(n, 40))
    rough = np.cumsum(random.normal(size=(n, 40)), axis=1) / np.sqrt(40)
    return X, np.tanh(C @ random.normal(size=(6, 6))) @ basis + noise * rough, "curves"


def _rankings(random: Random, n: int, d: int, labels: int, bent: bool = False) -> tuple:
    """Simulate rankings by noisy utilities that are linear, or `bent`, in the inputs."""
    X = random.normal(size=(n, d))
    H = np.tanh(2 * X) * np.sign(X[:, :1]) if bent else X
    utility = H @ random.normal(size=(d, labels)) + np.sqrt(d) * random.normal(size=(n, labels))
    return X, np.argsort(np.argsort(-utility, axis=1), axis=1), "rankings"


def _labels(random: Random, n: int, d: int, labels: int, bent: bool = False) -> tuple:
    """Simulate label sets by noisy scores that are linear, or `bent`, in the inputs."""
    X = random.normal(size=(n, d))
    H = X**2 - 1 if bent else X
    score = H @ random.normal(size=(d, labels)) / np.sqrt(d) + 0.7 * random.normal(size=(n, labels))
    Y = (score > 0.6).astype(int)
    Y[np.arange(n), score.argmax(axis=1)] = 1
    return X, Y, "labels"


def _images(random: Random, n: int, side: int = 16) -> tuple:
    """Simulate images of blobs, with blurred and nonlinearly mapped images as outputs."""
    grid = np.linspace(0, 1, side)
    X = np.zeros((n, side, side))
    for _ in range(3):
        a, b = random.random((2, n, 1, 1))
        near = np.exp(-((grid[:, None] - a) ** 2 + (grid - b) ** 2) / 0.02)
        X += random.normal(size=(n, 1, 1)) * near
    blurred = (X + np.roll(X, 1, axis=1) + np.roll(X, 1, axis=2)) / 3
    return X, np.tanh(2 * blurred) + 0.05 * random.normal(size=X.shape), "curves"


SIMULATED: dict[str, tuple] = {
    "friedman_200": (_friedman, 200),
    "friedman_1000": (_friedman, 1000),
    "friedman_3000": (_friedman, 3000, 30),
    "friedman_noisy": (_friedman, 500, 10, 5.0),
    "linear_100": (_linear, 100, 20, 3),
    "linear_500": (_linear, 500, 40, 3),
    "steps_300": (_steps, 300),
    "steps_3000": (_steps, 3000),
    "smooth_200": (_smooth, 200, 5, 3),
    "smooth_1500": (_smooth, 1500, 10, 5),
    "mixed_400": (_mixed, 400),
    "mixed_4000": (_mixed, 4000),
    "wide_60": (_wide, 60, 200, 3),
    "wide_240": (_wide, 240, 280, 16),
    "wide_270": (_wide, 270, 411, 6, True),
    "wide_150": (_wide, 150, 300, 16, True),
    "counts_250": (_counts, 250),
    "counts_800": (_counts, 800),
    "counts_light": (_counts, 400, 10, 0.3),
    "curves_20": (_curves, 20),
    "curves_20_clean": (_curves, 20, 0.05),
    "curves_100": (_curves, 100),
    "rankings_16": (_rankings, 155, 16, 16),
    "rankings_16_bent": (_rankings, 155, 16, 16, True),
    "rankings_5": (_rankings, 300, 6, 5, True),
    "labels_6": (_labels, 300, 10, 6),
    "labels_12": (_labels, 600, 10, 12, True),
    "labels_20": (_labels, 400, 30, 20),
    "images_20": (_images, 20),
    "images_100": (_images, 100),
}
"""The function, the number of training rows and other arguments of each set."""
