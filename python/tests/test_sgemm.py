"""The package, on the emulator: results against sums in double precision, and what is refused.

SGEMM_LIBRARY names the library, and the folder above is on PYTHONPATH. What needs NumPy is skipped without it.
"""

import csv
import ctypes
import io
import math
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import zipfile
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import sgemm
from sgemm import _arrays, _handle
from sgemm import _library as library

try:
    import numpy
except ImportError:
    numpy = None

PYTHON = Path(__file__).resolve().parent.parent
HEADER = PYTHON.parent / "capi/include/sgemm.h"
HANDLE = sgemm.Handle("h200")


def matmul(*arguments, **options):
    """On the emulator, whether there is a GPU or not."""
    return sgemm.matmul(*arguments, handle=HANDLE, **options)


class Header(unittest.TestCase):
    """What the package knows of sgemm.h is what stands there."""

    def setUp(self):
        self.text = HEADER.read_text()

    def test_constants(self):
        defined = dict(re.findall(r"#define SGEMM_(\w+) (\S+)", self.text))
        own = {name: value for name, value in vars(library).items() if name.isupper() and isinstance(value, int)}
        own.pop("UNLIMITED")
        self.assertGreater(len(own), 10)
        for name, value in own.items():
            self.assertEqual(str(value), defined[name], name)

    def test_structures(self):
        c_types = {"size_t": 8, "int32_t": 4, "float": 4, "uint64_t": 8, "sgemm_layout_t": 16}
        for name, structure in (
            ("layout", library.Layout),
            ("problem", library.Problem),
            ("arguments", library.Arguments),
        ):
            body = re.search(rf"typedef struct sgemm_{name}_t {{(.*?)\n}}", self.text, re.S).group(1)
            fields = re.findall(r"^  (?:const )?(?:struct )?(\w+) (\*?)(\w+);", body, re.M)
            self.assertEqual([field for _, _, field in fields], [field for field, _ in structure._fields_])
            for c_type, star, field in fields:
                alias = re.search(rf"typedef (\w+) {c_type};", self.text)
                size = 8 if star else c_types[alias.group(1) if alias else c_type]
                self.assertEqual(getattr(structure, field).size, size, field)

    def test_functions(self):
        for name, types in library.FUNCTIONS.items():
            parameters = re.search(rf"\b{name}\((.*?)\);", self.text, re.S).group(1)
            self.assertEqual(len(types), parameters.count(",") + 1, name)


class Plain(unittest.TestCase):
    """Without NumPy."""

    def test_a_product_is_right(self):
        m, n, k = 5, 4, 3
        a = [float(i % 5 - 2) for i in range(m * k)]
        b = [float(i % 3) for i in range(k * n)]
        exact = [sum(a[i * k + l] * b[l * n + j] for l in range(k)) for i in range(m) for j in range(n)]
        for dtype in ("float32", "float16"):
            found = matmul(sgemm.Matrix((m, k), dtype, a), sgemm.Matrix((k, n), dtype, b), out=sgemm.Matrix((m, n), dtype))
            self.assertEqual((found.dtype, found.values()), (dtype, exact))

    def test_alpha_and_beta(self):
        ones = sgemm.Matrix((2, 2), values=[1.0] * 4)
        out = sgemm.Matrix((2, 2), values=[8.0] * 4)
        self.assertIs(matmul(ones, ones, out=out, alpha=3.0, beta=0.5), out)
        self.assertEqual(out.values(), [10.0] * 4)
        with self.assertRaisesRegex(ValueError, "beta takes part"):
            matmul(ones, ones, beta=1.0)

    def test_what_does_not_fit_is_refused(self):
        a, b = sgemm.Matrix((2, 3)), sgemm.Matrix((4, 5))
        with self.assertRaisesRegex(ValueError, r"a of shape \(2, 3\) has 3 columns, b of shape \(4, 5\) has 4 rows"):
            matmul(a, b)
        with self.assertRaisesRegex(ValueError, "precision = 'fp64': give one of fp32-strict"):
            matmul(a, a, "fp64")
        with self.assertRaisesRegex(TypeError, "b is a list"):
            matmul(a, [[1.0]])
        with self.assertRaisesRegex(ValueError, r"out has the shape \(2, 2\): the product has \(2, 3\)"):
            matmul(a, sgemm.Matrix((3, 3)), out=sgemm.Matrix((2, 2)))
        with self.assertRaisesRegex(TypeError, "different types"):
            matmul(a, sgemm.Matrix((3, 3), "float16"))
        with self.assertRaisesRegex(ValueError, "a has the shape"):
            matmul(sgemm.Matrix((3,)), b)
        # The library's own message.
        with self.assertRaisesRegex(sgemm.InvalidError, "^bf16 is no accuracy class of operands of f32$") as caught:
            matmul(a, sgemm.Matrix((3, 3)), "bf16")
        self.assertEqual(caught.exception.status, library.INVALID_PROBLEM)

    def test_arrays_on_a_gpu_are_not_the_emulators(self):
        class OnGpu:
            __cuda_array_interface__ = {"version": 3, "shape": (2, 2), "typestr": "<f4", "data": (4096, False)}

        with self.assertRaisesRegex(ValueError, "a and b are not on the same device"):
            matmul(OnGpu(), sgemm.Matrix((2, 2)))
        with self.assertRaisesRegex(ValueError, "a is on a GPU: NVIDIA H200 is emulated"):
            matmul(OnGpu(), OnGpu())


