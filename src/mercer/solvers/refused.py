"""The error of a factorisation that has no closed form for what was requested."""


class Refused(ValueError):
    """A request to a factorisation that has no closed form for it."""
