"""Prediction sets: scores of outputs, their calibration, and what it proves.

A score says how far an output is from a prediction. Calibration finds the radius within which the
truth lies as often as requested: on pairs held out, or by jackknife+ on left-out predictions. It
returns sets, and a certificate that states the level that is proven.
"""

from .certificate import Certificate
from .conformal import ConformalSets
from .left_out import LeftOutSets, RecordSets
from .shapes import Ball, Band, Bands, set_columns

__all__ = [
    "Ball", "Band", "Bands", "Certificate", "ConformalSets", "LeftOutSets", "RecordSets",
    "set_columns",
]  # fmt: skip