def capsule(structure, name):
    """A capsule that frees nothing. Its name must be kept by whoever made it."""
    new = ctypes.pythonapi.PyCapsule_New
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    new.restype = ctypes.py_object
    return new(ctypes.addressof(structure), name, None)


class Versioned:
    """The same by DLPack 1.0, which tells what is read-only, on a device, and with the arguments that it was asked with."""

    NAME = b"dltensor_versioned"

    def __init__(self, tensor, flags=0, major=1):
        self.of, self.asked = tensor, []
        self.managed = _arrays._DLVersioned(major=major, flags=flags, tensor=tensor.tensor)

    def __dlpack_device__(self):
        return (self.managed.tensor.device_type, self.managed.tensor.device_id)

    def __dlpack__(self, **options):
        self.asked.append(options)
        return capsule(self.managed, self.NAME)


class Tensor:
    """A matrix with DLPack alone, whose elements begin somewhere in its memory."""

    def __init__(self, values, shape, offset=0, device=(1, 0), strides=None):
        self.memory = (ctypes.c_float * len(values))(*values)
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.strides = None if strides is None else (ctypes.c_int64 * len(strides))(*strides)
        self.tensor = _arrays._DLTensor(ctypes.addressof(self.memory), *device, len(shape), 2, 32, 1, self.shape)
        if strides is not None:
            self.tensor.strides = self.strides
        self.tensor.byte_offset = offset

    def __dlpack__(self):
        return capsule(self.tensor, b"dltensor")


