"""Products."""

import ctypes
import sys
import threading
from collections import OrderedDict
from ctypes import byref, c_char_p, c_int32, c_uint64, c_void_p

from . import _library as library
from ._arrays import describe
from ._errors import Error
from ._matrix import Matrix

PRECISIONS = {
    None: library.ACCURACY_DEFAULT,
    "fp32-strict": library.ACCURACY_FP32_STRICT,
    "fp32": library.ACCURACY_FP32,
    "tf32": library.ACCURACY_TF32,
    "f16": library.ACCURACY_F16,
    "bf16": library.ACCURACY_BF16,
}
_DTYPES = {library.F32: "float32", library.F16: "float16"}

# How many plans a handle keeps for problems that it was given before.
_MOST_PLANS = 256

# What loads by TMA wants of addresses, in bytes: no kernel asks for more.
_WIDEST = 16


class Handle:
    """A device, with the kernels that were loaded on it. Any thread may use it."""

    def __init__(self, device=0):
        """Opens a GPU by its ordinal, or an emulated one by its name, such as "h200". Raises Error."""
        self._handle = c_void_p()
        if isinstance(device, str):
            library.call("sgemm_create_emulator", byref(self._handle), device.encode())
        elif isinstance(device, int) and 0 <= device < 2**31:
            library.call("sgemm_create_cuda", byref(self._handle), device)
        else:
            raise TypeError(f"device = {device!r}: give an ordinal, or the name of an emulated GPU")
        self._ordinal = None if isinstance(device, str) else device
        # By the fields of problems, the last one that was used last.
        self._plans, self._lock = OrderedDict(), threading.Lock()

    @property
    def device(self):
        """The name of the device."""
        name = c_char_p()
        library.call("sgemm_device_name", self._handle, byref(name))
        return name.value.decode()

    @property
    def backend(self):
        """ "cuda" or "emulator"."""
        backend = c_int32()
        library.call("sgemm_backend", self._handle, byref(backend))
        return "cuda" if backend.value == library.BACKEND_CUDA else "emulator"

    def close(self):
        """Destroys the handle: what is called on it after that raises Error."""
        with self._lock:
            self._plans.clear()
        if self._handle:
            handle, self._handle = self._handle, c_void_p()
            library.call("sgemm_destroy", handle)

    def _plan(self, problem):
        """The plan for a problem, which is made where it is not kept."""
        key = library.values(problem)
        with self._lock:
            if key in self._plans:
                self._plans.move_to_end(key)
                return self._plans[key]
        plan = _Plan(self._handle, problem)
        with self._lock:
            # Not of a handle that was closed meanwhile.
            if self._handle:
                self._plans[key] = plan
                if len(self._plans) > _MOST_PLANS:
                    self._plans.popitem(last=False)
        return plan

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        # Where `__init__` failed there is none, and at the end of the program the module may be gone.
        if getattr(self, "_handle", None) and library.call is not None:
            self.close()

    def matmul(self, a, b, precision=None, out=None, *, alpha=1.0, beta=0.0, stream=None):
        """alpha * A @ B + beta * out. See the function ``matmul``."""
        if precision not in PRECISIONS:
            raise ValueError(f"precision = {precision!r}: give one of {', '.join(name for name in PRECISIONS if name)}")
        if beta != 0.0 and out is None:
            raise ValueError("beta takes part of `out`: give it")
        of_a, of_b = describe("a", a, stream), describe("b", b, stream)
        _check_devices(self, {"a": of_a, "b": of_b})
        if of_a.element != of_b.element:
            raise TypeError("a and b have elements of different types")
        shape = _shape(of_a.shape, of_b.shape)
        if out is None:
            out = _empty(a, of_a, shape)
        of_out = describe("out", out, stream)
        _check_devices(self, {"a": of_a, "out": of_out})
        if of_out.shape != shape:
            raise ValueError(f"out has the shape {of_out.shape}: the product has {shape}")
        if of_out.is_read_only:
            raise ValueError("out is read-only")
        problem = _problem(of_a, of_b, of_out, PRECISIONS[precision])
        arguments = library.Arguments(alpha=alpha, beta=beta, a=of_a.address, b=of_b.address, c=of_out.address)
        plan = self._plan(problem)
        if of_a.is_on_gpu:
            _run_on_gpu(plan, a, of_a, arguments, stream)
        else:
            library.call("sgemm_run_host", plan.plan, byref(arguments))
        return out


class _Plan:
    """A plan of the library, destroyed when nothing refers to it any more."""

    def __init__(self, handle, problem):
        self.plan = c_void_p()
        library.call("sgemm_plan_create", handle, byref(problem), library.UNLIMITED, byref(self.plan))
        needed = c_uint64()
        library.call("sgemm_plan_workspace_bytes", self.plan, byref(needed))
        self.workspace_bytes = needed.value

    def __del__(self):
        # As of a handle.
        if self.plan and library.call is not None:
            library.call("sgemm_plan_destroy", self.plan)


_LOCK = threading.Lock()
_DEFAULT = None


def default_handle():
    """The handle of ``matmul``: the first GPU, or an emulated H200 where there is no driver or no GPU. It is made once."""
    global _DEFAULT
    with _LOCK:
        if _DEFAULT is None:
            try:
                _DEFAULT = Handle(0)
            except Error as error:
                if error.status not in (library.NO_DRIVER, library.NO_DEVICE):
                    raise
                _DEFAULT = Handle("h200")
        return _DEFAULT


