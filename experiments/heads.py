"""Synthetic heads for the experiment `faces`: ``python -m experiments.heads heads.npz``.

Smooth random albedo on cylinders that turn: 200 people, 7 views of 32 × 32 pixels.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.ndimage import gaussian_filter

ANGLES = (-45, -30, -15, 0, 15, 30, 45)
SIDE, AROUND = 32, 256
"""Pixels of a view, and of the unrolled cylinder."""


def simulate_heads(people: int = 200, seed: int = 0) -> np.ndarray:
    """Return simulated views (people, angles, height, width) with grey values from 0 to 1."""
    rng = np.random.default_rng(seed)
    common, own = rng.normal(size=(1, SIDE, AROUND)), rng.normal(size=(people, SIDE, AROUND))
    albedo = _smooth(common) + 0.6 * _smooth(own)
    across = (np.arange(SIDE) + 0.5) / SIDE * 2 - 1
    views = []
    for angle in ANGLES:
        place = (np.arcsin(across) + np.deg2rad(angle)) % (2 * np.pi) / (2 * np.pi) * AROUND
        left, share = np.floor(place).astype(int), place % 1
        ends = albedo[:, :, left % AROUND], albedo[:, :, (left + 1) % AROUND]
        views.append((1 - share) * ends[0] + share * ends[1])
    light = np.sqrt(1 - across**2)
    return np.clip(light * (0.5 + 0.15 * np.stack(views, axis=1)), 0, 1)


def _smooth(noise: np.ndarray) -> np.ndarray:
    """Return noise of unit variance that is smoothed over a few pixels."""
    blurred = gaussian_filter(noise, (0, 2, 10), mode=("nearest", "nearest", "wrap"))
    return blurred / blurred.std()


if __name__ == "__main__":
    np.savez(sys.argv[1], images=simulate_heads(), views=np.array(ANGLES))