class DLPack(unittest.TestCase):
    def test_offsets_and_strides(self):
        a = Tensor([9.0, 1.0, 2.0, 3.0, 4.0], (2, 2), offset=4)
        b = Tensor([5.0, 6.0, 7.0, 8.0], (2, 2), strides=(1, 2))
        self.assertEqual(matmul(a, b, out=sgemm.Matrix((2, 2))).values(), [17.0, 23.0, 39.0, 53.0])
        # The stride of a single row does not matter.
        row = Tensor([1.0, 10.0], (1, 2), strides=(-2, 1))
        self.assertEqual(matmul(row, a, out=sgemm.Matrix((1, 2))).values(), [31.0, 42.0])

    def test_without_elements_there_is_no_address(self):
        """As of PyTorch's tensors."""
        a, b = Tensor([], (2, 0)), Tensor([], (0, 3))
        a.tensor.data = b.tensor.data = None
        out = sgemm.Matrix((2, 3), values=[math.nan] * 6)
        self.assertEqual(matmul(a, b, out=out).values(), [0.0] * 6)

    def test_devices(self):
        one = sgemm.Matrix((2, 2))
        with self.assertRaisesRegex(TypeError, "a is on a device of DLPack's type 8"):
            matmul(Tensor([0.0] * 4, (2, 2), device=(8, 0)), one)
        on_gpu = Tensor([0.0] * 4, (2, 2), device=(2, 1))
        with self.assertRaisesRegex(ValueError, "a is on a GPU: NVIDIA H200 is emulated"):
            matmul(on_gpu, on_gpu)
        with self.assertRaisesRegex(ValueError, "a and b are not on the same device"):
            matmul(on_gpu, one)


    def test_versions(self):
        ones = Versioned(Tensor([1.0] * 4, (2, 2)))
        self.assertEqual(matmul(ones, ones, out=sgemm.Matrix((2, 2))).values(), [2.0] * 4)
        self.assertEqual(ones.asked, [{"max_version": (1, 0)}] * 2)
        with self.assertRaisesRegex(ValueError, "out is read-only"):
            matmul(ones, ones, out=Versioned(Tensor([0.0] * 4, (2, 2)), flags=1))
        with self.assertRaisesRegex(TypeError, "a is of version 2 of DLPack"):
            matmul(Versioned(Tensor([0.0] * 4, (2, 2)), major=2), ones)

    def test_streams(self):
        """Packages order their work before the stream of the product, or the host waits for it."""
        for stream, said in ((None, 1), (0x7000, 0x7000)):
            on_gpu = Versioned(Tensor([0.0] * 4, (2, 2), device=(2, 0)))
            self.assertTrue(_arrays.describe("a", on_gpu, stream).is_on_gpu)
            self.assertEqual(on_gpu.asked, [{"max_version": (1, 0), "stream": said}])
        interface = {"version": 3, "shape": (2, 2), "typestr": "<f4", "data": (4096, False)}
        for of, stream, waited in (
            (None, None, []),
            (1, None, []),
            (0x7000, 0x7000, []),
            (0x7000, None, [0x7000]),
            (2, 0x7000, [2]),
        ):
            array = SimpleNamespace(__cuda_array_interface__=dict(interface, stream=of))
            with mock.patch.object(library, "wait_for_stream") as wait:
                _arrays.describe("a", array, stream)
            self.assertEqual([call.args[0] for call in wait.call_args_list], waited)

    def test_new_arrays(self):
        """By a package whose arrays are made on its current device, as CuPy's are."""
        entered = []

        class Device:
            def __enter__(self):
                entered.append(self)

            def __exit__(self, *_):
                pass

        class Like:
            device, dtype = Device(), "float32"

        Like.__module__ = "package_of_arrays.core"
        package = SimpleNamespace(empty=lambda shape, dtype: (shape, dtype, len(entered)))
        with mock.patch.dict(sys.modules, package_of_arrays=package):
            self.assertEqual(_handle._empty_of(Like(), (2, 3)), ((2, 3), "float32", 1))
        with self.assertRaisesRegex(TypeError, "a new Like cannot be made: give `out`"):
            _handle._empty_of(Like(), (2, 3))


