"""Handwriting made by a program: letters as strokes that are bent, tilted and moved a little."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..._base.arrays import object_array

HEIGHT, WIDTH = 16, 8
"""Pixels of a letter."""
STROKES = {
    "a": "40 10 03 16 36 43, 40 46", "b": "00 06 36 44 32 02", "c": "40 10 03 16 46",
    "d": "40 46 16 04 12 42", "e": "03 43 30 10 03 16 46", "f": "40 20 26, 03 43",
    "g": "40 10 02 13 43, 40 46 06", "h": "00 06, 03 33 44 46", "i": "22 26, 20 20",
    "j": "32 36 16 05, 30 30", "k": "00 06, 40 03 46", "l": "10 15 36", "m": "06 00 23 40 46",
    "n": "02 06, 03 22 43 46", "o": "20 03 26 43 20", "p": "06 00 30 42 33 03",
    "q": "46 40 10 02 13 43", "r": "02 06, 04 22 42", "s": "40 10 01 45 36 06",
    "t": "20 26 46, 02 42", "u": "00 05 16 36 45, 40 46", "v": "00 26 40",
    "w": "00 16 23 36 40", "x": "00 46, 40 06", "y": "00 23, 40 06", "z": "00 40 06 46",
}  # fmt: skip
"""Lines between points, column and row on a grid of 5 by 7, of each letter."""
VOCABULARY = [
    "apple", "bread", "bridge", "butter", "candle", "castle", "cherry", "cloud", "copper", "corner",
    "cotton", "dragon", "engine", "expert", "family", "finger", "flower", "forest", "garden",
    "guitar", "hammer", "island", "jacket", "jungle", "kettle", "ladder", "lemon", "magnet",
    "market", "mirror", "monkey", "needle", "number", "orange", "oxygen", "pencil", "pepper",
    "pillow", "planet", "pocket", "powder", "puzzle", "quartz", "rabbit", "ribbon", "rocket",
    "saddle", "school", "silver", "spider", "summer", "sunset", "ticket", "tunnel", "turtle",
    "velvet", "violin", "walnut", "window", "winter", "wizard", "yellow", "zebra",
]  # fmt: skip
HAND = 0.35
"""How far a point of a stroke moves, in units of the grid."""


def written(words: list[str], rng: np.random.Generator) -> np.ndarray:
    """Return one array (letters, 16 x 8 pixels) for each word, each word by a hand of its own."""
    return object_array([_word(word, rng) for word in words])


def _word(word: str, rng: np.random.Generator) -> np.ndarray:
    tilt, width = rng.normal(0.0, 0.15), rng.uniform(0.6, 1.1)
    return np.stack([_letter(letter, tilt, width, rng).ravel() for letter in word])


def _letter(letter: str, tilt: float, width: float, rng: np.random.Generator) -> np.ndarray:
    """Return the pixels of a letter: dark where a stroke is near."""
    scale = np.array([5.0 / 4, 11.0 / 6]) * rng.uniform(0.85, 1.05, size=2)
    offset = np.array([1.0, 2.0]) + rng.normal(0.0, 0.3, size=2)
    pixels = np.stack(np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT)), axis=-1) + 0.0
    nearest = np.full((HEIGHT, WIDTH), np.inf)
    for stroke in STROKES[letter].split(", "):
        points = np.array([[float(digit) for digit in point] for point in stroke.split()])
        points += rng.normal(0.0, HAND, size=points.shape) * [0.6, 1.0]
        points[:, 0] += tilt * (3.0 - points[:, 1])
        points = points * scale + offset
        for start, end in pairwise(points):
            nearest = np.minimum(nearest, _distance(pixels, start, end))
    return np.clip(1.4 - nearest / width, 0.0, 1.0)


def _distance(pixels: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return the distance of each pixel from the line between two points."""
    along = end - start
    share = np.clip((pixels - start) @ along / max(along @ along, 1e-9), 0.0, 1.0)
    return np.linalg.norm(pixels - (start + share[..., None] * along), axis=-1)
