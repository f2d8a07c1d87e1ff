"""How much a search tries: presets from fast to best."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Preset:
    """Limits on the size of a search: rows, kernels, trees and ranks.

    Attributes
    ----------
    sample
        The largest number of rows on which length scales are chosen.
    climbs
        Whether the length scale is searched from a likely one upwards or downwards, until the gain
        is within one standard error; else all are tried.
    exact
        Rows up to which ridge models are exact; with more rows they have low rank.
    rank
        That rank; less beyond `search.MANY` rows.
    families
        The number of kernel families that are fitted on all rows, where these are more than the
        sample, in addition to the linear one.
    trees
        The largest number of trees of a forest.
    tolerance
        A forest is complete when twice as many trees lower its out-of-bag error by less than this
        fraction.
    boosted, learning_rate
        The largest number of boosted trees for each output direction, and their learning rate.
    pixels
        Pixels of images up to which each is a ridge regression on its neighbourhood.
    directions
        The largest number of output directions that boosted trees are grown for.
    """

    sample: int = 600
    climbs: bool = True
    exact: int = 1000
    rank: int = 600
    families: int = 2
    trees: int = 100
    tolerance: float = 0.02
    boosted: int = 150
    learning_rate: float = 0.1
    directions: int = 8
    pixels: int = 400


PRESETS = {
    "fast": Preset(
        sample=300, exact=500, rank=300, families=1, trees=40, tolerance=0.05, boosted=60,
        learning_rate=0.2, directions=3, pixels=0,
    ),
    "default": Preset(),
    "best": Preset(
        sample=800, climbs=False, exact=2000, families=20, trees=200, tolerance=0.0, boosted=500,
        learning_rate=0.05, directions=30, pixels=4096,
    ),
}  # fmt: skip
