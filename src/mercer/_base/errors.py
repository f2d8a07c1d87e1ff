"""The error of an ability that an object does not have."""


class NotSupported(ValueError):
    """Error for an optional feature that is not available, such as a closed form.

    The message says what is not available and what to use instead.
    """
