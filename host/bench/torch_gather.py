#!/usr/bin/env python3
"""PyTorch beside us: C = A B in fp32 over several GPUs, A, B and C in panels of rows, B gathered by NCCL.

    python3 torch_gather.py P SIZE... [--output FILE] [--date YYYY-MM-DD]

starts P processes by itself. JSON lines go to stdout and FILE; the times of the local product alone go to stderr and FILE.alone.
"""
import argparse
import datetime
import json
import os
import socket
import statistics
import sys
import time

GATHERED = "PyTorch, gathered, then multiplied"
OVERLAPPED = "PyTorch, overlapped"
ALONE = "PyTorch, compute alone"
CHUNKS = (4, 8)


def say(text):
    print(text, file=sys.stderr, flush=True)


class Device:
    """CUDA with NCCL, or the CPU with gloo, to rehearse."""

    def __init__(self, torch, cpu, local_rank):
        self.torch, self.cpu = torch, cpu
        if not cpu:
            torch.cuda.set_device(local_rank)
        self.device = torch.device("cpu") if cpu else torch.device("cuda", local_rank)
        self.second = None if cpu else torch.cuda.Stream()

    def name(self):
        return "CPU" if self.cpu else self.torch.cuda.get_device_name(self.device)

    def synchronize(self):
        if not self.cpu:
            self.torch.cuda.synchronize()

    def seconds(self, run):
        """The time of one run, by CUDA events in the current stream."""
        if self.cpu:
            start = time.perf_counter()
            run()
            return time.perf_counter() - start
        first, last = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        run()
        last.record()
        last.synchronize()
        return first.elapsed_time(last) / 1e3