class Handles(unittest.TestCase):
    def test_plans_are_kept(self):
        called, call = [], library.call

        def counted(name, *arguments):
            called.append(name)
            call(name, *arguments)

        ones = [sgemm.Matrix((size, size), values=[1.0] * size**2) for size in (1, 2, 3)]
        with mock.patch.object(library, "call", counted), mock.patch.object(_handle, "_MOST_PLANS", 2):
            with sgemm.Handle("h200") as handle:
                # The third takes the place of the second, which is made again.
                for index in (0, 1, 0, 2, 0, 1):
                    out = sgemm.Matrix((index + 1, index + 1))
                    sgemm.matmul(ones[index], ones[index], out=out, handle=handle)
                    self.assertEqual(out.values(), [index + 1.0] * (index + 1) ** 2)
                self.assertEqual(called.count("sgemm_plan_create"), 4)
        self.assertEqual(called.count("sgemm_plan_destroy"), 4)

    def test_names(self):
        self.assertEqual((HANDLE.device, HANDLE.backend), ("NVIDIA H200", "emulator"))
        with self.assertRaisesRegex(sgemm.InvalidError, "no device 'h900': give one of h200"):
            sgemm.Handle("h900")
        with self.assertRaisesRegex(TypeError, "device = -1"):
            sgemm.Handle(-1)

    def test_closed_handles_are_refused(self):
        with sgemm.Handle("a100") as handle:
            self.assertEqual(handle.backend, "emulator")
        one = sgemm.Matrix((1, 1))
        with self.assertRaisesRegex(sgemm.Error, "the handle is null"):
            sgemm.matmul(one, one, out=one, handle=handle)

    def test_a_missing_gpu_is_an_error(self):
        try:
            sgemm.Handle(0).close()
        except sgemm.Error as error:
            self.assertIn(error.status, (library.NO_DRIVER, library.NO_DEVICE))
            self.assertIn("NVIDIA driver", str(error))
            self.assertEqual(sgemm.default_handle().backend, "emulator")
        else:
            self.assertEqual(sgemm.default_handle().backend, "cuda")


def gpu():
    """The handle of the first GPU, or None."""
    try:
        return sgemm.Handle(0)
    except sgemm.Error as error:
        if error.status not in (library.NO_DRIVER, library.NO_DEVICE):
            raise
        return None


class DeviceArray:
    """A matrix of f32 on the first GPU, as other packages have it."""

    def __init__(self, driver, shape, values=None):
        self.driver, self.shape, self.count = driver, shape, math.prod(shape)
        address = ctypes.c_uint64()
        self.bytes = ctypes.c_size_t(4 * self.count)
        assert driver.cuMemAlloc_v2(ctypes.byref(address), self.bytes) == 0
        self.address = address
        values = (ctypes.c_float * self.count)(*(values or [math.nan] * self.count))
        assert driver.cuMemcpyHtoD_v2(address, values, self.bytes) == 0
        data = (address.value, False)
        self.__cuda_array_interface__ = {"version": 3, "shape": shape, "typestr": "<f4", "data": data}

    def __dlpack_device__(self):
        return (2, 0)

    def new_empty(self, shape):
        return DeviceArray(self.driver, shape)

    def values(self):
        values = (ctypes.c_float * self.count)()
        assert self.driver.cuMemcpyDtoH_v2(values, self.address, self.bytes) == 0
        return list(values)


@unittest.skipIf(gpu() is None, "there is no GPU")
class Gpu(unittest.TestCase):
    def setUp(self):
        self.m, self.n, self.k = 37, 21, 19
        self.a = [float(i % 5 - 2) for i in range(self.m * self.k)]
        self.b = [float(i % 3) for i in range(self.k * self.n)]
        row = [self.a[i * self.k : (i + 1) * self.k] for i in range(self.m)]
        column = [self.b[j :: self.n] for j in range(self.n)]
        self.exact = [sum(x * y for x, y in zip(row[i], column[j])) for i in range(self.m) for j in range(self.n)]

    def test_arrays_of_the_host(self):
        a, b = sgemm.Matrix((self.m, self.k), values=self.a), sgemm.Matrix((self.k, self.n), values=self.b)
        out = sgemm.matmul(a, b, out=sgemm.Matrix((self.m, self.n)), handle=gpu())
        self.assertEqual(out.values(), self.exact)

    def test_arrays_on_the_gpu(self):
        handle = gpu()
        driver, device, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_void_p()
        self.assertEqual(driver.cuDeviceGet(ctypes.byref(device), 0), 0)
        self.assertEqual(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), 0)
        self.assertEqual(driver.cuCtxSetCurrent(context), 0)
        a = DeviceArray(driver, (self.m, self.k), self.a)
        b = DeviceArray(driver, (self.k, self.n), self.b)
        for precision in ("fp32-strict", "fp32"):
            out = sgemm.matmul(a, b, precision, handle=handle)
            self.assertEqual(driver.cuCtxSynchronize(), 0)
            self.assertIsInstance(out, DeviceArray)
            self.assertEqual(out.values(), self.exact)
        with self.assertRaisesRegex(ValueError, "a and out are not on the same device"):
            sgemm.matmul(a, b, out=sgemm.Matrix((self.m, self.n)), handle=handle)


