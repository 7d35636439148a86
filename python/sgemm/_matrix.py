"""Results where NumPy is not installed."""

import ctypes
import math
import struct

_CODES = {"float32": ("f", "<f4"), "float16": ("e", "<f2")}


class Matrix:
    """A matrix, or a stack of them, in the host's memory: rows without gaps. It has ``__array_interface__``, so that others can read it."""

    def __init__(self, shape, dtype="float32", values=None):
        """Zeros, or the values, row by row. ``dtype`` is "float32" or "float16"."""
        if dtype not in _CODES:
            raise TypeError(f"dtype {dtype!r}: a Matrix is of float32 or float16")
        self.shape, self.dtype = tuple(shape), dtype
        self._code, typestr = _CODES[dtype]
        self._count = math.prod(self.shape)
        # At least a byte, so that there is an address.
        self._memory = ctypes.create_string_buffer(max(1, struct.calcsize(self._code) * self._count))
        if values is not None:
            values = list(values)
            if len(values) != self._count:
                raise ValueError(f"{len(values)} values for the shape {self.shape}")
            struct.pack_into(f"<{self._count}{self._code}", self._memory, 0, *values)
        self.__array_interface__ = {
            "version": 3,
            "shape": self.shape,
            "typestr": typestr,
            "data": (ctypes.addressof(self._memory), False),
            "strides": None,
        }

    def values(self):
        """The elements, row by row."""
        return list(struct.unpack_from(f"<{self._count}{self._code}", self._memory))

    def __repr__(self):
        return f"Matrix(shape={self.shape}, dtype={self.dtype!r})"
