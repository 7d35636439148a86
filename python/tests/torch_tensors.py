"""The package with tensors of PyTorch and arrays of CuPy, on a GPU: results beside float64, streams, graphs, errors.

    SGEMM_LIBRARY=libsgemm_capi.so PYTHONPATH=python python3 python/tests/torch_tensors.py [--verbose]

Where PyTorch finds no GPU, what needs none runs on the emulator, with smaller sizes. `unittest discover` does not find
this file, which needs PyTorch and NumPy.
"""

import math
import threading
import unittest

import numpy
import torch

import sgemm

try:
    import cupy
except ImportError:
    cupy = None

IS_GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if IS_GPU else "cpu")
HANDLE = sgemm.Handle(0 if IS_GPU else "h200")
# By which large sizes are divided.
SMALLER = 1 if IS_GPU else 8
PRECISIONS = ("fp32-strict", "fp32", "tf32")
# About 30 ms of a GPU's time: longer than the host takes to queue what comes next.
SLEEP_CYCLES = 60_000_000

# What an operand may lose by rounding, relative to itself, and a result by its type.
LOST_BY_OPERAND = {"fp32": 2.0**-22, "tf32": 2.0**-10}
LOST_BY_RESULT = {torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}

needs_gpu = unittest.skipUnless(IS_GPU, "there is no GPU")


def draw(*shape, dtype=torch.float32):
    """Random elements on the device."""
    return torch.randn(*shape, device=DEVICE).to(dtype)


def matmul(a, b, precision=None, out=None, **options):
    """In PyTorch's current stream, unless another is given."""
    options.setdefault("stream", torch.cuda.current_stream().cuda_stream if IS_GPU else None)
    return sgemm.matmul(a, b, precision, out, handle=HANDLE, **options)


