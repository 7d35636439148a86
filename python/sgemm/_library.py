"""The functions, structures and constants of sgemm.h. A test compares them with it."""

import ctypes
import os
from ctypes import POINTER, c_char_p, c_float, c_int32, c_size_t, c_uint64, c_void_p
from pathlib import Path

from ._errors import Error, InvalidError

SUCCESS = 0
INVALID_VALUE = 3
INVALID_PROBLEM = 4
INVALID_OPERAND = 5
NO_DRIVER = 10
NO_DEVICE = 11
DRIVER_ERROR = 13
BACKEND_CUDA = 0
BACKEND_EMULATOR = 1
F32, F16, BF16 = 0, 1, 2
ACCURACY_DEFAULT = 0
ACCURACY_FP32_STRICT = 1
ACCURACY_FP32 = 2
ACCURACY_TF32 = 3
ACCURACY_F16 = 4
ACCURACY_BF16 = 5
UNLIMITED = 2**64 - 1


class Layout(ctypes.Structure):
    """sgemm_layout_t"""

    _fields_ = [("row_stride", c_size_t), ("column_stride", c_size_t)]


class Problem(ctypes.Structure):
    """sgemm_problem_t"""

    _fields_ = [
        ("m", c_size_t),
        ("n", c_size_t),
        ("k", c_size_t),
        ("a", Layout),
        ("b", Layout),
        ("c", Layout),
        ("d", Layout),
        ("has_d", c_int32),
        ("batch_count", c_size_t),
        ("batch_stride_a", c_size_t),
        ("batch_stride_b", c_size_t),
        ("batch_stride_c", c_size_t),
        ("batch_stride_d", c_size_t),
        ("input", c_int32),
        ("output", c_int32),
        ("accuracy", c_int32),
        ("determinism", c_int32),
        ("scalars", c_int32),
        ("bias", c_int32),
        ("activation", c_int32),
        ("alignment_a", c_size_t),
        ("alignment_b", c_size_t),
    ]


class Arguments(ctypes.Structure):
    """sgemm_arguments_t"""

    _fields_ = [
        ("alpha", c_float),
        ("beta", c_float),
        ("a", c_void_p),
        ("b", c_void_p),
        ("c", c_void_p),
        ("d", c_void_p),
        ("bias", c_void_p),
        ("device_alpha", c_void_p),
        ("device_beta", c_void_p),
        ("workspace", c_void_p),
        ("workspace_bytes", c_uint64),
    ]


def values(structure):
    """What the fields of a structure hold, without what lies between them."""
    fields = (getattr(structure, name) for name, _ in structure._fields_)
    return tuple(values(field) if isinstance(field, ctypes.Structure) else field for field in fields)


FUNCTIONS = {
    "sgemm_create_cuda": [POINTER(c_void_p), c_int32],
    "sgemm_create_emulator": [POINTER(c_void_p), c_char_p],
    "sgemm_destroy": [c_void_p],
    "sgemm_backend": [c_void_p, POINTER(c_int32)],
    "sgemm_device_name": [c_void_p, POINTER(c_char_p)],
    "sgemm_problem_init": [POINTER(Problem), c_size_t, c_size_t, c_size_t],
    "sgemm_plan_create": [c_void_p, POINTER(Problem), c_uint64, POINTER(c_void_p)],
    "sgemm_plan_destroy": [c_void_p],
    "sgemm_plan_workspace_bytes": [c_void_p, POINTER(c_uint64)],
    "sgemm_run_with": [c_void_p, c_void_p, POINTER(Arguments)],
    "sgemm_run_host": [c_void_p, POINTER(Arguments)],
}


def _load():
    """The library that SGEMM_LIBRARY names, that of the wheel, or that of the system."""
    shipped = Path(__file__).with_name("libsgemm.so")
    path = os.environ.get("SGEMM_LIBRARY") or (str(shipped) if shipped.exists() else "libsgemm.so")
    library = ctypes.CDLL(path)
    for name, types in FUNCTIONS.items():
        function = getattr(library, name)
        function.argtypes, function.restype = types, c_int32
    for name in ("sgemm_version", "sgemm_last_error"):
        function = getattr(library, name)
        function.argtypes, function.restype = [], c_char_p
    return library


_LIBRARY = _load()


def version():
    """The version of the library."""
    return _LIBRARY.sgemm_version().decode()


def call(name, *arguments):
    """Calls a function of FUNCTIONS. Raises Error or InvalidError with the library's message."""
    status = getattr(_LIBRARY, name)(*arguments)
    if status != SUCCESS:
        message = _LIBRARY.sgemm_last_error().decode()
        kind = InvalidError if status in (INVALID_VALUE, INVALID_PROBLEM, INVALID_OPERAND) else Error
        raise kind(message, status)


def wait_for_stream(stream):
    """Waits for a CUDA stream: an address, 1 for the default one, or 2 for that of the thread."""
    # The driver is there: the stream is one of its own.
    status = ctypes.CDLL("libcuda.so.1").cuStreamSynchronize(c_void_p(stream))
    if status != 0:
        raise Error(f"the CUDA driver cannot wait for the stream of an array: error {status}", DRIVER_ERROR)