def matmul(a, b, precision=None, out=None, *, alpha=1.0, beta=0.0, stream=None, handle=None):
    """alpha * A @ B + beta * out, of matrices or stacks of them: A is (m, k) or (batch, m, k), B (k, n) or (batch, k, n).

    ``precision`` is an accuracy class: "fp32-strict" is the default of float32; "fp32" and "tf32" use the tensor cores. Float16 and
    bfloat16 have a class each. Elements of ``out`` are those of A and B, or float32. Without it, the result is a new array: of the
    package of A where that is on a GPU, or PyTorch; otherwise of NumPy, or a Matrix where that is not installed.

    Arrays on a GPU are multiplied there, in ``stream``, an address of a CUDA stream, or else in the default stream. The call does not wait
    for the result: whoever uses it, or frees A, B or the result, does so in the same stream. What their packages have queued for A, B and
    ``out`` comes first, also in other streams. A CUDA graph that
    captured a product is valid as long as the handle keeps its plan, among the last 256.

    Raises TypeError and ValueError for arrays that do not fit, and Error with the library's message for what else fails.
    """
    return (handle or default_handle()).matmul(a, b, precision, out, alpha=alpha, beta=beta, stream=stream)


def _check_devices(handle, arrays):
    if len({array.is_on_gpu for array in arrays.values()}) > 1:
        raise ValueError(f"{' and '.join(arrays)} are not on the same device")
    for name, array in arrays.items():
        if array.is_on_gpu and handle.backend != "cuda":
            raise ValueError(f"{name} is on a GPU: {handle.device} is emulated")
        if array.ordinal is not None and array.ordinal != handle._ordinal:
            raise ValueError(f"{name} is on device {array.ordinal}: the handle is of device {handle._ordinal}")


def _shape(a, b):
    for name, shape in (("a", a), ("b", b)):
        if len(shape) not in (2, 3):
            raise ValueError(f"{name} has the shape {shape}: give a matrix, or a stack of them")
    if a[-1] != b[-2]:
        raise ValueError(f"a of shape {a} has {a[-1]} columns, b of shape {b} has {b[-2]} rows")
    batches = {shape[0] for shape in (a, b) if len(shape) == 3}
    if len(batches - {1}) > 1:
        raise ValueError(f"a of shape {a} and b of shape {b} are stacks of different sizes")
    batch = (next(iter(batches - {1}), 1),) if batches else ()
    return (*batch, a[-2], b[-1])


def _problem(a, b, out, accuracy):
    problem = library.Problem()
    library.call("sgemm_problem_init", byref(problem), a.shape[-2], b.shape[-1], a.shape[-1])
    problem.a, problem.b, problem.c = (_layout(name, array) for name, array in (("a", a), ("b", b), ("out", out)))
    problem.batch_count = out.shape[0] if len(out.shape) == 3 else 1
    strides = (_batch_stride(name, array) for name, array in (("a", a), ("b", b), ("out", out)))
    problem.batch_stride_a, problem.batch_stride_b, problem.batch_stride_c = strides
    problem.input, problem.output, problem.accuracy = a.element, out.element, accuracy
    if a.is_on_gpu:
        problem.alignment_a, problem.alignment_b = _alignment(a), _alignment(b)
    return problem


def _layout(name, array):
    shape, strides = array.shape[-2:], array.strides[-2:]
    # That of a single row or column does not matter.
    if any(size > 1 and stride < 0 for size, stride in zip(shape, strides)):
        raise ValueError(f"{name} has a negative stride: copy it")
    return library.Layout(*strides)


def _batch_stride(name, array):
    if len(array.shape) == 2 or array.shape[0] <= 1:
        return 0
    if array.strides[0] < 0:
        raise ValueError(f"{name} has a negative stride: copy it")
    return array.strides[0]


def _alignment(array):
    return min(_WIDEST, array.address & -array.address) or _WIDEST


def _empty(like, of, shape):
    """A new array for the result, where `like` is."""
    if of.is_on_gpu or hasattr(like, "new_empty"):
        return _empty_of(like, shape)
    if of.element not in _DTYPES:
        raise TypeError("NumPy has no bfloat16: give `out`")
    try:
        import numpy
    except ImportError:
        return Matrix(shape, _DTYPES[of.element])
    return numpy.empty(shape, _DTYPES[of.element])


def _empty_of(like, shape):
    """A new array of the package of `like`, on its device: by PyTorch's method, CuPy's function, or the array API."""
    if hasattr(like, "new_empty"):
        return like.new_empty(shape)
    device, package = getattr(like, "device", None), sys.modules.get(type(like).__module__.partition(".")[0])
    # CuPy's arrays are made on the current device, which theirs is within this.
    if hasattr(device, "__enter__") and hasattr(package, "empty"):
        with device:
            return package.empty(shape, dtype=like.dtype)
    if hasattr(like, "__array_namespace__"):
        return like.__array_namespace__().empty(shape, dtype=like.dtype, device=device)
    raise TypeError(f"a new {type(like).__name__} cannot be made: give `out`")


def _run_on_gpu(plan, like, of, arguments, stream):
    if plan.workspace_bytes:
        workspace = _empty_of(like, (-(-plan.workspace_bytes // of.item_bytes),))
        # PyTorch gives the memory to others again when its own stream comes past this, unless it knows of the other one.
        if stream and hasattr(workspace, "record_stream"):
            _record(workspace, stream)
        arguments.workspace = describe("workspace", workspace, stream).address
        arguments.workspace_bytes = plan.workspace_bytes
    library.call("sgemm_run_with", plan.plan, ctypes.c_void_p(stream), byref(arguments))


def _record(tensor, stream):
    cuda = sys.modules["torch"].cuda
    tensor.record_stream(cuda.ExternalStream(stream, device=tensor.device))
