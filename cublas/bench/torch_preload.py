"""What an unmodified PyTorch gains by libsgemm_cublas.so: times, errors and losses with and without it.

    python3 torch_preload.py --library libsgemm_cublas.so [--output results.jsonl] [--seeds 5] [--steps 300]

It runs itself once for each way (cuBLAS alone, preloaded in fp32-strict, preloaded in fp32), and writes a line of JSON for each figure.
PyTorch itself computes in its default, without TF32. CuPy and NumPy are used where they are installed.
"""

import argparse
import ctypes
import json
import os
import subprocess
import sys
import time

WAYS = ("cublas", "fp32-strict", "fp32")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True, help="libsgemm_cublas.so")
    parser.add_argument("--output", help="where the lines of JSON go (default: standard output)")
    parser.add_argument("--seeds", type=int, default=5, help="data seeds of the training")
    parser.add_argument("--steps", type=int, default=300, help="steps of each training")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.way:
        return measure(args)
    lines = []
    for way in WAYS:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SGEMM_")}
        if way != "cublas":
            environment |= {"SGEMM_PRECISION": way, "SGEMM_LOG": f"{args.output or 'torch_preload'}.{way}.log"}
            environment["LD_PRELOAD"] = os.path.abspath(args.library)
        command = [sys.executable, os.path.abspath(__file__), "--way", way, "--library", args.library]
        command += ["--seeds", str(args.seeds), "--steps", str(args.steps)]
        ran = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
        found = [line for line in ran.stdout.splitlines() if line.startswith("{")]
        found.append(json.dumps({"way": way, "what": "exit code", "value": ran.returncode}))
        lines += found
        print("\n".join(found), flush=True)
        if args.output:
            with open(args.output, "w", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")


def measure(args):
    import torch

    def say(what, **figures):
        print(json.dumps({"way": args.way, "what": what, **figures}), flush=True)

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    device = torch.device("cuda")
    say("machine", torch=torch.__version__, cuda=torch.version.cuda, device=torch.cuda.get_device_name())
    for part in (products, overhead, factorisation, cupy_product, training):
        began = time.monotonic()
        try:
            part(torch, device, say, args)
        except Exception as error:  # one part that fails is a figure, too
            say(part.__name__, error=f"{type(error).__name__}: {error}"[:300])
        say("took", part=part.__name__, seconds=round(time.monotonic() - began, 1))


def timed(torch, call, least_ms=60.0):
    """The median time of a call on the device, in milliseconds."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    times = []
    while sum(times) < least_ms or len(times) < 7:
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
        if len(times) >= 200:
            break
    return sorted(times)[len(times) // 2]


def draw(torch, device, *shape, seed=1):
    generator = torch.Generator(device=device).manual_seed(seed)
    return torch.randn(*shape, generator=generator, device=device)


def products(torch, device, say, _args):
    """Single operations, with the largest error relative to (|A||B|) of 64 rows."""

    def report(what, shape, flops, call, exact=None):
        ms = timed(torch, call)
        figures = {"shape": shape, "ms": round(ms, 4), "tflops": round(flops / ms / 1e9, 1)}
        if exact is not None:
            figures["error"] = exact()
        say(what, **figures)

    def error(a, b, found):
        """Of the first 64 rows."""
        a64, b64 = a[:64].double(), b.double()
        return ((found[:64].double() - a64 @ b64).abs() / (a64.abs() @ b64.abs())).max().item()

    for n in (512, 1024, 2048, 4096, 8192):
        a, b = draw(torch, device, n, n), draw(torch, device, n, n, seed=2)
        out = torch.empty(n, n, device=device)
        report("torch.mm", [n, n, n], 2 * n**3, lambda: torch.mm(a, b, out=out), lambda: error(a, b, torch.mm(a, b)))
    # A view that begins at an odd element, in odd rows.
    n = 2048
    wide = draw(torch, device, n + 3, n + 3)
    a, b = wide[1 : n + 1, 1 : n + 1], draw(torch, device, n, n, seed=2)
    report("torch.mm of a view", [n, n, n], 2 * n**3, lambda: a @ b, lambda: error(a, b, a @ b))
    report("torch.mm transposed", [n, n, n], 2 * n**3, lambda: a.t() @ b, lambda: error(a.t(), b, a.t() @ b))
    for batch, m, n, k in ((16, 1024, 1024, 1024), (96, 512, 512, 64), (512, 128, 128, 128)):
        a, b = draw(torch, device, batch, m, k), draw(torch, device, batch, k, n, seed=2)
        flops = 2 * batch * m * n * k
        report("torch.bmm", [batch, m, n, k], flops, lambda: torch.bmm(a, b), lambda: error(a[-1], b[-1], torch.bmm(a, b)[-1]))
    for m, n, k in ((4096, 4096, 1024), (8192, 1024, 4096)):
        x, weight, bias = draw(torch, device, m, k), draw(torch, device, n, k, seed=2), torch.zeros(n, device=device)
        call = lambda: torch.addmm(bias, x, weight.t())
        report("torch.addmm", [m, n, k], 2 * m * n * k, call, lambda: error(x, weight.t(), call()))
        layer = torch.nn.Linear(k, n).to(device)
        report("nn.Linear forward", [m, n, k], 2 * m * n * k, lambda: layer(x))
        x.requires_grad_(True)
        grad = torch.ones(m, n, device=device)

        def backward():
            layer.zero_grad(set_to_none=True)
            x.grad = None
            layer(x).backward(grad)

        report("nn.Linear forward and backward", [m, n, k], 6 * m * n * k, backward)


def overhead(torch, device, say, _args):
    """What a call costs the host: of small problems in a loop, and of one that is forwarded, without PyTorch around it."""
    for n in (16, 128, 512):
        a, b = draw(torch, device, n, n), draw(torch, device, n, n, seed=2)
        out = torch.empty(n, n, device=device)
        for _ in range(100):
            torch.mm(a, b, out=out)
        torch.cuda.synchronize()
        best = float("inf")
        for _ in range(5):
            began = time.perf_counter()
            for _ in range(500):
                torch.mm(a, b, out=out)
            best = min(best, (time.perf_counter() - began) / 500)
            torch.cuda.synchronize()
        say("torch.mm in a loop", shape=[n, n, n], host_us=round(best * 1e6, 2))
    # By ctypes, as the loader binds the names: a call that computes nothing (m = 0), which is forwarded, and one of 64 x 64 x 64.
    functions = ctypes.CDLL(None)
    if not hasattr(functions, "cublasSgemm_v2"):
        functions = ctypes.CDLL(next(name for name in ("libcublas.so.13", "libcublas.so.12") if is_loaded(name)))
    handle = ctypes.c_void_p(torch.cuda.current_blas_handle())
    a = draw(torch, device, 64, 64)
    one, zero = ctypes.c_float(1.0), ctypes.c_float(0.0)
    pointer = ctypes.c_void_p(a.data_ptr())
    out = torch.empty(64, 64, device=device)
    result = ctypes.c_void_p(out.data_ptr())
    for what, m in (("forwarded call", 0), ("call of 64 x 64 x 64", 64)):
        arguments = (handle, 0, 0, m, 64, 64, ctypes.byref(one), pointer, 64, pointer, 64, ctypes.byref(zero), result, 64)
        for _ in range(50):
            functions.cublasSgemm_v2(*arguments)
        torch.cuda.synchronize()
        best = float("inf")
        for _ in range(10):
            began = time.perf_counter()
            for _ in range(400):
                functions.cublasSgemm_v2(*arguments)
            best = min(best, (time.perf_counter() - began) / 400)
            torch.cuda.synchronize()
        say(what, host_us=round(best * 1e6, 3), status=functions.cublasSgemm_v2(*arguments))


def is_loaded(name):
    try:
        ctypes.CDLL(name, mode=ctypes.RTLD_LOCAL | os.RTLD_NOLOAD)
    except OSError:
        return False
    return True


def factorisation(torch, device, say, _args):
    n = 4096
    a = draw(torch, device, n, n) + n * torch.eye(n, device=device)
    ms = timed(torch, lambda: torch.linalg.lu_factor(a))
    lu, pivots = torch.linalg.lu_factor(a)
    p, l, u = torch.lu_unpack(lu, pivots)
    residual = ((p @ l @ u - a).norm() / a.norm()).item()
    say("torch.linalg.lu_factor", shape=[n, n], ms=round(ms, 3), residual=residual)


def cupy_product(torch, _device, say, _args):
    try:
        import cupy
    except ImportError:
        return say("cupy", error="not installed")
    n = 4096
    a, b = cupy.random.rand(n, n, dtype="float32"), cupy.random.rand(n, n, dtype="float32")
    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    times = []
    for _ in range(12):
        start.record()
        a @ b
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(start, end))
    ms = sorted(times)[6]
    say("cupy a @ b", shape=[n, n, n], ms=round(ms, 4), tflops=round(2 * n**3 / ms / 1e9, 1))


def training(torch, device, say, args):
    """A small transformer that learns a made-up language: the same model, other data for each seed."""
    vocabulary, length, width, heads, layers, batch = 512, 128, 1024, 16, 4, 32

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Embedding(vocabulary, width)
            self.position = torch.nn.Parameter(torch.zeros(length, width))
            layer = torch.nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
            self.layers = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
            self.head = torch.nn.Linear(width, vocabulary)
            self.register_buffer("mask", torch.nn.Transformer.generate_square_subsequent_mask(length))

        def forward(self, tokens):
            x = self.embedding(tokens) + self.position
            return self.head(self.layers(x, mask=self.mask, is_causal=True))

    finals, step_ms, host_ms = [], [], []
    for seed in range(args.seeds):
        torch.manual_seed(1234)
        model = Model().to(device)
        optimiser = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
        # Each token follows from the one before it, or is drawn: a chain whose table is the seed's.
        generator = torch.Generator(device=device).manual_seed(100 + seed)
        following = torch.randint(0, vocabulary, (vocabulary, 4), generator=generator, device=device)
        losses = []
        for step in range(args.steps):
            tokens = torch.empty(batch, length + 1, dtype=torch.long, device=device)
            tokens[:, 0] = torch.randint(0, vocabulary, (batch,), generator=generator, device=device)
            choices = torch.randint(0, 4, (batch, length), generator=generator, device=device)
            for position in range(length):
                tokens[:, position + 1] = following[tokens[:, position], choices[:, position]]
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            torch.cuda.synchronize()
            began = time.perf_counter()
            start.record()
            logits = model(tokens[:, :-1])
            loss = torch.nn.functional.cross_entropy(logits.reshape(-1, vocabulary), tokens[:, 1:].reshape(-1))
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
            end.record()
            host_ms.append((time.perf_counter() - began) * 1e3)
            losses.append((loss.detach(), start, end))
        torch.cuda.synchronize()
        values = [value.item() for value, _, _ in losses]
        times = sorted(start.elapsed_time(end) for _, start, end in losses[10:])
        finals.append(sum(values[-20:]) / len(values[-20:]))
        step_ms.append(times[len(times) // 2])
        shown = [round(value, 5) for value in values[:: max(1, args.steps // 10)]]
        say("training", seed=seed, steps=args.steps, final=finals[-1], losses=shown, step_ms=round(step_ms[-1], 3))
    parameters = sum(parameter.numel() for parameter in model.parameters())
    mean = sum(finals) / len(finals)
    spread = (sum((final - mean) ** 2 for final in finals) / max(1, len(finals) - 1)) ** 0.5 / len(finals) ** 0.5
    say("training of all seeds", parameters=parameters, batch=batch, length=length, mean=mean, standard_error=spread,
        step_ms=round(sorted(step_ms)[len(step_ms) // 2], 3), host_ms=round(sorted(host_ms)[len(host_ms) // 2], 3))


if __name__ == "__main__":
    main()
