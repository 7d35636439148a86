"""SGEMM on matrices in the host's memory: by libsgemm_blas.so, by cuBLAS-XT, and by the host's own BLAS.

    python3 host_pointer.py --library libsgemm_blas.so [--output results.jsonl] [--sizes 4096,16384,32768]
                            [--precision fp32-strict] [--cublas-library libsgemm_cublas.so] [--quick]

It runs itself once for each configuration, since the environment is read once, and writes a line of JSON for each figure. It needs PyTorch,
for memory and for references, and a GPU. `kind` of a line is one of
- `large`: square products from page-locked and pageable memory, by `way`: `sgemm`, or `cublas-xt` where libcublas is found;
- `capped`: the same by `sgemm` with a quarter of the matrices' bytes of device memory (SGEMM_MEMORY_MIB);
- `device`: torch.mm on matrices that are on the device, by cuBLAS and, with --cublas-library, by libsgemm_cublas.so;
- `small`: times by the GPU, first call and median, and by the host's BLAS (of NumPy's OpenBLAS, the system's, MKL and torch.mm the first
  that is there), for the threshold of libsgemm_blas.so;
- `exit code`: that of a configuration, and what it said where that matters.
Errors are the largest of some rows against float64, as a share of |A||B|.
"""

import argparse
import ctypes
import glob
import json
import os
import subprocess
import sys
import time

