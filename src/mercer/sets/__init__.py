"""Prediction sets, which contain the true output with a probability that you choose.

A score measures how far an output is from its prediction. A prediction set contains all outputs
whose score is at most a radius. Calibration computes this radius from pairs that were held out, or
from left-out predictions (jackknife+). A certificate states the coverage that is guaranteed.
"""

from .certificate import Certificate
from .conformal import ConformalSets
from .left_out import LeftOutSets, RecordSets
from .shapes import Ball, Band, Bands, set_columns

__all__ = [
    "Ball", "Band", "Bands", "Certificate", "ConformalSets", "LeftOutSets", "RecordSets",
    "set_columns",
]  # fmt: skip
