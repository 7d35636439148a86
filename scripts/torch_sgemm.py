"""PyTorch on a GPU with the package `sgemm`, and with libsgemm_cublas.so preloaded: correctness, beside float64.

    python3 torch_sgemm.py package --library libsgemm_capi.so --python FOLDER      the package with CUDA tensors
    python3 torch_sgemm.py ops --cublas libsgemm_cublas.so --output ops.json      PyTorch's own samples of its operators, three ways

`ops` runs in three ways (cuBLAS alone, preloaded in fp32-strict, preloaded in fp32), each operator in a process of its own, so that the
summary of SGEMM_LOG counts its calls. Samples are those of PyTorch's op_db: sample_inputs, reference_inputs, the same not contiguous,
gradients, out=, and error_inputs.
"""

import argparse
import collections
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import types

WAYS = ("cublas", "fp32-strict", "fp32")
OPS = """mm addmm bmm baddbmm addbmm matmul __rmatmul__ mv addmv addr outer dot vdot inner einsum tensordot kron
linalg.multi_dot chain_matmul nn.functional.linear nn.functional.bilinear nn.functional.scaled_dot_product_attention
nn.functional.multi_head_attention_forward linalg.vecdot linalg.matrix_power matrix_exp linalg.lu linalg.lu_factor linalg.lu_factor_ex
linalg.lu_solve lu_solve lu lu_unpack linalg.solve linalg.solve_ex linalg.solve_triangular triangular_solve linalg.inv linalg.inv_ex
inverse linalg.cholesky cholesky cholesky_solve cholesky_inverse linalg.qr geqrf ormqr linalg.householder_product linalg.lstsq linalg.det
linalg.slogdet logdet linalg.pinv linalg.matrix_rank linalg.svdvals linalg.eigvalsh linalg.tensorsolve linalg.tensorinv
svd_lowrank pca_lowrank cov corrcoef cdist""".split()
# Errors that are not compared further: float32 at its best.
SMALL = 2e-5


# ---------------------------------------------------------------------------------------------------------------- the package