SMALL = [(n, n, n) for n in (128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)]
# An outer product's shape, a tall one, a wide one, and a dot product's.
SMALL += [(4096, 4096, 16), (2048, 2048, 128), (65536, 64, 64), (64, 65536, 256), (64, 64, 262144)]
QUICK = [(n, n, n) for n in (128, 256, 512, 1024, 2048, 4096)] + [(4096, 4096, 16), (65536, 64, 64), (64, 64, 262144)]
ROWS = 16


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True, help="libsgemm_blas.so")
    parser.add_argument("--cublas-library", help="libsgemm_cublas.so, for torch.mm on the device")
    parser.add_argument("--sizes", default="4096,16384,32768", help="n of square products, of 12 n^2 bytes each")
    parser.add_argument("--precision", default="fp32-strict", choices=("fp32-strict", "fp32"))
    parser.add_argument("--output", help="where the lines of JSON go (default: standard output only)")
    parser.add_argument("--quick", action="store_true", help="fewer runs and fewer small sizes: at most 150 s on an H200")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.sizes = [int(n) for n in args.sizes.split(",")]
    if args.task:
        kind, *rest = args.task.split(":")
        return TASKS[kind](args, *rest)
    began, lines = time.monotonic(), []
    for task, environment in tasks(args):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("SGEMM_")}
        command = [sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--task", task]
        ran = subprocess.run(command, env=clean | environment, capture_output=True, text=True)
        found = [line for line in ran.stdout.splitlines() if line.startswith("{")]
        end = {"kind": "exit code", "task": task, "value": ran.returncode, "seconds_so_far": round(time.monotonic() - began, 1)}
        # That a call went to the next BLAS, or why it failed.
        if ran.returncode or "sgemm:" in ran.stderr:
            end["said"] = ran.stderr[-600:]
        found.append(json.dumps(end))
        lines += found
        print("\n".join(found), flush=True)
        if args.output:
            with open(args.output, "w", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")


def tasks(args):
    """The configurations: what is run, and with which variables."""
    sgemm = {"SGEMM_BACKEND": "cuda", "SGEMM_PRECISION": args.precision}
    yield "small:host", {}
    yield "small:sgemm", sgemm
    for n in args.sizes:
        mib = 3 * n * n * 4 / 4 / 2**20
        yield f"large:sgemm:{n}", sgemm
        yield f"large:cublas-xt:{n}", {}
        # The largest is what the cap is for; with --quick the others are left out.
        if not args.quick or n == max(args.sizes):
            yield f"capped:sgemm:{n}", sgemm | {"SGEMM_MEMORY_MIB": str(mib)}
    yield "device:cublas", {}
    if args.cublas_library:
        library = os.path.abspath(args.cublas_library)
        yield "device:sgemm", {"LD_PRELOAD": library, "SGEMM_PRECISION": args.precision}


def say(**figures):
    print(json.dumps(figures), flush=True)


def draw(torch, rows, columns, seed, is_pinned):
    """Numbers of a normal distribution: from a block of them, since drawing all takes longer than to multiply."""
    out = torch.empty(rows, columns, pin_memory=is_pinned)
    block = torch.randn(min(rows, 1024) + 7, columns, generator=torch.Generator().manual_seed(seed))
    for first in range(0, rows, len(block)):
        part = out[first : first + len(block)]
        # Rows that differ from block to block.
        torch.mul(block[: len(part)], 1.0 + first / (8.0 * rows), out=part)
    return out


def error(torch, a, b, c, count=ROWS):
    """Of some rows from all over C, a block of columns after the other, so that float64 takes little memory; large ones on the device."""
    m, n = c.shape
    device = "cuda" if b.numel() > 1 << 26 else "cpu"
    rows = torch.linspace(0, m - 1, min(count, m)).long()
    a64, worst = a[rows].to(device).double(), 0.0
    for first in range(0, n, 4096):
        b64 = b[:, first : first + 4096].to(device).double()
        difference = (c[rows, first : first + 4096].to(device).double() - a64 @ b64).abs()
        bound = (a64.abs() @ b64.abs()).clamp_min(1e-300)
        worst = max(worst, (difference / bound).nan_to_num(nan=float("inf")).max().item())
    return worst


def cblas(library):
    """cblas_sgemm of a library, on row-major tensors."""
    function = ctypes.CDLL(library)
    name = next((name for name in ("cblas_sgemm", "scipy_cblas_sgemm64_", "cblas_sgemm64_") if hasattr(function, name)), None)
    if name is None:
        return None
    function = getattr(function, name)
    integer = ctypes.c_int64 if "64" in name else ctypes.c_int
    pointer, number, word = ctypes.c_void_p, ctypes.c_float, ctypes.c_int
    function.argtypes = [word] * 3 + [integer] * 3 + [number, pointer, integer, pointer, integer, number, pointer, integer]
    function.restype = None

    def call(a, b, c):
        (m, k), n = a.shape, b.shape[1]
        function(101, 111, 111, m, n, k, 1.0, a.data_ptr(), k, b.data_ptr(), n, 0.0, c.data_ptr(), n)

    return call


class Xt:
    """cuBLAS-XT on the first GPU."""

    def __init__(self, torch):
        torch.cuda.init()
        torch.mm(torch.ones(8, 8, device="cuda"), torch.ones(8, 8, device="cuda"))  # has torch load its libcublas
        torch.cuda.synchronize()
        self.library = load_cublas(torch)
        self.handle = ctypes.c_void_p()
        self.check(self.library.cublasXtCreate(ctypes.byref(self.handle)))
        devices = (ctypes.c_int * 1)(0)
        self.check(self.library.cublasXtDeviceSelect(self.handle, 1, devices))

    def set_block(self, block):
        self.check(self.library.cublasXtSetBlockDim(self.handle, block))

    @staticmethod
    def check(status):
        if status:
            raise RuntimeError(f"cublasXt: status {status}")

    def __call__(self, a, b, c):
        (m, k), n = a.shape, b.shape[1]
        one, zero, size, pointer = ctypes.c_float(1.0), ctypes.c_float(0.0), ctypes.c_size_t, ctypes.c_void_p
        # By columns, matrices by rows are their transposes.
        self.check(
            self.library.cublasXtSgemm(
                self.handle, 0, 0, size(n), size(m), size(k), ctypes.byref(one), pointer(b.data_ptr()), size(n),
                pointer(a.data_ptr()), size(k), ctypes.byref(zero), pointer(c.data_ptr()), size(n),
            )
        )  # fmt: skip


def load_cublas(torch):
    names = ["libcublas.so.13", "libcublas.so.12"]
    site = os.path.dirname(os.path.dirname(torch.__file__))
    for folder in ("nvidia/*/lib", "torch/lib"):
        names += glob.glob(os.path.join(site, folder, "libcublas.so.*"))
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise RuntimeError("libcublas is not found: set LD_LIBRARY_PATH")


def large(args, way, n, kind="large"):
    import torch

    n = int(n)
    if way == "sgemm":
        calls = {None: cblas(os.path.abspath(args.library))}
    else:
        try:
            xt = Xt(torch)
        except (RuntimeError, AttributeError) as what:
            return say(kind=kind, way=way, n=n, error=str(what))
        calls = {block: xt for block in ((4096,) if args.quick else (2048, 4096))}
    pinned = [draw(torch, n, n, seed, True) for seed in (1, 2)]
    for memory in ("pinned", "pageable"):
        is_pinned = memory == "pinned"
        a, b = pinned if is_pinned else [matrix.clone() for matrix in pinned]
        c = torch.full((n, n), float("nan"), pin_memory=is_pinned)
        for block, call in calls.items():
            if block:
                xt.set_block(block)
            began = time.perf_counter()
            call(a, b, c)
            first = time.perf_counter() - began
            # The first call starts the driver and allocates.
            seconds, most = [], 2 if args.quick and n > 20000 else 3 if n > 20000 else 5
            while len(seconds) < most:
                began = time.perf_counter()
                call(a, b, c)
                seconds.append(time.perf_counter() - began)
            median = sorted(seconds)[len(seconds) // 2]
            figures = {"block": block} if block else {"memory_mib": os.environ.get("SGEMM_MEMORY_MIB")}
            say(
                kind=kind, way=way, precision=args.precision if way == "sgemm" else "cublas", n=n, memory=memory, **figures,
                first_s=round(first, 4), median_s=round(median, 5), runs=len(seconds),
                tflops=round(2 * n**3 / median / 1e12, 2), error=error(torch, a, b, c),
            )  # fmt: skip
            c.fill_(float("nan"))


def capped(args, way, n):
    large(args, way, n, kind="capped")


def device(args, way):
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    for n in args.sizes:
        a, b = (torch.randn(n, n, device="cuda") for _ in range(2))
        c = torch.empty(n, n, device="cuda")
        times = []
        for _ in range(3 if n > 20000 else 7):
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            torch.mm(a, b, out=c)
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end))
        ms = sorted(times[1:])[len(times[1:]) // 2]
        precision = args.precision if way == "sgemm" else "cublas"
        say(kind="device", way=way, precision=precision, n=n, ms=round(ms, 4), tflops=round(2 * n**3 / ms / 1e9, 2))


def host_blas(torch):
    """The host's own BLAS, and what it is."""
    paths = []
    try:
        import numpy

        site = os.path.dirname(os.path.dirname(numpy.__file__))
        paths += sorted(glob.glob(os.path.join(site, "numpy.libs", "*openblas*")))
    except ImportError:
        pass
    for path in [*paths, "libopenblas.so.0", "libopenblas.so", "libmkl_rt.so.2"]:
        try:
            call = cblas(path)
        except OSError:
            continue
        if call:
            return call, os.path.basename(path)
    return lambda a, b, c: torch.mm(a, b, out=c), f"torch {torch.__version__} on {torch.get_num_threads()} threads"


def small(args, way):
    import torch

    call, label = (cblas(os.path.abspath(args.library)), "sgemm") if way == "sgemm" else host_blas(torch)
    warm = [draw(torch, 64, 64, seed, False) for seed in (1, 2, 3)]
    call(*warm)
    for m, n, k in QUICK if args.quick else SMALL:
        # NumPy's and most programs' memory is pageable.
        a, b = draw(torch, m, k, 1, False), draw(torch, k, n, 2, False)
        c = torch.full((m, n), float("nan"))
        began = time.perf_counter()
        call(a, b, c)
        first = time.perf_counter() - began
        seconds, until = [], time.perf_counter() + (0.3 if args.quick else 1.0)
        while len(seconds) < 5 or (time.perf_counter() < until and len(seconds) < 500):
            began = time.perf_counter()
            call(a, b, c)
            seconds.append(time.perf_counter() - began)
        median = sorted(seconds)[len(seconds) // 2]
        say(
            kind="small", way=way, label=label, cores=os.cpu_count(), precision=args.precision if way == "sgemm" else "host",
            shape=[m, n, k], gflop=round(2e-9 * m * n * k, 4), mib=round(4 * (m * k + k * n + m * n) / 2**20, 2),
            first_us=round(first * 1e6, 1), median_us=round(median * 1e6, 1), runs=len(seconds), error=error(torch, a, b, c),
        )  # fmt: skip


TASKS = {"large": large, "capped": capped, "device": device, "small": small}

if __name__ == "__main__":
    main()
