"""Arrays of other packages: where their elements are."""

import ctypes
import sys
from ctypes import POINTER, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any, Optional

from . import _library as library

_ITEM_BYTES = {library.F32: 4, library.F16: 2, library.BF16: 2}
_TYPESTRS = {"<f4": library.F32, "<f2": library.F16}

# Of DLPack's enums.
_DL_CPU, _DL_CUDA, _DL_CUDA_HOST, _DL_CUDA_MANAGED = 1, 2, 3, 13
_DL_READ_ONLY = 1
_DL_TYPES = {(2, 32): library.F32, (2, 16): library.F16, (4, 16): library.BF16}


@dataclass
class Array:
    """Elements of an array, counted in elements. ``owner`` keeps them alive."""

    address: int
    shape: tuple
    strides: tuple
    element: int
    is_on_gpu: bool
    ordinal: Optional[int]
    is_read_only: bool
    owner: Any

    @property
    def item_bytes(self):
        """Bytes of an element."""
        return _ITEM_BYTES[self.element]


def describe(name, array, stream=None):
    """The elements of an array, for work in a stream: an address, or None for the default one. What its package has queued for it is done,
    or ahead in that stream. Raises TypeError where it is none that the library takes."""
    # By DLPack, the package orders its own stream before this one; by the other interface, the host waits.
    device = array.__dlpack_device__() if hasattr(array, "__dlpack_device__") and hasattr(array, "__dlpack__") else (None, None)
    if device[0] in (_DL_CUDA, _DL_CUDA_MANAGED):
        # The default stream has the number 1 there.
        return _dlpack(name, array, {"stream": stream or 1})
    if hasattr(array, "__cuda_array_interface__"):
        interface = array.__cuda_array_interface__
        if interface.get("stream") not in (None, stream or 1):
            library.wait_for_stream(interface["stream"])
        return _interface(name, array, interface, True)
    if hasattr(array, "__array_interface__"):
        return _interface(name, array, array.__array_interface__, False)
    if hasattr(array, "__dlpack__"):
        return _dlpack(name, array, {})
    raise TypeError(
        f"{name} is a {type(array).__name__}: it has none of __array_interface__, __cuda_array_interface__ and __dlpack__"
    )


def _interface(name, array, interface, is_on_gpu):
    typestr = interface["typestr"]
    if typestr not in _TYPESTRS or sys.byteorder != "little":
        raise TypeError(f"{name} has elements of type {typestr}: float32, float16 and bfloat16 are taken")
    if interface.get("mask") is not None:
        raise TypeError(f"{name} is masked")
    element = _TYPESTRS[typestr]
    address, is_read_only = interface["data"]
    shape = tuple(interface["shape"])
    of_bytes = interface.get("strides")
    strides = _compact(shape)
    if of_bytes is not None:
        size = _ITEM_BYTES[element]
        if any(stride % size for stride in of_bytes):
            raise ValueError(f"{name} has strides of {of_bytes} bytes: these are no multiples of {size}")
        strides = tuple(stride // size for stride in of_bytes)
    ordinal = None
    if is_on_gpu and hasattr(array, "__dlpack_device__"):
        ordinal = array.__dlpack_device__()[1]
    return Array(address, shape, strides, element, is_on_gpu, ordinal, bool(is_read_only), array)


class _DLTensor(ctypes.Structure):
    """DLTensor, with which DLManagedTensor begins."""

    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class _DLVersioned(ctypes.Structure):
    """DLManagedTensorVersioned, of DLPack 1.0 and later."""

    _fields_ = [
        ("major", c_uint32),
        ("minor", c_uint32),
        ("manager", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", _DLTensor),
    ]


_GET_POINTER = ctypes.pythonapi.PyCapsule_GetPointer
_GET_POINTER.argtypes, _GET_POINTER.restype = [ctypes.py_object, ctypes.c_char_p], c_void_p
_IS_VALID = ctypes.pythonapi.PyCapsule_IsValid
_IS_VALID.argtypes, _IS_VALID.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_int


def _dlpack(name, array, options):
    try:
        # Before 1.0, DLPack did not tell what is read-only.
        capsule = array.__dlpack__(max_version=(1, 0), **options)
    except TypeError:
        capsule = array.__dlpack__(**options)
    # The capsule stays as it is, so that it frees the tensor when nothing refers to it any more.
    is_read_only = False
    if _IS_VALID(capsule, b"dltensor_versioned"):
        versioned = _DLVersioned.from_address(_GET_POINTER(capsule, b"dltensor_versioned"))
        if versioned.major != 1:
            raise TypeError(f"{name} is of version {versioned.major} of DLPack: 1 is taken")
        tensor, is_read_only = versioned.tensor, bool(versioned.flags & _DL_READ_ONLY)
    else:
        tensor = _DLTensor.from_address(_GET_POINTER(capsule, b"dltensor"))
    element = _DL_TYPES.get((tensor.code, tensor.bits))
    if element is None or tensor.lanes != 1:
        text = f"DLPack's {tensor.code} of {tensor.bits} bits, {tensor.lanes} lanes"
        raise TypeError(f"{name} has elements of type {text}: float32, float16 and bfloat16 are taken")
    if tensor.device_type not in (_DL_CPU, _DL_CUDA, _DL_CUDA_HOST, _DL_CUDA_MANAGED):
        raise TypeError(f"{name} is on a device of DLPack's type {tensor.device_type}: CPU and CUDA are taken")
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else _compact(shape)
    address = (tensor.data or 0) + tensor.byte_offset
    is_on_gpu = tensor.device_type in (_DL_CUDA, _DL_CUDA_MANAGED)
    ordinal = tensor.device_id if is_on_gpu else None
    return Array(address, shape, strides, element, is_on_gpu, ordinal, is_read_only, capsule)


def _compact(shape):
    strides, stride = [], 1
    for size in reversed(shape):
        strides.append(stride)
        stride *= size
    return tuple(reversed(strides))
