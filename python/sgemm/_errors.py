"""The library's errors, with its messages."""


class Error(RuntimeError):
    """A call of the library failed. ``status`` is its number in sgemm.h."""

    def __init__(self, message, status):
        super().__init__(message)
        self.status = status


class InvalidError(Error, ValueError):
    """What was asked for is no problem that can be solved: a size, a stride, a type or a name."""