def reuse_memory():
    """Overwrites what PyTorch's allocator takes for free, such as a workspace that it was given back too soon."""
    for size_bytes in (1 << 20, 4 << 20, 9 << 20):
        torch.full((size_bytes // 4,), math.nan, device=DEVICE)


class Case(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)

    def tearDown(self):
        if IS_GPU:
            torch.cuda.synchronize()

    def check(self, a, b, found, precision=None, alpha=1.0, beta=0.0, old=0.0):
        """Fails where `found` is not alpha * A @ B + beta * old, but for roundings: of |A||B|, what both operands lose,
        and 2^-23 for each addition; and twice what the result's type loses."""
        exact = alpha * (a.double() @ b.double())
        size = abs(alpha) * (a.double().abs() @ b.double().abs())
        if beta != 0.0:
            exact, size = exact + beta * old.double(), size + abs(beta) * old.double().abs()
        bound = (2 * LOST_BY_OPERAND.get(precision, 0.0) + (a.shape[-1] + 8) * 2.0**-23) * size
        bound += 2 * LOST_BY_RESULT[found.dtype] * (exact.abs() + 1e-7)
        what = f"{precision}, {tuple(a.shape)} by {tuple(b.shape)}"
        self.assertEqual(found.shape, exact.shape, what)
        self.assertTrue(torch.isfinite(found).all(), what)
        if found.numel() > 0:
            self.assertLessEqual(((found.double() - exact).abs() / bound).max().item(), 1.0, what)

    def check_product(self, a, b, precision=None):
        self.check(a, b, matmul(a, b, precision), precision)


class Products(Case):
    def test_precisions(self):
        large = (513 // SMALLER, 257 // SMALLER, 1025 // SMALLER)
        for precision in (*PRECISIONS, None):
            for m, n, k in ((1, 1, 1), (37, 29, 53), (64, 64, 64), (1, 300, 200), (300, 1, 200), large):
                self.check_product(draw(m, k), draw(k, n), precision)
        for dtype, precision in ((torch.float16, "f16"), (torch.bfloat16, "bf16")):
            for m, n, k in ((1, 1, 1), (37, 29, 53), (256, 128, 64), large):
                a, b = draw(m, k, dtype=dtype), draw(k, n, dtype=dtype)
                for given in (precision, None):
                    found = matmul(a, b, given)
                    self.assertEqual(found.dtype, dtype)
                    self.check(a, b, found, precision)
                out = torch.empty(m, n, device=DEVICE)
                self.assertIs(matmul(a, b, precision, out), out)
                self.check(a, b, out, precision)

    def test_splits_and_workspaces(self):
        for precision in PRECISIONS:
            for shape in ((2048, 1536, 1000), (64 * SMALLER, 64 * SMALLER, 8192), (1000, 1000, 3000)):
                m, n, k = (size // SMALLER for size in shape)
                self.check_product(draw(m, k), draw(k, n), precision)

    def test_views(self):
        x = draw(140, 150)
        views_a = (x[3:90, 5:77], x.t()[3:90, 5:77], x[1:88, 9:81], x[::2][:60, :72], x.t()[:, ::2][3:90, :60])
        views_b = (x[2:74, 1:50], x.t()[7:79, 3:52], x[2:, 1:50][::2])
        for precision in PRECISIONS:
            for a in views_a:
                for b in views_b:
                    k = min(a.shape[1], b.shape[0])
                    self.check_product(a[:, :k], b[:k], precision)

    def test_strides_of_rows_and_columns_are_refused_or_right(self):
        x = draw(100, 100)
        for a in (x[::2, ::2], x[:1, :50].expand(50, 50)):
            try:
                found = matmul(a, x[:50])
            except (ValueError, sgemm.Error):
                continue
            self.check(a, x[:50], found)

    def test_out(self):
        a, b, whole = draw(37, 50), draw(50, 29), torch.empty(60, 70, device=DEVICE)
        for precision in PRECISIONS:
            for wide in (whole, whole.t()):
                whole.fill_(7.0)
                out = wide[3:40, 11:40]
                self.assertIs(matmul(a, b, precision, out), out)
                self.check(a, b, out, precision)
                out.fill_(7.0)
                self.assertTrue((whole == 7.0).all(), "wrote outside of out")

    def test_alpha_and_beta(self):
        a, b, old = draw(37, 50), draw(50, 29), draw(37, 29)
        for precision in PRECISIONS:
            out = old.clone()
            matmul(a, b, precision, out, alpha=-1.5, beta=0.75)
            self.check(a, b, out, precision, -1.5, 0.75, old)
            out.fill_(math.nan)
            matmul(a, b, precision, out)
            self.check(a, b, out, precision)

    def test_batches(self):
        a, b, wide = draw(5, 40, 33), draw(5, 33, 21), draw(5, 40, 40)
        stacks = [(a, b), (a, b[0]), (a[0], b), (a[:1], b), (a, b[:1]), (a[::2], b[::2])]
        stacks += [(x, b) for x in (a.mT[:, :20, :33], a[0].expand(5, 40, 33), draw(40, 5, 33).transpose(0, 1))]
        for precision in PRECISIONS:
            for x, y in stacks:
                self.check_product(x, y, precision)
            out = wide[:, :, 3:24]
            self.assertIs(matmul(a, b, precision, out), out)
            self.check(a, b, out, precision)

    def test_empty_sizes(self):
        for of_a, of_b in (((0, 3), (3, 2)), ((4, 0), (0, 2)), ((3, 5), (5, 0)), ((0, 3, 5), (0, 5, 2))):
            self.check_product(draw(*of_a), draw(*of_b))

    def test_infinities_and_nan(self):
        a, b = draw(40, 50), draw(50, 30)
        a[3, 4], a[7, 9], b[5, 6] = math.inf, math.nan, -math.inf
        exact = a @ b
        for precision in ("fp32-strict", "fp32"):
            found = matmul(a, b, precision)
            self.assertTrue(torch.equal(torch.isnan(found), torch.isnan(exact)))
            self.assertTrue(torch.equal(torch.isinf(found), torch.isinf(exact)))

    def test_gradients_by_a_function_of_autograd(self):
        class Product(torch.autograd.Function):
            @staticmethod
            def forward(context, a, b):
                context.save_for_backward(a, b)
                return matmul(a.detach(), b.detach(), "fp32")

            @staticmethod
            def backward(context, grad):
                a, b = (x.detach() for x in context.saved_tensors)
                return matmul(grad.detach(), b.t(), "fp32"), matmul(a.t(), grad.detach(), "fp32")

        a, b, weights = draw(60, 70).requires_grad_(), draw(70, 50).requires_grad_(), draw(60, 50)
        (Product.apply(a, b) * weights).sum().backward()
        self.check(weights, b.detach().t(), a.grad, "fp32")
        self.check(a.detach().t(), weights, b.grad, "fp32")

    def test_arrays_of_the_host(self):
        a, b = numpy.random.rand(40, 50).astype("float32"), numpy.random.rand(50, 30).astype("float32")
        x, y = torch.from_numpy(a), torch.from_numpy(b)
        self.check(x, y, torch.from_numpy(matmul(a, b, stream=None)))
        self.check(x, y, matmul(x, y, stream=None))
        x, y = x.bfloat16(), y.bfloat16()
        self.check(x, y, matmul(x, y, stream=None), "bf16")

    @needs_gpu
    def test_results_are_near_those_of_pytorch(self):
        a, b = draw(700, 800), draw(800, 600)
        exact = a @ b
        self.assertLess(((matmul(a, b) - exact).abs().max() / exact.abs().max()).item(), 1e-5)

    @needs_gpu
    @unittest.skipIf(cupy is None, "CuPy is not installed")
    def test_arrays_of_cupy(self):
        a, b = cupy.random.rand(50, 60, dtype="float32"), cupy.random.rand(60, 40, dtype="float32")
        found = sgemm.matmul(a, b, handle=HANDLE)
        cupy.cuda.Device().synchronize()
        self.assertIsInstance(found, cupy.ndarray)
        self.check(*(torch.as_tensor(x.get()) for x in (a, b, found)))


class Errors(Case):
    def refused(self, kind, text, *arguments, **options):
        with self.assertRaisesRegex(kind, text):
            matmul(*arguments, **options)

    def test_shapes(self):
        a, square = draw(2, 3), draw(3, 3)
        self.refused(ValueError, "columns", a, draw(4, 5))
        self.refused(ValueError, "shape", a, square, out=square)
        self.refused(ValueError, "shape", draw(2, 2, 2, 2), draw(2, 2, 2, 2))
        self.refused(ValueError, "shape", draw(3), square)
        self.refused(ValueError, "stacks", draw(2, 3, 3), draw(4, 3, 3))

    def test_types(self):
        square = draw(3, 3)
        for dtype in (torch.float64, torch.int32, torch.int8, torch.complex64, torch.bool, torch.float8_e4m3fn):
            other = torch.zeros(3, 3, device=DEVICE).to(dtype)
            self.refused((TypeError, BufferError), "elements|type|dtype", other, other)
        self.refused(TypeError, "different types", square, square.half())
        for out in (square.double(), square.half()):
            self.refused((ValueError, TypeError), "", square, square, out=out)
        self.refused(TypeError, "list", square, [[1.0]])
        self.refused((TypeError, ValueError, BufferError, RuntimeError), "", square.to_sparse(), square)

    def test_precisions(self):
        square = draw(3, 3)
        self.refused(ValueError, "precision", square, square, "fp64")
        self.refused(sgemm.InvalidError, "accuracy class", square, square, "bf16")
        self.refused(sgemm.InvalidError, "accuracy class", square.half(), square.half(), "fp32")

    def test_tensors_that_require_gradients(self):
        square, leaf = draw(3, 3), draw(3, 3).requires_grad_()
        self.refused((BufferError, RuntimeError), "grad", leaf, square)
        self.refused((BufferError, RuntimeError), "grad", square, square, out=leaf)

    @needs_gpu
    def test_devices(self):
        on_gpu, on_host = draw(3, 3), torch.zeros(3, 3)
        text = "not on the same device"
        self.refused(ValueError, text, on_gpu, on_host)
        self.refused(ValueError, text, on_host, on_gpu)
        self.refused(ValueError, text, on_gpu, on_gpu, out=on_host)
        self.refused(ValueError, text, on_gpu, on_gpu, out=numpy.zeros((3, 3), "float32"))
        with self.assertRaisesRegex(sgemm.Error, "device"):
            sgemm.Handle(63)
        with sgemm.Handle("h200") as emulated, self.assertRaisesRegex(ValueError, "emulated"):
            sgemm.matmul(on_gpu, on_gpu, handle=emulated)
        closed = sgemm.Handle(0)
        closed.close()
        with self.assertRaisesRegex(sgemm.Error, "null|destroyed|handle"):
            sgemm.matmul(on_gpu, on_gpu, handle=closed)

    @unittest.skipUnless(torch.cuda.device_count() > 1, "there is no second GPU")
    def test_second_gpu(self):
        ones = torch.ones(3, 3, device="cuda:1")
        with self.assertRaisesRegex(ValueError, "device 1"):
            sgemm.matmul(ones, ones, handle=HANDLE)
        with sgemm.Handle(1) as second:
            found = sgemm.matmul(ones, ones, handle=second)
            torch.cuda.synchronize(1)
            self.assertTrue((found == 3.0).all())


@needs_gpu
class Streams(Case):
    """Operands are NaN until a stream that first sleeps has copied them."""

    def late(self):
        """Operands, and a place for the first one."""
        a, b = draw(700, 800), draw(800, 600)
        late = torch.full_like(a, math.nan)
        torch.cuda.synchronize()
        return a, b, late

    def test_operands_and_results_in_the_current_stream(self):
        for precision in PRECISIONS:
            side = torch.cuda.Stream()
            a, b, late = self.late()
            with torch.cuda.stream(side):
                torch.cuda._sleep(SLEEP_CYCLES)
                late.copy_(a)
                found = matmul(late, b, precision)
                twice = found * 2
                late.fill_(math.nan)
            side.synchronize()
            self.check(a, b, found, precision)
            self.assertTrue(torch.equal(twice, found * 2))

    def test_operands_of_the_current_stream_and_a_product_in_another(self):
        for precision in ("fp32-strict", "fp32"):
            side, out = torch.cuda.Stream(), torch.empty(700, 600, device=DEVICE)
            a, b, late = self.late()
            torch.cuda._sleep(SLEEP_CYCLES)
            late.copy_(a)
            matmul(late, b, precision, out, stream=side.cuda_stream)
            side.synchronize()
            self.check(a, b, out, precision)

    def test_without_a_stream_the_default_one_is_used(self):
        side, out = torch.cuda.Stream(), torch.empty(700, 600, device=DEVICE)
        a, b, late = self.late()
        with torch.cuda.stream(side):
            torch.cuda._sleep(SLEEP_CYCLES)
            late.copy_(a)
            matmul(late, b, "fp32", out, stream=None)
        torch.cuda.default_stream().synchronize()
        self.check(a, b, out, "fp32")

    def test_workspaces_in_turns(self):
        sides = [torch.cuda.Stream() for _ in range(4)]
        a, b, found = draw(1000, 1100), draw(1100, 900), []
        torch.cuda.synchronize()
        for turn in range(60):
            with torch.cuda.stream(sides[turn % 4]):
                found.append(matmul(a, b, "fp32"))
            reuse_memory()
        torch.cuda.synchronize()
        self.assertTrue(all(torch.equal(one, found[0]) for one in found), "runs differ")
        self.check(a, b, found[0], "fp32")

    def test_workspaces_of_a_stream_that_is_not_the_current_one(self):
        side = torch.cuda.Stream()
        a, b = draw(1000, 1100), draw(1100, 900)
        outs = [torch.empty(1000, 900, device=DEVICE) for _ in range(40)]
        torch.cuda.synchronize()
        for out in outs:
            matmul(a, b, "fp32", out, stream=side.cuda_stream)
            reuse_memory()
        torch.cuda.synchronize()
        self.assertTrue(all(torch.equal(one, outs[0]) for one in outs), "runs differ")
        self.check(a, b, outs[0], "fp32")

    def test_threads_each_with_a_stream(self):
        a, b, found = draw(500, 600), draw(600, 400), {}
        torch.cuda.synchronize()

        def work(number):
            with torch.cuda.stream(torch.cuda.Stream()):
                found[number] = [matmul(a, b, "fp32" if number % 2 else "fp32-strict") for _ in range(50)]
                torch.cuda.current_stream().synchronize()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(found), 8, "a thread failed")
        for number, results in found.items():
            self.assertTrue(all(torch.equal(one, results[0]) for one in results), "runs differ")
            self.check(a, b, results[0], "fp32" if number % 2 else "fp32-strict")


@needs_gpu
class Graphs(Case):
    def replay(self, graph, a, b, found, precision):
        """Three times, each with a new A."""
        for _ in range(3):
            a.normal_()
            graph.replay()
            torch.cuda.synchronize()
            self.check(a, b, found, precision)

    def test_out(self):
        for precision in PRECISIONS:
            a, b, out = draw(512, 640), draw(640, 384), torch.empty(512, 384, device=DEVICE)
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                matmul(a, b, precision, out)
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                matmul(a, b, precision, out)
                twice = out * 2
            self.replay(graph, a, b, out, precision)
            self.assertTrue(torch.equal(twice, out * 2))

    def test_a_result_that_is_made_in_the_graph(self):
        a, b = draw(512, 640), draw(640, 384)
        matmul(a, b, "fp32")
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            found = matmul(a, b, "fp32")
        self.replay(graph, a, b, found, "fp32")

    def test_a_plan_that_is_made_in_the_graph_is_refused_or_right(self):
        a, b, graph = draw(333, 222), draw(222, 111), torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                found = matmul(a, b, "fp32")
        except Exception as error:
            self.skipTest(f"refused: {error}")
        self.replay(graph, a, b, found, "fp32")


if __name__ == "__main__":
    unittest.main()