def package(args):
    os.environ["SGEMM_LIBRARY"] = os.path.abspath(args.library)
    sys.path.insert(0, os.path.abspath(args.python))
    import numpy
    import torch

    import sgemm
    from sgemm import _library

    device = torch.device(args.device)
    is_gpu = device.type == "cuda"
    handle = sgemm.Handle(0) if is_gpu else sgemm.Handle("h200")
    print(f"torch {torch.__version__}, sgemm {sgemm.__version__}, {handle.device} by {handle.backend}", flush=True)
    results = []

    def stream():
        return torch.cuda.current_stream().cuda_stream if is_gpu else None

    def draw(*shape, dtype=torch.float32):
        return torch.randn(*shape, device=device).to(dtype)

    def mul(a, b, precision=None, out=None, **options):
        options.setdefault("stream", stream())
        return sgemm.matmul(a, b, precision, out, handle=handle, **options)

    # Of (|A||B|): what an operand loses by rounding, twice; a rounding for each addition; and of the result's own type.
    operand = {None: 0.0, "fp32-strict": 0.0, "fp32": 2.0**-22, "tf32": 2.0**-10, "f16": 0.0, "bf16": 0.0}
    result_of = {torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}

    def check(a, b, found, precision=None, alpha=1.0, beta=0.0, old=None):
        exact = alpha * (a.double() @ b.double())
        size = abs(alpha) * (a.double().abs() @ b.double().abs())
        if beta != 0.0:
            exact, size = exact + beta * old.double(), size + abs(beta) * old.double().abs()
        bound = (2 * operand[precision] + (a.shape[-1] + 8) * 2.0**-23) * size + 2 * result_of[found.dtype] * (exact.abs() + 1e-7)
        assert found.shape == exact.shape, f"shape {tuple(found.shape)}, not {tuple(exact.shape)}"
        over = ((found.double() - exact).abs() / bound.clamp_min(1e-300))
        assert torch.isfinite(found).all() and over.max().item() <= 1.0 if over.numel() else True, f"error {over.max().item():.3g} of the bound"

    def raises(kind, text, call):
        try:
            call()
        except kind as error:
            assert re.search(text, str(error)), f"says: {error}"
            return
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error}") from error
        raise AssertionError("raised nothing")

    def test(name):
        def decorate(function):
            began = time.monotonic()
            try:
                said = function()
                outcome = "ok" if said is None else f"ok: {said}"
            except Exception as error:
                at = traceback.extract_tb(error.__traceback__)[-1].lineno
                outcome = f"FAIL: {type(error).__name__}: {error} (line {at})"
            if is_gpu:
                try:
                    torch.cuda.synchronize()
                except Exception as error:
                    outcome += f" FAIL: afterwards {error}"
            results.append((name, outcome))
            print(f"{name:52} {outcome} [{time.monotonic() - began:.1f} s]", flush=True)

        return decorate

    BIG = 1 if is_gpu else 8

    @test("all precisions")
    def _():
        for precision in ("fp32-strict", "fp32", "tf32", None):
            for m, n, k in ((1, 1, 1), (37, 29, 53), (64, 64, 64), (1, 300, 200), (300, 1, 200), (513 // BIG, 257 // BIG, 1025 // BIG)):
                a, b = draw(m, k), draw(k, n)
                check(a, b, mul(a, b, precision), precision)
        for dtype, precision in ((torch.float16, "f16"), (torch.bfloat16, "bf16")):
            for m, n, k in ((1, 1, 1), (37, 29, 53), (513 // BIG, 257 // BIG, 1025 // BIG), (256, 128, 64)):
                a, b = draw(m, k, dtype=dtype), draw(k, n, dtype=dtype)
                for given in (precision, None):
                    found = mul(a, b, given)
                    assert found.dtype == dtype
                    check(a, b, found, precision)
                out = torch.empty(m, n, device=device)
                assert mul(a, b, precision, out) is out
                check(a, b, out, precision)

    @test("large, so that splits, stream-K and workspaces are used")
    def _():
        for precision in ("fp32-strict", "fp32", "tf32"):
            for m, n, k in ((2048 // BIG, 1536 // BIG, 1000 // BIG), (64, 64, 8192 // BIG), (1000 // BIG, 1000 // BIG, 3000 // BIG)):
                a, b = draw(m, k), draw(k, n)
                check(a, b, mul(a, b, precision), precision)

    @test("views, transposed and strided")
    def _():
        wide = draw(140, 150)
        for precision in ("fp32-strict", "fp32", "tf32"):
            for a in (wide[3:90, 5:77], wide.t()[3:90, 5:77], wide[1:88, ::1][:, 9:81], wide[::2][:60, :72], wide.t()[:, ::2][3:90, :60]):
                for b in (wide[2:74, 1:50], wide.t()[7:79, 3:52], wide[2:, 1:50][::2][:72]):
                    b = b if b.shape[0] == a.shape[1] else b[: a.shape[1]]
                    a_fit = a[:, : b.shape[0]]
                    check(a_fit, b, mul(a_fit, b, precision), precision)
        a = wide[:1, :50].expand(30, 50)
        check(a, wide[:50, :20], mul(a.contiguous(), wide[:50, :20]))

    @test("rows and columns that are both strided: an error, or right")
    def _():
        wide = draw(100, 100)
        said = set()
        for a in (wide[::2, ::2], wide[:1, :50].expand(50, 50)):
            try:
                check(a, wide[:50, :], mul(a, wide[:50, :]))
                said.add("computed")
            except (ValueError, sgemm.Error) as error:
                said.add(str(error))
        return "; ".join(sorted(said))

    @test("out=: given, a view, transposed; the rest is left alone")
    def _():
        a, b = draw(37, 50), draw(50, 29)
        for precision in ("fp32-strict", "fp32", "tf32"):
            out = torch.full((60, 70), 7.0, device=device)
            for view in (out[3:40, 11:40], out.t()[3:40, 11:40]):
                out.fill_(7.0)
                assert mul(a, b, precision, view) is view
                check(a, b, view, precision)
                outside = torch.ones_like(out, dtype=torch.bool)
                (outside if view.stride(1) == 1 else outside.t())[3:40, 11:40] = False
                assert (out[outside] == 7.0).all(), "wrote outside of out"

    @test("alpha and beta, and beta of 0 on NaN")
    def _():
        a, b, old = draw(37, 50), draw(50, 29), draw(37, 29)
        for precision in ("fp32-strict", "fp32", "tf32"):
            out = old.clone()
            mul(a, b, precision, out, alpha=-1.5, beta=0.75)
            check(a, b, out, precision, -1.5, 0.75, old)
            out = torch.full_like(old, math.nan)
            mul(a, b, precision, out)
            check(a, b, out, precision)

    @test("batches: stacks, one matrix for all, strides, transposed")
    def _():
        for precision in ("fp32-strict", "fp32", "tf32"):
            a, b = draw(5, 40, 33), draw(5, 33, 21)
            for x, y in ((a, b), (a, b[0]), (a[0], b), (a[:1], b), (a, b[:1]), (a[::2], b[::2]), (a.transpose(1, 2)[:, :20, :33], b),
                         (a[0].expand(5, 40, 33), b), (draw(40, 5, 33).transpose(0, 1), b)):
                x = x[:, : , : y.shape[-2]] if x.dim() == 3 else x
                check(x, y, mul(x, y, precision), precision)
            out = draw(5, 40, 40)
            assert mul(a, b, precision, out[:, :, 3:24]) is not None
            check(a, b, out[:, :, 3:24], precision)

    @test("empty sizes")
    def _():
        for shapes in (((0, 3), (3, 2)), ((4, 0), (0, 2)), ((3, 5), (5, 0)), ((0, 3, 5), (0, 5, 2))):
            a, b = (draw(*shape) for shape in shapes)
            check(a, b, mul(a, b))

    @test("infinities and NaN in the operands, fp32-strict and fp32")
    def _():
        for precision in ("fp32-strict", "fp32"):
            a, b = draw(40, 50), draw(50, 30)
            a[3, 4], a[7, 9], b[5, 6] = math.inf, math.nan, -math.inf
            found, exact = mul(a, b, precision), a @ b
            same = torch.isnan(found) == torch.isnan(exact)
            assert same.all() and (torch.isinf(found) == torch.isinf(exact)).all()

    @test("errors: shapes, types, precisions")
    def _():
        a, b = draw(2, 3), draw(4, 5)
        raises(ValueError, "columns", lambda: mul(a, b))
        raises(ValueError, "precision", lambda: mul(a, draw(3, 3), "fp64"))
        raises(ValueError, "shape", lambda: mul(a, draw(3, 3), out=draw(3, 3)))
        raises(ValueError, "shape", lambda: mul(draw(2, 2, 2, 2), draw(2, 2, 2, 2)))
        raises(ValueError, "shape", lambda: mul(draw(3), draw(3, 3)))
        raises(ValueError, "stacks", lambda: mul(draw(2, 3, 3), draw(4, 3, 3)))
        for dtype in (torch.float64, torch.int32, torch.int8, torch.complex64, torch.bool, torch.float8_e4m3fn):
            x = torch.zeros(3, 3, device=device).to(dtype)
            raises((TypeError, BufferError), "elements|type|dtype", lambda: mul(x, x))
        raises(TypeError, "different types", lambda: mul(draw(3, 3), draw(3, 3, dtype=torch.float16)))
        raises((ValueError, TypeError), ".", lambda: mul(draw(3, 3), draw(3, 3), out=torch.zeros(3, 3, dtype=torch.float64, device=device)))
        raises((ValueError, TypeError), ".", lambda: mul(draw(3, 3), draw(3, 3), out=torch.zeros(3, 3, dtype=torch.float16, device=device)))
        raises(sgemm.InvalidError, "accuracy class", lambda: mul(a, draw(3, 3), "bf16"))
        raises(sgemm.InvalidError, "accuracy class", lambda: mul(draw(3, 3, dtype=torch.float16), draw(3, 3, dtype=torch.float16), "fp32"))
        raises(TypeError, "list", lambda: mul(a, [[1.0]]))
        raises((TypeError, ValueError, BufferError, RuntimeError), ".", lambda: mul(torch.eye(3, device=device).to_sparse(), draw(3, 3)))

    @test("errors: tensors that require gradients")
    def _():
        a = draw(3, 3).requires_grad_()
        said = []
        for call in (lambda: mul(a, draw(3, 3)), lambda: mul(draw(3, 3), draw(3, 3), out=a)):
            try:
                call()
                said.append("computed")
            except Exception as error:
                said.append(f"{type(error).__name__}: {error}")
        return " | ".join(said)

    @test("gradients by an autograd.Function around it")
    def _():
        class Product(torch.autograd.Function):
            @staticmethod
            def forward(context, a, b):
                context.save_for_backward(a, b)
                return mul(a.detach(), b.detach(), "fp32")

            @staticmethod
            def backward(context, grad):
                a, b = context.saved_tensors
                return mul(grad.detach(), b.detach().t(), "fp32"), mul(a.detach().t(), grad.detach(), "fp32")

        a, b, w = draw(60, 70), draw(70, 50), draw(60, 50)
        x, y = a.clone().requires_grad_(), b.clone().requires_grad_()
        (Product.apply(x, y) * w).sum().backward()
        check(w, b.t(), x.grad, "fp32")
        check(a.t(), w, y.grad, "fp32")

    @test("NumPy arrays and tensors of the host, on the same handle")
    def _():
        a, b = numpy.random.rand(40, 50).astype("float32"), numpy.random.rand(50, 30).astype("float32")
        found = mul(a, b, stream=None)
        check(torch.from_numpy(a), torch.from_numpy(b), torch.from_numpy(found))
        x, y = torch.from_numpy(a), torch.from_numpy(b)
        check(x, y, mul(x, y, stream=None))
        found = mul(x.bfloat16(), y.bfloat16(), stream=None)
        check(x.bfloat16(), y.bfloat16(), found, "bf16")

    if is_gpu:
        gpu_only(test, torch, sgemm, numpy, handle, mul, draw, check, raises, device)
    failed = [name for name, outcome in results if "FAIL" in outcome]
    print(f"### package: {len(results) - len(failed)} passed, {len(failed)} failed: {failed}", flush=True)
    return 1 if failed else 0


def gpu_only(test, torch, sgemm, numpy, handle, mul, draw, check, raises, device):
    """What the emulator has not: streams, graphs, devices."""
    sleep_cycles = 60_000_000

    @test("errors: devices")
    def _():
        on_gpu, on_host = draw(3, 3), torch.zeros(3, 3)
        raises(ValueError, "not on the same device", lambda: mul(on_gpu, on_host))
        raises(ValueError, "not on the same device", lambda: mul(on_host, on_gpu))
        raises(ValueError, "not on the same device", lambda: mul(on_gpu, on_gpu, out=on_host))
        raises(ValueError, "not on the same device", lambda: mul(on_gpu, on_gpu, out=numpy.zeros((3, 3), "float32")))
        raises(sgemm.Error, "device", lambda: sgemm.Handle(63))
        with sgemm.Handle("h200") as emulated:
            raises(ValueError, "emulated", lambda: sgemm.matmul(on_gpu, on_gpu, handle=emulated))
        if torch.cuda.device_count() > 1:
            other = torch.zeros(3, 3, device="cuda:1")
            raises(ValueError, "device 1", lambda: sgemm.matmul(other, other, handle=handle))
            with sgemm.Handle(1) as second:
                found = sgemm.matmul(other + 1, other + 1, handle=second)
                torch.cuda.synchronize(1)
                assert (found == 3.0).all()
        closed = sgemm.Handle(0)
        closed.close()
        raises(sgemm.Error, "null|destroyed|handle", lambda: sgemm.matmul(on_gpu, on_gpu, handle=closed))

    @test("streams: operands made on it, results used on it")
    def _():
        for precision in ("fp32-strict", "fp32", "tf32"):
            side = torch.cuda.Stream()
            a0, b0 = draw(700, 800), draw(800, 600)
            a = torch.full_like(a0, math.nan)
            torch.cuda.synchronize()
            with torch.cuda.stream(side):
                torch.cuda._sleep(sleep_cycles)
                a.copy_(a0)
                found = mul(a, b0, precision)
                twice = found * 2
                a.fill_(math.nan)
            side.synchronize()
            check(a0, b0, found, precision)
            assert torch.equal(twice, found * 2)

    @test("streams: operands of PyTorch's stream, product in another")
    def _():
        for precision in ("fp32-strict", "fp32"):
            side = torch.cuda.Stream()
            a0, b0 = draw(700, 800), draw(800, 600)
            a, out = torch.full_like(a0, math.nan), torch.empty(700, 600, device=device)
            torch.cuda.synchronize()
            torch.cuda._sleep(sleep_cycles)
            a.copy_(a0)
            mul(a, b0, precision, out, stream=side.cuda_stream)
            side.synchronize()
            check(a0, b0, out, precision)

    @test("streams: no stream is given, PyTorch's is another")
    def _():
        side = torch.cuda.Stream()
        a0, b0 = draw(700, 800), draw(800, 600)
        a, out = torch.full_like(a0, math.nan), torch.empty(700, 600, device=device)
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            torch.cuda._sleep(sleep_cycles)
            a.copy_(a0)
            sgemm.matmul(a, b0, "fp32", out, handle=handle)
        torch.cuda.default_stream().synchronize()
        check(a0, b0, out, "fp32")

    @test("streams: workspaces while the allocator reuses memory")
    def _():
        sides = [torch.cuda.Stream() for _ in range(4)]
        a, b = draw(1000, 1100), draw(1100, 900)
        torch.cuda.synchronize()
        found = []
        for turn in range(60):
            with torch.cuda.stream(sides[turn % 4]):
                found.append(mul(a, b, "fp32"))
            # Memory that was a workspace, where the allocator gives it again too soon.
            for size in (1 << 20, 4 << 20, 9 << 20):
                torch.full((size // 4,), math.nan, device=device)
        torch.cuda.synchronize()
        assert all(torch.equal(one, found[0]) for one in found), "runs differ"
        check(a, b, found[0], "fp32")

    @test("streams: the workspace of a stream that is not PyTorch's current one")
    def _():
        side = torch.cuda.Stream()
        a, b = draw(1000, 1100), draw(1100, 900)
        outs = [torch.empty(1000, 900, device=device) for _ in range(40)]
        torch.cuda.synchronize()
        for out in outs:
            mul(a, b, "fp32", out, stream=side.cuda_stream)
            for size in (1 << 20, 4 << 20, 9 << 20):
                torch.full((size // 4,), math.nan, device=device)
        torch.cuda.synchronize()
        assert all(torch.equal(one, outs[0]) for one in outs), "runs differ"
        check(a, b, outs[0], "fp32")

    @test("threads, each with a stream")
    def _():
        import threading

        a, b = draw(500, 600), draw(600, 400)
        torch.cuda.synchronize()
        found, errors = {}, []

        def work(number):
            try:
                with torch.cuda.stream(torch.cuda.Stream()):
                    mine = [mul(a, b, "fp32" if number % 2 else "fp32-strict") for _ in range(50)]
                    torch.cuda.current_stream().synchronize()
                    assert all(torch.equal(one, mine[0]) for one in mine)
                    found[number] = mine[0]
            except Exception as error:
                errors.append(f"{type(error).__name__}: {error}")

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert not errors, errors
        for number, result in found.items():
            check(a, b, result, "fp32" if number % 2 else "fp32-strict")

    for precision in ("fp32-strict", "fp32", "tf32"):

        @test(f"a CUDA graph that captures {precision}")
        def _(precision=precision):
            a, b, out = draw(512, 640), draw(640, 384), torch.empty(512, 384, device=device)
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                mul(a, b, precision, out)
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                mul(a, b, precision, out)
                twice = out * 2
            for _ in range(3):
                a.normal_()
                graph.replay()
                torch.cuda.synchronize()
                check(a, b, out, precision)
                assert torch.equal(twice, out * 2)

    @test("a CUDA graph that makes its result")
    def _():
        a, b = draw(512, 640), draw(640, 384)
        mul(a, b, "fp32")
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            found = mul(a, b, "fp32")
        for _ in range(3):
            a.normal_()
            graph.replay()
            torch.cuda.synchronize()
            check(a, b, found, "fp32")

    @test("a capture whose plan is new")
    def _():
        a, b = draw(333, 222), draw(222, 111)
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                found = mul(a, b, "fp32")
        except Exception as error:
            torch.cuda.synchronize()
            return f"{type(error).__name__}: {error}"
        graph.replay()
        torch.cuda.synchronize()
        check(a, b, found, "fp32")

    @test("beside torch.compile's default of PyTorch: results of mm agree")
    def _():
        a, b = draw(700, 800), draw(800, 600)
        assert ((mul(a, b) - a @ b).abs().max() / (a @ b).abs().max()).item() < 1e-5

    @test("CuPy's arrays")
    def _():
        try:
            import cupy
        except ImportError:
            return "CuPy is not installed"
        a, b = cupy.random.rand(50, 60, dtype="float32"), cupy.random.rand(60, 40, dtype="float32")
        found = sgemm.matmul(a, b, handle=handle)
        cupy.cuda.Device().synchronize()
        assert type(found).__module__.startswith("cupy")
        check(torch.as_tensor(a.get()), torch.as_tensor(b.get()), torch.as_tensor(found.get()))


# -------------------------------------------------------------------------------------------------------------- the operators


def ops(args):
    """Starts a process for each way, and compares what they found."""
    folder = tempfile.mkdtemp(prefix="torch_sgemm")
    ways = WAYS if args.device == "cuda" else WAYS[:1] * 1
    children = []
    for way in ways:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SGEMM_") and name != "LD_LIBRARY_PATH"}
        environment |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTORCH_NVML_BASED_CUDA_CHECK": "1", "TF32_TEST": "0"}
        if way != "cublas":
            environment |= {"SGEMM_PRECISION": way, "LD_PRELOAD": os.path.abspath(args.cublas)}
        command = [sys.executable, os.path.abspath(__file__), "zygote", "--way", way, "--folder", folder, "--device", args.device]
        command += ["--processes", str(args.processes), "--seconds", str(args.seconds), "--ops", args.ops]
        log = open(f"{folder}/{way}.txt", "w")
        children.append(subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT))
    for child in children:
        child.wait()
    for way in ways:
        text = open(f"{folder}/{way}.txt").read()
        print(f"### {way}\n{text[-3000:]}")
    found = collections.defaultdict(dict)
    for name in os.listdir(folder):
        if name.endswith(".json"):
            line = json.load(open(f"{folder}/{name}"))
            line |= summary(f"{folder}/{name.removesuffix('.json')}.log")
            found[line["op"]][line["way"]] = line
    report(found, ways, args)
    return 0


def summary(path):
    """What the log of one operator's process says."""
    try:
        text = open(path).read()
    except OSError:
        return {"calls": [0, 0], "log": ""}
    counts = re.search(r"sgemm: (\d+) calls computed in \S+, (\d+) forwarded", text)
    return {"calls": [int(count) for count in counts.groups()] if counts else [0, 0], "log": text}


def report(found, ways, args):
    text = []
    say = text.append
    say(f"{'operator':46} {'samples':>8} {'':>9} " + "".join(f"{way + ': taken':>20}{'to cuBLAS':>10}{'failures':>9}" for way in ways))
    totals = collections.Counter()
    details = []
    for op in sorted(found):
        lines = found[op]
        base = lines.get("cublas", {"cases": {}})
        cells = f"{op:46} {len(base['cases']):>8} {'':>9} "
        for way in ways:
            line = lines.get(way)
            if line is None:
                cells += f"{'no result':>39}"
                totals[way, "no result"] += 1
                details.append(f"{op} {way}: no result")
                continue
            bad = compare(line, base, way)
            calls, forwarded = line.get("calls", [0, 0])
            cells += f"{calls:>20}{forwarded:>10}{len(bad):>9}"
            totals[way, "samples"] += len(line["cases"])
            totals[way, "taken"] += calls
            totals[way, "forwarded"] += forwarded
            totals[way, "failures"] += len(bad)
            details += [f"{op} {way}: {what}" for what in bad[:6]]
        say(cells)
    for way in ways:
        say(f"### {way}: " + ", ".join(f"{value} {name}" for (of, name), value in sorted(totals.items()) if of == way))
    reasons = collections.Counter()
    for lines in found.values():
        for way, line in lines.items():
            for count, function, reason in re.findall(r"sgemm: +(\d+) x (\S+) forwarded: (.*)", line.get("log", "")):
                reasons[way, function, reason] += int(count)
    for (way, function, reason), count in sorted(reasons.items()):
        say(f"forwarded in {way}: {count} x {function}: {reason}")
    say("### failures")
    text += details[:200]
    print("\n".join(text), flush=True)
    if args.output:
        with open(args.output, "w") as file:
            json.dump(found, file)
        with open(args.output + ".txt", "w") as file:
            file.write("\n".join(text) + "\n")


def compare(line, base, way):
    """What failed: beside float64 for cuBLAS alone, and where that did well, for the others."""
    bad = [f"{name}: {what}" for name, what in line["wrong"].items() if way == "cublas" or base["wrong"].get(name) != what]
    for name, found in line["cases"].items():
        plain = base["cases"].get(name)
        if plain is None:
            bad.append(f"{name}: not a sample of cuBLAS alone")
        elif isinstance(found, str) or isinstance(plain, str):
            if found != plain:
                bad.append(f"{name}: {found}, and {plain} with cuBLAS")
        elif way == "cublas":
            if not found <= 1e-3:
                bad.append(f"{name}: error {found:.3g}")
        elif not (found <= SMALL or found <= 20 * plain):
            bad.append(f"{name}: error {found:.3g}, {plain:.3g} with cuBLAS")
    bad += [f"{name}: no sample here" for name in base["cases"] if name not in line["cases"]]
    return bad


def zygote(args):
    """Imports PyTorch and its samples once, without touching the GPU, and forks a process for each operator."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if args.op:
        return one(args)
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    torch, table = load()
    if visible is None:
        del os.environ["CUDA_VISIBLE_DEVICES"]
    else:
        os.environ["CUDA_VISIBLE_DEVICES"] = visible
    names = args.ops.split(",") if args.ops else OPS + list(LARGE) + ["tf32-allowed"]
    absent = [name for name in names if name not in table and name not in LARGE and name != "tf32-allowed"]
    print(f"torch {torch.__version__}; not in op_db: {' '.join(absent)}", flush=True)
    pending = [name for name in names if name not in absent]
    running, end = {}, time.monotonic() + args.seconds
    while pending or running:
        while pending and len(running) < args.processes and time.monotonic() < end:
            name = pending.pop(0)
            pid = os.fork()
            if pid == 0:
                child(args, name)
            running[pid] = name
        if not running:
            print(f"no time for: {' '.join(pending)}", flush=True)
            break
        pid, status = os.wait()
        name = running.pop(pid, "?")
        if status != 0:
            print(f"{name}: status {status}", flush=True)
    return 0


def child(args, name):
    """In the forked process: one operator, and the end by C's exit, which writes the summary."""
    import ctypes

    code = 1
    try:
        os.environ["SGEMM_LOG"] = f"{args.folder}/{args.way}.{name}.log"
        import torch

        if args.device == "cuda":
            try:
                torch.cuda.init()
                torch.zeros(1, device="cuda")
            except Exception as error:
                # The driver was used before the fork: as a program of its own.
                print(f"{name}: {error}: started anew", flush=True)
                command = [sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--op", name]
                os.execv(sys.executable, command)
        args.op = name
        code = one(args)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # The log is read by the parent: this process first writes it.
        ctypes.CDLL(None).exit(code)


def load():
    try:
        import expecttest  # noqa: F401
    except ImportError:
        import unittest

        stub = types.ModuleType("expecttest")
        stub.TestCase, stub.assert_expected_inline = unittest.TestCase, None
        sys.modules["expecttest"] = stub
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    table = {}
    for op in op_db:
        name = op.name if not op.variant_test_name else f"{op.name}.{op.variant_test_name}"
        table.setdefault(name, op)
        if op.name in OPS and name not in OPS:
            OPS.append(name)
    return torch, table


def one(args):
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError("the time of an operator is over")))
    signal.alarm(70)
    torch, table = load()
    torch.backends.cuda.matmul.allow_tf32 = False
    result = {"op": args.op, "way": args.way, "cases": {}, "wrong": {}}
    try:
        if args.op in LARGE:
            large(torch, args, LARGE[args.op], result)
        elif args.op == "tf32-allowed":
            torch.backends.cuda.matmul.allow_tf32 = True
            a, b = torch.randn(256, 256, device=args.device), torch.randn(256, 256, device=args.device)
            result["cases"]["mm"] = "computed" if (a @ b).isfinite().all() else "wrong"
        else:
            samples(torch, table[args.op], args, result)
    except BaseException as error:
        result["wrong"]["stopped"] = f"{type(error).__name__}: {error}"[:200]
    signal.alarm(0)
    with open(f"{args.folder}/{args.way}.{args.op}.json", "w") as file:
        json.dump(result, file)
    return 0


def normwise(torch, found, exact):
    """The largest difference, relative to the largest element; infinite where what is not finite is elsewhere."""
    from torch.utils import _pytree

    worst = 0.0
    found, exact = _pytree.tree_leaves(found), _pytree.tree_leaves(exact)
    if len(found) != len(exact):
        return math.inf
    for one, other in zip(found, exact):
        if not isinstance(one, torch.Tensor):
            continue
        one, other = one.detach().cpu(), other.detach().cpu()
        if one.shape != other.shape:
            return math.inf
        if not (one.is_floating_point() or one.is_complex()):
            worst = max(worst, 0.0 if torch.equal(one, other.to(one.dtype)) else 1.0)
            continue
        one, other = (x.to(torch.complex128 if x.is_complex() else torch.float64) for x in (one, other))
        finite = torch.isfinite(other)
        if not torch.equal(torch.isfinite(one), finite):
            return math.inf
        if finite.any():
            size = other[finite].abs().max().item()
            worst = max(worst, (one[finite] - other[finite]).abs().max().item() / (size or 1.0))
    return worst


def as_double(torch, value):
    from torch.utils import _pytree

    def convert(leaf):
        if isinstance(leaf, torch.Tensor):
            kind = torch.complex128 if leaf.is_complex() else torch.float64 if leaf.is_floating_point() else leaf.dtype
            return leaf.detach().cpu().to(kind).requires_grad_(leaf.requires_grad)
        return leaf

    return _pytree.tree_map(convert, value)


def outcome(call):
    """A result, or the name of what was raised."""
    try:
        return call(), None
    except TimeoutError:
        raise
    except Exception as error:
        return None, f"{type(error).__name__}: {str(error).splitlines()[0][:80] if str(error) else ''}"


def samples(torch, op, args, result):
    device, dtype = args.device, torch.float32
    cases = result["cases"]

    def run(label, sample, function=op.op, **more):
        """One sample on the device, beside float64 on the CPU."""
        arguments = (sample.input, *sample.args)
        exact, failed = outcome(lambda: op.op(*as_double(torch, arguments), **as_double(torch, sample.kwargs)))
        found, raised = outcome(lambda: function(*arguments, **sample.kwargs, **more))
        if raised:
            cases[label] = raised
        elif failed is None:
            exact, found = sample.output_process_fn_grad(exact), sample.output_process_fn_grad(found)
            cases[label] = normwise(torch, found, exact)
        return found

    torch.manual_seed(1234)
    kinds = [("sample", list(op.sample_inputs(device, dtype)))]
    if getattr(op, "reference_inputs_func", None) is not None:
        torch.manual_seed(4321)
        kinds.append(("reference", list(op.reference_inputs(device, dtype))[:400]))
    for kind, drawn in kinds:
        for index, sample in enumerate(drawn):
            found = run(f"{kind} {index}", sample)
            if kind == "sample":
                torch.manual_seed(99)
                strided, failed = outcome(sample.noncontiguous)
                if failed is None:
                    run(f"not contiguous {index}", strided)
                if getattr(op, "supports_out", False) and isinstance(found, torch.Tensor):
                    run(f"out= {index}", sample, out=torch.full_like(found, 7.0 if found.is_floating_point() else 7))
            if getattr(op, "inplace_variant", None) and kind == "sample" and isinstance(found, torch.Tensor):
                if isinstance(sample.input, torch.Tensor) and sample.input.shape == found.shape:
                    run(f"in place {index}", sample, lambda x, *rest, **options: op.inplace_variant(x.clone(), *rest, **options))
    if op.supports_autograd:
        torch.manual_seed(1234)
        for index, sample in enumerate(op.sample_inputs(device, dtype, requires_grad=True)):
            gradients(torch, op, sample, f"gradient {index}", cases)
    if getattr(op, "error_inputs_func", None) is not None:
        torch.manual_seed(1234)
        for index, wrong in enumerate(op.error_inputs(device)):
            sample, label = wrong.sample_input, f"error {index}"
            try:
                op.op(sample.input, *sample.args, **sample.kwargs)
                result["wrong"][label] = "raised nothing"
            except wrong.error_type as error:
                if not re.search(wrong.error_regex, str(error)):
                    result["wrong"][label] = f"says {str(error).splitlines()[0][:100]}"
                cases[label] = f"{type(error).__name__}"
            except Exception as error:
                result["wrong"][label] = f"{type(error).__name__}: {str(error).splitlines()[0][:100]}"


def gradients(torch, op, sample, label, cases):
    """Of a sum of the outputs with random weights, by each input that requires them."""
    from torch.utils import _pytree

    def by_inputs(arguments, options):
        leaves = [x for x in _pytree.tree_leaves((arguments, options)) if isinstance(x, torch.Tensor) and x.requires_grad]
        outputs = sample.output_process_fn_grad(op.gradcheck_wrapper(op.op, *arguments, **options))
        outputs = [x for x in _pytree.tree_leaves(outputs) if isinstance(x, torch.Tensor) and x.requires_grad]
        if not outputs or not leaves:
            return []
        total = 0
        for number, output in enumerate(outputs):
            weights = torch.randn(output.shape, generator=torch.Generator().manual_seed(number), dtype=torch.float64)
            total = total + (output * weights.to(output.device, output.dtype)).real.sum()
        found = torch.autograd.grad(total, leaves, allow_unused=True)
        return [x for x in found if x is not None]

    arguments = (sample.input, *sample.args)
    exact, failed = outcome(lambda: by_inputs(as_double(torch, arguments), as_double(torch, sample.kwargs)))
    found, raised = outcome(lambda: by_inputs(arguments, sample.kwargs))
    if raised:
        cases[label] = raised
    elif failed is None and exact:
        cases[label] = normwise(torch, found, exact)


# Products larger than those of op_db: m, n, k and the batch, in each order of operands.
LARGE = {
    "large.mm": [(1, m, n, k) for m, n, k in ((513, 257, 1025), (1000, 1000, 1000), (64, 64, 8192), (2048, 1536, 512), (1, 4096, 2000), (3000, 1, 700), (128, 4096, 65))],
    "large.bmm": [(b, m, n, k) for b, m, n, k in ((16, 128, 128, 64), (100, 33, 65, 17), (7, 300, 200, 100), (2, 1024, 512, 512))],
    "large.addmm": [(1, m, n, k) for m, n, k in ((600, 700, 800), (1024, 1024, 2048), (77, 1001, 333))],
    "large.linear": [(1, m, n, k) for m, n, k in ((600, 700, 800), (4096, 1024, 256), (31, 2000, 500))],
    "large.baddbmm": [(b, m, n, k) for b, m, n, k in ((8, 200, 100, 300), (3, 1000, 64, 500))],
    "large.attention": [(b, m, m, 64) for b, m in ((12, 256), (5, 321))],
    "large.lu_factor": [(1, m, m, m) for m in (500, 1500)],
    "large.transformer": [(4, 64, 128, 128)],
}


def large(torch, args, shapes, result):
    """Against float64 on the device."""
    device, cases, op = args.device, result["cases"], args.op.split(".")[1]
    torch.manual_seed(77)

    def draw(*shape):
        return torch.randn(*shape, device=device)

    def orders(*shape):
        """The same matrix by rows, by columns, and as a view that is aligned to an element."""
        x = draw(*shape)
        wide = draw(*shape[:-2], shape[-2] + 3, shape[-1] + 3)
        wide[..., 1 : shape[-2] + 1, 1 : shape[-1] + 1] = x
        return (("rows", x), ("columns", x.transpose(-1, -2).contiguous().transpose(-1, -2)), ("view", wide[..., 1 : shape[-2] + 1, 1 : shape[-1] + 1]))

    for batch, m, n, k in shapes:
        stack = (batch,) if op in ("bmm", "baddbmm", "attention") else ()
        label = f"{batch} x {m} x {n} x {k}"
        if op == "lu_factor":
            a = draw(m, m)
            p, l, u = torch.linalg.lu(a)
            cases[label] = normwise(torch, p.double() @ l.double() @ u.double(), a.double())
            solved = torch.linalg.solve(a + 10 * math.sqrt(m) * torch.eye(m, device=device), a)
            cases[f"solve {label}"] = normwise(torch, (a + 10 * math.sqrt(m) * torch.eye(m, device=device)).double() @ solved.double(), a.double())
            continue
        if op == "transformer":
            layer = torch.nn.TransformerEncoderLayer(n, 4, 2 * n, dropout=0.0, batch_first=True).to(device)
            x = draw(batch, m, n).requires_grad_()
            exact_layer = torch.nn.TransformerEncoderLayer(n, 4, 2 * n, dropout=0.0, batch_first=True).double().to(device)
            exact_layer.load_state_dict({name: value.double() for name, value in layer.state_dict().items()})
            y = x.detach().double().requires_grad_()
            found, exact = layer(x), exact_layer(y)
            cases[label] = normwise(torch, found, exact)
            weights = draw(*found.shape)
            (found * weights).sum().backward()
            (exact * weights.double()).sum().backward()
            cases[f"gradient {label}"] = max(normwise(torch, one.grad, other.grad) for one, other in zip([x, *layer.parameters()], [y, *exact_layer.parameters()]))
            continue
        for name_a, a in orders(*stack, m, k):
            for name_b, b in orders(*stack, k, n):
                c, bias = draw(*stack, m, n), draw(n)
                calls = {
                    "mm": lambda a, b, c, bias: torch.mm(a, b),
                    "bmm": lambda a, b, c, bias: torch.bmm(a, b),
                    "addmm": lambda a, b, c, bias: torch.addmm(c, a, b, alpha=-0.5, beta=2.0) + torch.addmm(bias, a, b),
                    "baddbmm": lambda a, b, c, bias: torch.baddbmm(c, a, b, alpha=1.5, beta=-1.0),
                    "linear": lambda a, b, c, bias: torch.nn.functional.linear(a, b.transpose(-1, -2), bias),
                    "attention": lambda a, b, c, bias: torch.softmax(torch.bmm(a, b) / 8, -1) @ a,
                }
                a1, b1 = a.detach().requires_grad_(), b.detach().requires_grad_()
                a2, b2 = a.detach().double().requires_grad_(), b.detach().double().requires_grad_()
                found, exact = calls[op](a1, b1, c, bias), calls[op](a2, b2, c.double(), bias.double())
                cases[f"{label} {name_a} {name_b}"] = normwise(torch, found, exact)
                weights = draw(*found.shape)
                one = torch.autograd.grad((found * weights).sum(), (a1, b1))
                other = torch.autograd.grad((exact * weights.double()).sum(), (a2, b2))
                cases[f"gradient {label} {name_a} {name_b}"] = normwise(torch, one, other)
                if op == "linear":
                    # cublasLt's epilogue of bias and ReLU.
                    found = torch._addmm_activation(bias, a, b, use_gelu=False)
                    cases[f"ReLU {label} {name_a} {name_b}"] = normwise(torch, found, torch.relu(torch.addmm(bias.double(), a.double(), b.double())))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("package", "ops", "zygote"))
    parser.add_argument("--library", default="libsgemm_capi.so")
    parser.add_argument("--python", default="python")
    parser.add_argument("--cublas", default="libsgemm_cublas.so")
    parser.add_argument("--output")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=200.0)
    parser.add_argument("--ops", default="")
    parser.add_argument("--way")
    parser.add_argument("--folder")
    parser.add_argument("--op", default="")
    args = parser.parse_args()
    return {"package": package, "ops": ops, "zygote": zygote}[args.what](args)


if __name__ == "__main__":
    sys.exit(main())
