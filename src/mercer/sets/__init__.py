"""Prediction sets, which contain the true output with a probability that you choose.

A score measures how far an output is from its prediction. A prediction set contains all outputs
whose score is at most a radius. Calibration computes this radius from pairs that were held out, or
from left-out predictions (jackknife+). A certificate states the coverage that is guaranteed.
"""

from .certificate import Certificate
from .conformal import ConformalSets
from .ellipsoids import Ellipsoid, Ellipsoids
from .forms import set_columns
from .left_out_sets import LeftOutSets, RecordSets
from .shapes import Ball, Band, Bands
from .views import SupportsSets

__all__ = [
    "Ball", "Band", "Bands", "Certificate", "ConformalSets", "Ellipsoid", "Ellipsoids",
    "LeftOutSets", "RecordSets", "SupportsSets", "set_columns",
]  # fmt: skip
