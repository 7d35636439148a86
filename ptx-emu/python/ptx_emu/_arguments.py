"""Arguments of a launch: arrays as buffers, and what they hold afterwards."""

from dataclasses import dataclass
from typing import Optional, Sequence

import numpy

KINDS = {"u": "u", "i": "s", "f": "f", "b": "u"}
FLOATS = {"f16": numpy.float16, "f32": numpy.float32, "f64": numpy.float64}
POINTER_BYTES = 8


@dataclass
class TensorMap:
    """A tensor map of an array, for TMA: by value, or a pointer to it.

    The box is what a copy moves, in elements; the swizzle its span in bytes, 0 for none. Extents are in the order of the array's shape,
    whose last one is contiguous; cuTensorMapEncodeTiled has them the other way around.
    """

    array: numpy.ndarray
    box: Sequence[int]
    swizzle: int = 0
    strides: Optional[Sequence[int]] = None


class Arguments:
    """The arguments of a launch as the native module takes them."""

    def __init__(self, kernel, parameters, args):
        if len(parameters) != len(args):
            types = ", ".join("." + name for name, _, _ in parameters)
            raise ValueError(f"{kernel} takes {len(parameters)} arguments ({types}); {len(args)} are given")
        self.buffers = []
        self._arrays = []
        self.values = [self._value(*pair, number) for number, pair in enumerate(zip(parameters, args), 1)]

    def write_back(self, contents):
        """Puts what the buffers hold into the arrays."""
        for (array, _), data in zip(self._arrays, contents):
            if array.flags.writeable and array.size > 0:
                array.reshape(-1).view(numpy.uint8)[:] = numpy.frombuffer(data, numpy.uint8)

    def _value(self, parameter, value, number):
        name, size, total = parameter
        if isinstance(value, TensorMap):
            if total not in (POINTER_BYTES, 128):
                raise TypeError(f"argument {number}: the parameter is .{name}, which is no tensor map")
            strides = None if value.strides is None else list(value.strides)
            return (self._buffer(value.array, number), list(value.box), value.swizzle, strides)
        if isinstance(value, numpy.ndarray):
            if total != POINTER_BYTES:
                raise TypeError(f"argument {number}: the parameter is .{name}, which is no pointer: give a scalar")
            return self._buffer(value, number)
        data = self._bytes(name, value, number, size if size == total else None)
        if len(data) != total:
            raise ValueError(f"argument {number}: the parameter is .{name}, of {total} bytes; {value!r} has {len(data)}")
        return data

    def _bytes(self, name, value, number, size):
        """A value's bytes; numbers of Python take the parameter's type, whose bytes `size` are."""
        if value is None:
            return bytes(POINTER_BYTES)
        if isinstance(value, (bytes, bytearray)):
            return bytes(value)
        if isinstance(value, numpy.generic):
            mixes = (value.dtype.kind == "f" and name[0] in "us") or (value.dtype.kind in "iu" and name in FLOATS)
            if mixes and size == value.dtype.itemsize:
                raise TypeError(f"argument {number}: the parameter is .{name}, and {value!r} is {value.dtype}")
            return value.tobytes()
        if not isinstance(value, (bool, int, float)):
            raise TypeError(
                f"argument {number}: {type(value).__name__}: give an array, a NumPy scalar, a number, bytes, None or a TensorMap"
            )
        if size is None:
            raise TypeError(f"argument {number}: the parameter is an array of .{name}: give bytes")
        if name in FLOATS:
            return FLOATS[name](value).tobytes()
        if isinstance(value, float):
            raise TypeError(f"argument {number}: the parameter is .{name}, and {value!r} is no whole number")
        low, high = (-(1 << 8 * size - 1) if name[0] in "sb" else 0), 1 << 8 * size - (name[0] == "s")
        if not low <= value < high:
            raise ValueError(f"argument {number}: the parameter is .{name}, which does not have {value}")
        return (value % (1 << 8 * size)).to_bytes(size, "little")

    def _buffer(self, array, number):
        """The buffer of an array: one for arguments that are the same memory."""
        if not array.flags.c_contiguous:
            raise ValueError(f"argument {number} is not contiguous: give numpy.ascontiguousarray of it, and copy the result back")
        place = array.__array_interface__["data"][0]
        for index, (other, of) in enumerate(self._arrays):
            if other.__array_interface__["data"][0] == place and other.nbytes == array.nbytes:
                return index
            if numpy.may_share_memory(other, array):
                raise ValueError(f"arguments {of} and {number} overlap in memory: give the same array, or copies")
        kind, bits = KINDS.get(array.dtype.kind), 8 * array.dtype.itemsize
        name = "bf16" if array.dtype.name == "bfloat16" else f"{kind or 'b'}{bits}"
        self.buffers.append((array.tobytes(), name, list(array.shape)))
        self._arrays.append((array, number))
        return len(self._arrays) - 1