def rank_main(rank, ranks, arguments, port):
    import torch
    import torch.distributed as dist

    local_rank = int(os.environ.get("LOCAL_RANK", rank))
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.set_float32_matmul_precision("highest")
    on = Device(torch, arguments.cpu, local_rank)
    options = {} if arguments.cpu else {"device_id": on.device}
    dist.init_process_group(
        "gloo" if arguments.cpu else "nccl",
        init_method=f"tcp://127.0.0.1:{port}" if port else "env://",
        rank=rank,
        world_size=ranks,
        timeout=datetime.timedelta(seconds=120),
        **options,
    )
    if rank == 0:
        nccl = "" if arguments.cpu else ".".join(map(str, torch.cuda.nccl.version()))
        say(f"# {ranks} x {on.name()}, PyTorch {torch.__version__}, NCCL {nccl}")

    def over_ranks(values, operation):
        values = torch.tensor(values, dtype=torch.float64, device=on.device)
        dist.all_reduce(values, op=operation)
        return values.tolist()

    def measure(run, size):
        warm_ups, runs = (1, 3) if size >= 32768 else (2, 7)
        times = []
        for number in range(warm_ups + runs):
            on.synchronize()
            dist.barrier()
            on.synchronize()
            elapsed = on.seconds(run)
            if number >= warm_ups:
                times.append(elapsed)
        return statistics.median(over_ranks(times, dist.ReduceOp.MAX))

    def write(way, size, seconds, note=""):
        if rank != 0:
            return
        tflops = float(f"{2.0 * size**3 / seconds / 1e12:.4g}")
        record = {"device": on.name(), "gpus": ranks, "way": way, "size": size, "tflops": tflops, "date": arguments.date}
        line = json.dumps(record)
        if way == ALONE:
            say(f"# {line}")
        else:
            print(line, flush=True)
            if note:
                say(f"# {note}")
        if arguments.output:
            path = arguments.output + (".alone" if way == ALONE else "")
            with open(path, "a", encoding="utf-8") as file:
                file.write(line + "\n")

    failed = False
    for index, n in enumerate(sorted(arguments.sizes)):
        if n % (ranks * max(CHUNKS)) != 0:
            if rank == 0:
                say(f"# {n}: skipped, {ranks} ranks of {max(CHUNKS)} chunks do not divide it")
            continue
        rows = n // ranks
        # A, B, C, chunks to send, and B gathered, and 2 GiB for all else.
        needed = 4 * (4 * rows * n + n * n) + (2 << 30)
        fits = [1.0 if on.cpu or torch.cuda.mem_get_info()[0] > needed else 0.0]
        if over_ranks(fits, dist.ReduceOp.MIN)[0] == 0.0:
            if rank == 0:
                say(f"# {n}: skipped, it does not fit")
            continue
        torch.manual_seed(1 + rank)
        a = torch.rand(rows, n, device=on.device).sub_(0.5)
        b = torch.rand(rows, n, device=on.device).sub_(0.5)
        c = torch.empty(rows, n, device=on.device)
        whole = torch.empty(n, n, device=on.device)
        staged = torch.empty(rows * n, device=on.device)

        def gathered():
            dist.all_gather_into_tensor(whole, b)
            torch.mm(a, whole, out=c)

        def alone():
            torch.mm(a, whole, out=c)

        def overlapped(chunks):
            width = n // chunks
            sent = staged.view(chunks, rows, width)
            received = whole.view(chunks, n, width)

            def run():
                if on.cpu:
                    for chunk in range(chunks):
                        columns = slice(chunk * width, (chunk + 1) * width)
                        sent[chunk].copy_(b[:, columns])
                        dist.all_gather_into_tensor(received[chunk], sent[chunk])
                        torch.mm(a, received[chunk], out=c[:, columns])
                    return
                compute = torch.cuda.current_stream()
                on.second.wait_stream(compute)
                for chunk in range(chunks):
                    columns = slice(chunk * width, (chunk + 1) * width)
                    with torch.cuda.stream(on.second):
                        sent[chunk].copy_(b[:, columns])
                        dist.all_gather_into_tensor(received[chunk], sent[chunk])
                        arrived = on.second.record_event()
                    compute.wait_event(arrived)
                    torch.mm(a, received[chunk], out=c[:, columns])

            return run

        def check(what):
            """A few rows against float64, where `wide` is B."""
            on.synchronize()
            error = 0.0
            for row in (0, rows // 2, rows - 1):
                want = a[row].double() @ wide
                error = max(error, (c[row].double() - want).abs().max().item())
            error = over_ranks([error], dist.ReduceOp.MAX)[0]
            # Sums of n products below a quarter: f32 is far below this, TF32 far above.
            right = error < 4e-6 * n**0.5
            if rank == 0:
                say(f"# {n}, {what}: largest error {error:.2e}: {'right' if right else 'WRONG'}")
            return right

        if index == 0:
            dist.all_gather_into_tensor(whole, b)
            wide = whole.double()
            for what, run in [("gathered", gathered)] + [(f"{chunks} chunks", overlapped(chunks)) for chunks in CHUNKS]:
                c.fill_(float("nan"))
                run()
                failed |= not check(what)
            del wide
        write(GATHERED, n, measure(gathered, n))
        times = {chunks: measure(overlapped(chunks), n) for chunks in CHUNKS}
        best = min(times, key=times.get)
        both = ", ".join(f"{chunks} chunks {2.0 * n**3 / t / 1e12:.4g}" for chunks, t in times.items())
        write(OVERLAPPED, n, times[best], f"{n}, overlapped, TFLOPS: {both}")
        write(ALONE, n, measure(alone, n))
        del a, b, c, whole, staged, gathered, alone, overlapped
        if not on.cpu:
            torch.cuda.empty_cache()
    dist.barrier()
    dist.destroy_process_group()
    if failed:
        sys.exit(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ranks", type=int)
    parser.add_argument("sizes", type=int, nargs="+")
    parser.add_argument("--output")
    parser.add_argument("--date", default=datetime.date.today().isoformat())
    parser.add_argument("--cpu", action="store_true", help="rehearse by gloo on the CPU")
    arguments = parser.parse_args()
    if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
        # torchrun: P must be its --nproc-per-node.
        rank_main(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), arguments, None)
        return
    import torch.multiprocessing as multiprocessing

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    multiprocessing.spawn(rank_main, args=(arguments.ranks, arguments, port), nprocs=arguments.ranks)


if __name__ == "__main__":
    main()