@unittest.skipIf(numpy is None, "NumPy is not installed")
class Arrays(unittest.TestCase):
    def setUp(self):
        self.random = numpy.random.default_rng(7)

    def draw(self, *shape):
        return self.random.uniform(-1, 1, shape).astype("float32")

    def check(self, a, b, found, alpha=1.0):
        exact = alpha * numpy.matmul(a.astype("float64"), b.astype("float64"))
        bound = (a.shape[-1] + 4) * 2.0**-24 * numpy.matmul(abs(a.astype("float64")), abs(b.astype("float64")))
        self.assertEqual(found.shape, exact.shape)
        self.assertTrue((abs(found - exact) <= abs(alpha) * bound).all())

    def test_matrices_in_any_order(self):
        a, b = self.draw(37, 50), self.draw(50, 29)
        self.check(a, b, matmul(a, b))
        self.check(a, b, matmul(a, b, "fp32"))
        self.check(a, b, matmul(numpy.asfortranarray(a), b))
        self.check(a, b, matmul(a, numpy.asfortranarray(b), alpha=-2.0), -2.0)
        wide = self.draw(60, 80)
        self.check(wide[3:40, 5:], wide.T[5:, 3:30], matmul(wide[3:40, 5:], wide.T[5:, 3:30]))
        out = numpy.full((40, 29), 7.0, "float32", order="F")
        matmul(a, b, out=out[1:38])
        self.check(a, b, out[1:38])
        self.assertTrue((out[[0, 38, 39]] == 7.0).all())

    def test_stacks(self):
        a, b = self.draw(3, 8, 16), self.draw(16, 9)
        self.check(a, b, matmul(a, b))
        stack = self.draw(3, 16, 9)
        self.check(a, stack, matmul(a, stack))
        self.check(a[:1], stack, matmul(a[:1], stack))
        with self.assertRaisesRegex(ValueError, "stacks of different sizes"):
            matmul(a, self.draw(2, 16, 9))

    def test_edges(self):
        self.assertEqual(matmul(self.draw(0, 3), self.draw(3, 2)).shape, (0, 2))
        self.assertTrue((matmul(self.draw(4, 0), self.draw(0, 2)) == 0.0).all())
        a = self.draw(1, 5)
        self.check(a, a.T, matmul(a, a.T))
        self.check(a.T, a, matmul(a.T, a))

    def test_float16(self):
        a = self.random.integers(-3, 4, (16, 32)).astype("float16")
        b = self.random.integers(-3, 4, (32, 24)).astype("float16")
        exact = a.astype("float64") @ b.astype("float64")
        found = matmul(a, b)
        self.assertEqual(found.dtype, numpy.float16)
        self.assertTrue((found == exact).all())
        self.assertTrue((matmul(a, b, out=numpy.empty((16, 24), "float32")) == exact).all())

    def test_dlpack(self):
        class Wrapped:
            def __init__(self, array):
                self.__dlpack__ = array.__dlpack__

        a, b = self.draw(20, 30), self.draw(30, 10)
        self.check(a, b, matmul(Wrapped(a), Wrapped(b)))
        self.check(a.T[:, :9], b[:9], matmul(Wrapped(a.T[:, :9]), Wrapped(b[:9])))
        with self.assertRaisesRegex(TypeError, "a has elements of type DLPack's 2 of 64 bits"):
            matmul(Wrapped(a.astype("float64")), Wrapped(b))

    def test_what_no_kernel_reads_is_refused(self):
        a, b = self.draw(6, 6), self.draw(6, 6)
        with self.assertRaisesRegex(TypeError, "a has elements of type <f8"):
            matmul(a.astype("float64"), b)
        with self.assertRaisesRegex(ValueError, "b has a negative stride"):
            matmul(a, b[::-1])
        with self.assertRaisesRegex(sgemm.InvalidError, "^A has strides 12 and 2: one of them must be 1$"):
            matmul(a[::2, ::2], b[:3])
        b.flags.writeable = False
        with self.assertRaisesRegex(ValueError, "out is read-only"):
            matmul(a, a, out=b)

    def test_threads(self):
        a, b, found = self.draw(33, 40), self.draw(40, 21), [None] * 4

        def run(index):
            found[index] = matmul(a, b)

        threads = [threading.Thread(target=run, args=(index,)) for index in range(len(found))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for one in found:
            self.check(a, b, one)


class Run(unittest.TestCase):
    def test_a_program_runs_with_the_library_preloaded(self):
        program = "import os, sys; print(os.environ['LD_PRELOAD'], os.environ['SGEMM_PRECISION'], *sys.argv[1:])"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "program.py"
            path.write_text(program)
            package = Path(folder) / "sgemm"
            shutil.copytree(PYTHON / "sgemm", package)
            command = [sys.executable, "-m", "sgemm", "run", "--precision", "fp32", str(path), "--option", "1"]
            environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
            environment["PYTHONPATH"] = folder
            # The library is found beside the one for C, too: not where that is another folder's.
            environment["SGEMM_LIBRARY"] = shutil.copy(os.environ["SGEMM_LIBRARY"], Path(folder) / "libsgemm.so")
            found = subprocess.run(command, env=environment, capture_output=True, text=True)
            self.assertEqual(found.returncode, 1)
            self.assertIn("libsgemm_cublas.so is not in the package", found.stderr)
            # The loader would take the parts of such a path for libraries.
            spaced = Path(folder) / "a folder" / "sgemm"
            shutil.copytree(package, spaced)
            shutil.copy(os.environ["SGEMM_LIBRARY"], spaced / "libsgemm_cublas.so")
            found = subprocess.run(command, env=environment, cwd=spaced.parent, capture_output=True, text=True)
            self.assertEqual(found.returncode, 1)
            self.assertIn("no path with a space or a colon", found.stderr)
            # Any library that can be preloaded will do.
            library = shutil.copy(os.environ["SGEMM_LIBRARY"], package / "libsgemm_cublas.so")
            found = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
            self.assertEqual(found.stdout, f"{library} fp32 --option 1\n")


@unittest.skipIf(sys.version_info < (3, 11), "the wheel is built by Python 3.11 and later")
class Wheel(unittest.TestCase):
    def test_a_wheel_has_all_that_it_needs(self):
        sys.path.insert(0, str(PYTHON))
        import backend

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / backend.build_wheel(folder)
            # The libraries call what this machine's C library has.
            minor = int(re.search(r"-py3-none-manylinux_2_(\d+)_\w+\.whl$", path.name).group(1))
            self.assertLessEqual(minor, int(platform.libc_ver()[1].split(".")[1]))
            self.assertEqual(backend.platform([b"\0GLIBC_2.2.5\0GLIBC_2.17\0"]), f"manylinux_2_17_{platform.machine()}")
            installed = Path(folder) / "installed"
            with zipfile.ZipFile(path) as wheel:
                wheel.extractall(installed)
                names = set(wheel.namelist())
            info = f"sgemm-{sgemm.__version__}.dist-info"
            record = csv.reader(io.StringIO((installed / info / "RECORD").read_text()))
            recorded = {name: digest for name, digest, _ in record}
            self.assertEqual(set(recorded), names)
            for name, digest in recorded.items():
                if digest:
                    self.assertEqual(digest, "sha256=" + backend.digest((installed / name).read_bytes()))
            environment = {name: value for name, value in os.environ.items() if name != "SGEMM_LIBRARY"}
            command = [sys.executable, "-m", "sgemm", "--version"]
            environment["PYTHONPATH"] = str(installed)
            said = subprocess.run(command, env=environment, cwd=folder, check=True, capture_output=True, text=True)
            self.assertEqual(said.stdout, f"sgemm {sgemm.__version__}\n")


if __name__ == "__main__":
    unittest.main()
