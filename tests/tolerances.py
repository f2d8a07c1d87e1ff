"""How close is equal, in one place."""

IDENTITY = 1e-10
"""Two exact ways to the same number."""
LEFT_OUT = 1e-9
"""Closed-form leave-one-out against a refit."""
ROOT = 1e-7
"""Through the root of a matrix that lacks full rank: half of the digits."""
SINGLE = 1e-4
"""Through float32."""
DERIVATIVE = 1e-6
"""A derivative against central differences."""
