"""Whether PyTorch's matrix operators stay right with libsgemm_cublas.so preloaded: its own samples, beside float64.

    python3 torch_operators.py --library libsgemm_cublas.so [--output results.jsonl] [--operators mm bmm] [--gpus 4]

Samples are those of PyTorch's table op_db: as they are, not contiguous, with out=, in place, with gradients, and
invalid ones; and larger products. Each operator runs in each way (cuBLAS alone, preloaded in fp32-strict, preloaded in
fp32) in a process of its own, so that the summary of SGEMM_LOG counts its calls. A table goes to standard output, and
a line of JSON for each operator and way to a file. With --device cpu, PyTorch runs alone, which tries the samples out.
"""

import argparse
import collections
import concurrent.futures
import copy
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
import types
import unittest

import torch
from torch.utils._pytree import tree_leaves, tree_map

WAYS = ("cublas", "fp32-strict", "fp32")
OPERATORS = """mm addmm bmm baddbmm addbmm matmul __rmatmul__ mv addmv addr outer dot vdot inner einsum tensordot kron
linalg.multi_dot chain_matmul nn.functional.linear nn.functional.bilinear nn.functional.scaled_dot_product_attention
nn.functional.multi_head_attention_forward linalg.vecdot linalg.matrix_power matrix_exp linalg.lu linalg.lu_factor
linalg.lu_factor_ex linalg.lu_solve lu_solve lu lu_unpack linalg.solve linalg.solve_ex linalg.solve_triangular
triangular_solve linalg.inv linalg.inv_ex inverse linalg.cholesky cholesky cholesky_solve cholesky_inverse linalg.qr
geqrf ormqr linalg.householder_product linalg.lstsq linalg.det linalg.slogdet logdet linalg.pinv linalg.matrix_rank
linalg.svdvals linalg.eigvalsh linalg.tensorsolve linalg.tensorinv svd_lowrank pca_lowrank cov corrcoef cdist""".split()
# Larger products than those of op_db: batch, m, n, k.
LARGE = {
    "large.mm": [(1, 513, 257, 1025), (1, 1000, 1000, 1000), (1, 64, 64, 8192), (1, 2048, 1536, 512),
                 (1, 1, 4096, 2000), (1, 3000, 1, 700), (1, 128, 4096, 65)],
    "large.bmm": [(16, 128, 128, 64), (100, 33, 65, 17), (7, 300, 200, 100), (2, 1024, 512, 512)],
    "large.addmm": [(1, 600, 700, 800), (1, 1024, 1024, 2048), (1, 77, 1001, 333)],
    "large.linear": [(1, 600, 700, 800), (1, 4096, 1024, 256), (1, 31, 2000, 500)],
    "large.baddbmm": [(8, 200, 100, 300), (3, 1000, 64, 500)],
    "large.attention": [(12, 256, 256, 64), (5, 321, 321, 64)],
    "large.lu_factor": [(1, 500, 500, 500), (1, 1500, 1500, 1500)],
    "large.transformer": [(4, 64, 128, 128)],
}
# Of an operator's process.
MOST_SECONDS = 70
MOST_REFERENCE_SAMPLES = 400
# Errors relative to the largest element of the result. cuBLAS alone may have the first; the library, the second, which
# is float32 at its best, or so many times that of cuBLAS.
MOST_ALONE = 1e-3
SMALL = 2e-5
MOST_TIMES_CUBLAS = 20


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", help="libsgemm_cublas.so")
    parser.add_argument("--output", help="where the lines of JSON go")
    parser.add_argument("--operators", nargs="+", metavar="NAME", help="of op_db or large.* (default: all of matrices)")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--gpus", type=int, default=1, help="GPUs that the operators are dealt out over")
    parser.add_argument("--processes", type=int, default=12, help="at once, on all GPUs together")
    parser.add_argument("--seconds", type=float, default=200.0, help="after which no process is started")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--op", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.op:
        return print(json.dumps({"way": args.way, "what": args.op, **measure(args.op, args.device)}), flush=True)
    if args.device == "cuda" and not args.library:
        parser.error("--library is needed on a GPU")
    ways = WAYS if args.device == "cuda" else WAYS[:1]
    names = chosen(args.operators)
    end = time.monotonic() + args.seconds
    jobs = [(args, way, name, index % args.gpus, end) for index, name in enumerate(names) for way in ways]
    found = collections.defaultdict(dict)
    with concurrent.futures.ThreadPoolExecutor(args.processes) as pool:
        for line in pool.map(lambda job: run(*job), jobs):
            found[line["what"]][line["way"]] = line
    if args.output:
        with open(args.output, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for lines in found.values() for line in lines.values())
    report(found, ways)


def table():
    """PyTorch's operators and their samples, by name and variant."""
    try:
        import expecttest  # noqa: F401
    except ImportError:
        # PyTorch's tests import it, which are not run here.
        sys.modules["expecttest"] = types.ModuleType("expecttest")
        sys.modules["expecttest"].TestCase = unittest.TestCase
        sys.modules["expecttest"].assert_expected_inline = None
    from torch.testing._internal.common_methods_invocations import op_db

    found = {}
    for op in op_db:
        found.setdefault(f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name, op)
    return found


def chosen(names):
    """The names, or all with their variants, of what there is in this PyTorch. Says which there are not."""
    ops = table()
    if not names:
        variants = [name for name, op in ops.items() if op.name in OPERATORS and name not in OPERATORS]
        names = [*OPERATORS, *variants, *LARGE, "tf32-allowed"]
    absent = [name for name in names if name not in ops and name not in LARGE and name != "tf32-allowed"]
    print(f"torch {torch.__version__}; not in op_db: {' '.join(absent) or 'none'}", flush=True)
    return [name for name in names if name not in absent]


def run(args, way, name, gpu, end):
    """What an operator's process found, with the lines of SGEMM_LOG; an error where there is nothing."""
    line = {"way": way, "what": name}
    if time.monotonic() > end:
        return line | {"error": "there was no time for it"}
    # Without LD_LIBRARY_PATH, whose cuBLAS would take the place of PyTorch's own.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("SGEMM_")}
    environment.pop("LD_LIBRARY_PATH", None)
    environment |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "TF32_TEST": "0"}
    if args.gpus > 1:
        environment["CUDA_VISIBLE_DEVICES"] = str(gpu)
    if way != "cublas":
        environment |= {"SGEMM_PRECISION": way, "SGEMM_LOG": "1", "LD_PRELOAD": os.path.abspath(args.library)}
    command = [sys.executable, os.path.abspath(__file__), "--way", way, "--op", name, "--device", args.device]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace")
    if ran.returncode != 0:
        print(f"{name} {way}: exit code {ran.returncode}\n{ran.stderr[-2000:]}", flush=True)
    said = [text for text in ran.stdout.splitlines() if text.startswith("{")]
    if not said:
        return line | {"error": f"no result, exit code {ran.returncode}"}
    return json.loads(said[-1]) | {"log": [text for text in ran.stderr.splitlines() if text.startswith("sgemm: ")]}


# The summary ----------------------------------------------------------------------------------------------------------


def report(found, ways):
    """The table of all operators, the sums of each way, why calls were forwarded, and what failed."""
    heads = (f"{way + ': taken':>20}{'forwarded':>10}{'failures':>9}" for way in ways)
    print(f"{'operator':46}{'samples':>9}", *heads, sep="")
    totals, reasons, details = collections.Counter(), collections.Counter(), []
    for name, lines in sorted(found.items()):
        base = lines["cublas"] if "error" not in lines["cublas"] else {"cases": {}, "wrong": {}}
        cells = f"{name:46}{len(base['cases']):>9}"
        for way in ways:
            line = lines[way]
            if "error" in line:
                cells += f"{'no result':>39}"
                totals[way, "no result"] += 1
                details.append(f"{name} {way}: {line['error']}")
                continue
            log = "\n".join(line["log"])
            counted = re.search(r"sgemm: (\d+) calls computed in \S+, (\d+) forwarded", log)
            taken, forwarded = (int(count) for count in counted.groups()) if counted else (0, 0)
            for count, function, reason in re.findall(r"sgemm: +(\d+) x (\S+) forwarded: (.*)", log):
                reasons[way, function, reason] += int(count)
            bad = failures(line, base, way)
            cells += f"{taken:>20}{forwarded:>10}{len(bad):>9}"
            counts = {"samples": len(line["cases"]), "taken": taken, "forwarded": forwarded, "failures": len(bad)}
            totals.update({(way, what): count for what, count in counts.items()})
            details += [f"{name} {way}: {what}" for what in bad[:6]]
        print(cells)
    for way in ways:
        sums = [f"{count} {what}" for (of, what), count in sorted(totals.items()) if of == way]
        print(f"### {way}: {', '.join(sums)}")
    for (way, function, reason), count in sorted(reasons.items()):
        print(f"forwarded in {way}: {count} x {function}: {reason}")
    print("### failures", *details[:200], sep="\n", flush=True)


def failures(line, base, way):
    """What failed: beside float64 for cuBLAS alone, and beside cuBLAS alone (`base`) for the others."""
    known = base["wrong"].items() if way != "cublas" else ()
    bad = [f"{name}: {what}" for name, what in line["wrong"].items() if (name, what) not in known]
    for name, found in line["cases"].items():
        alone = base["cases"].get(name)
        if alone is None:
            bad.append(f"{name}: not a sample of cuBLAS alone")
        elif isinstance(found, str) or isinstance(alone, str):
            if found != alone:
                bad.append(f"{name}: {found}, and {alone} with cuBLAS")
        elif way == "cublas":
            if not found <= MOST_ALONE:
                bad.append(f"{name}: error {found:.3g}")
        elif not (found <= SMALL or found <= MOST_TIMES_CUBLAS * alone):
            bad.append(f"{name}: error {found:.3g}, {alone:.3g} with cuBLAS")
    return bad + [f"{name}: no sample here" for name in base["cases"] if name not in line["cases"]]


# An operator's process ------------------------------------------------------------------------------------------------


def measure(name, device):
    """The operator's `cases`, each with its error or the name of what it raised, and what else is `wrong`."""

    def stop(*_):
        raise TimeoutError(f"more than {MOST_SECONDS} s")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(MOST_SECONDS)
    cases, wrong = {}, {}
    try:
        op = table().get(name)
        torch.backends.cuda.matmul.allow_tf32 = name == "tf32-allowed"
        if name in LARGE:
            torch.manual_seed(77)
            for shape in LARGE[name]:
                large(name.removeprefix("large."), device, shape, cases)
        elif name == "tf32-allowed":
            a, b = torch.randn(256, 256, device=device), torch.randn(256, 256, device=device)
            cases["mm"] = "computed" if (a @ b).isfinite().all() else "wrong"
        else:
            samples(op, device, cases)
            invalid(op, device, cases, wrong)
    except BaseException as error:
        wrong["stopped"] = f"{type(error).__name__}: {error}"[:200]
    signal.alarm(0)
    return {"cases": cases, "wrong": wrong}


def samples(op, device, cases):
    """The samples of op_db, in each form that the operator has, and their gradients."""

    def compare(label, sample, function=op.op, **more):
        """One sample on the device, beside float64 on the CPU."""
        arguments = (sample.input, *sample.args)
        exact, failed = outcome(lambda: op.op(*as_double(arguments), **as_double(sample.kwargs)))
        found, raised = outcome(lambda: function(*arguments, **sample.kwargs, **more))
        if raised:
            cases[label] = raised
        elif failed is None:
            cases[label] = normwise(sample.output_process_fn_grad(found), sample.output_process_fn_grad(exact))
        return found

    def in_place(x, *rest, **options):
        return op.inplace_variant(x.clone(), *rest, **options)

    torch.manual_seed(1234)
    drawn, references = list(op.sample_inputs(device, torch.float32)), []
    if op.reference_inputs_func is not None:
        torch.manual_seed(4321)
        references = list(op.reference_inputs(device, torch.float32))[:MOST_REFERENCE_SAMPLES]
    for index, sample in enumerate(drawn):
        found = compare(f"sample {index}", sample)
        torch.manual_seed(99)
        strided, failed = outcome(sample.noncontiguous)
        if failed is None:
            compare(f"not contiguous {index}", strided)
        if not isinstance(found, torch.Tensor):
            continue
        if op.supports_out:
            compare(f"out= {index}", sample, out=torch.full_like(found, 7))
        if op.inplace_variant and isinstance(sample.input, torch.Tensor) and sample.input.shape == found.shape:
            compare(f"in place {index}", sample, in_place)
    for index, sample in enumerate(references):
        compare(f"reference {index}", sample)
    if op.supports_autograd:
        torch.manual_seed(1234)
        for index, sample in enumerate(op.sample_inputs(device, torch.float32, requires_grad=True)):
            arguments = (sample.input, *sample.args)
            exact, failed = outcome(lambda: gradients(op, sample, as_double(arguments), as_double(sample.kwargs)))
            found, raised = outcome(lambda: gradients(op, sample, arguments, sample.kwargs))
            if raised:
                cases[f"gradient {index}"] = raised
            elif failed is None and exact:
                cases[f"gradient {index}"] = normwise(found, exact)


def gradients(op, sample, arguments, options):
    """Of a sum of the outputs with random weights, by each input that requires them."""
    leaves = requiring((arguments, options))
    outputs = requiring(sample.output_process_fn_grad(op.gradcheck_wrapper(op.op, *arguments, **options)))
    if not outputs or not leaves:
        return []
    total = 0
    for number, output in enumerate(outputs):
        weights = torch.randn(output.shape, generator=torch.Generator().manual_seed(number), dtype=torch.float64)
        total = total + (output * weights.to(output.device, output.dtype)).real.sum()
    return [x for x in torch.autograd.grad(total, leaves, allow_unused=True) if x is not None]


def requiring(tree):
    """The tensors that require gradients."""
    return [x for x in tree_leaves(tree) if isinstance(x, torch.Tensor) and x.requires_grad]


def invalid(op, device, cases, wrong):
    """The inputs that op_db knows to be errors: of the right type, with the right words."""
    if op.error_inputs_func is None:
        return
    torch.manual_seed(1234)
    for index, expected in enumerate(op.error_inputs(device)):
        sample, label = expected.sample_input, f"error {index}"
        try:
            op.op(sample.input, *sample.args, **sample.kwargs)
            wrong[label] = "raised nothing"
        except expected.error_type as error:
            if not re.search(expected.error_regex, str(error)):
                wrong[label] = f"says {str(error).splitlines()[0][:100]}"
            cases[label] = type(error).__name__
        except Exception as error:
            wrong[label] = f"{type(error).__name__}: {str(error).splitlines()[0][:100]}"


# Larger problems ------------------------------------------------------------------------------------------------------


def large(what, device, shape, cases):
    """A problem of the shape (batch, m, n, k), beside float64 on the device."""
    label = " x ".join(map(str, shape))
    if what == "lu_factor":
        factorisation(device, shape[1], label, cases)
    elif what == "transformer":
        transformer(device, shape, label, cases)
    else:
        products(what, device, shape, label, cases)


def factorisation(device, n, label, cases):
    a = torch.randn(n, n, device=device)
    p, l, u = torch.linalg.lu(a)
    cases[label] = normwise(p.double() @ l.double() @ u.double(), a.double())
    well_posed = a + 10 * math.sqrt(n) * torch.eye(n, device=device)
    solved = torch.linalg.solve(well_posed, a)
    cases[f"solve {label}"] = normwise(well_posed.double() @ solved.double(), a.double())


def transformer(device, shape, label, cases):
    """A layer of an encoder, and its gradients."""
    batch, length, width, _ = shape
    layer = torch.nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True).to(device)
    exact_layer = copy.deepcopy(layer).double()
    x = torch.randn(batch, length, width, device=device).requires_grad_()
    exact_x = x.detach().double().requires_grad_()
    found, exact = layer(x), exact_layer(exact_x)
    cases[label] = normwise(found, exact)
    weights = torch.randn_like(found)
    (found * weights).sum().backward()
    (exact * weights.double()).sum().backward()
    pairs = zip([x, *layer.parameters()], [exact_x, *exact_layer.parameters()])
    cases[f"gradient {label}"] = max(normwise(one.grad, other.grad) for one, other in pairs)


def products(what, device, shape, label, cases):
    """A product of operands in each order, and its gradients."""
    batch, m, n, k = shape
    stack = (batch,) if what in ("bmm", "baddbmm", "attention") else ()
    call = {
        "mm": lambda a, b, c, bias: torch.mm(a, b),
        "bmm": lambda a, b, c, bias: torch.bmm(a, b),
        "addmm": lambda a, b, c, bias: torch.addmm(c, a, b, alpha=-0.5, beta=2.0) + torch.addmm(bias, a, b),
        "baddbmm": lambda a, b, c, bias: torch.baddbmm(c, a, b, alpha=1.5, beta=-1.0),
        "linear": lambda a, b, c, bias: torch.nn.functional.linear(a, b.transpose(-1, -2), bias),
        "attention": lambda a, b, c, bias: torch.softmax(torch.bmm(a, b) / 8, -1) @ a,
    }[what]
    for order_a, a in orders(device, *stack, m, k):
        for order_b, b in orders(device, *stack, k, n):
            case = f"{label} {order_a} {order_b}"
            c, bias = torch.randn(*stack, m, n, device=device), torch.randn(n, device=device)
            operands = [x.detach().requires_grad_() for x in (a, b)]
            exact_operands = [x.detach().double().requires_grad_() for x in (a, b)]
            found, exact = call(*operands, c, bias), call(*exact_operands, c.double(), bias.double())
            cases[case] = normwise(found, exact)
            weights = torch.randn(*found.shape, device=device)
            one = torch.autograd.grad((found * weights).sum(), operands)
            other = torch.autograd.grad((exact * weights.double()).sum(), exact_operands)
            cases[f"gradient {case}"] = normwise(one, other)
            if what == "linear":
                # cublasLt's epilogue of bias and ReLU.
                found = torch._addmm_activation(bias, a, b, use_gelu=False)
                cases[f"ReLU {case}"] = normwise(found, torch.relu(torch.addmm(bias.double(), a.double(), b.double())))


def orders(device, *shape):
    """The same matrix by rows, by columns, and as a view that is aligned to an element alone."""
    x = torch.randn(*shape, device=device)
    m, n = shape[-2:]
    view = torch.randn(*shape[:-2], m + 3, n + 3, device=device)[..., 1 : m + 1, 1 : n + 1]
    view.copy_(x)
    return ("rows", x), ("columns", x.transpose(-1, -2).contiguous().transpose(-1, -2)), ("view", view)


# Errors ---------------------------------------------------------------------------------------------------------------


def normwise(found, exact):
    """The largest difference, relative to the largest element; infinite where shapes differ, or what is not finite."""
    worst = 0.0
    found, exact = tree_leaves(found), tree_leaves(exact)
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
        one, other = as_double((one, other))
        finite = torch.isfinite(other)
        if not torch.equal(torch.isfinite(one), finite):
            return math.inf
        if finite.any():
            size = other[finite].abs().max().item()
            worst = max(worst, (one[finite] - other[finite]).abs().max().item() / (size or 1.0))
    return worst


def as_double(tree):
    """The same on the CPU in double precision."""

    def convert(leaf):
        if not isinstance(leaf, torch.Tensor):
            return leaf
        kind = torch.complex128 if leaf.is_complex() else torch.float64 if leaf.is_floating_point() else leaf.dtype
        return leaf.detach().cpu().to(kind).requires_grad_(leaf.requires_grad)

    return tree_map(convert, tree)


def outcome(call):
    """A result, or else what was raised."""
    try:
        return call(), None
    except TimeoutError:
        raise
    except Exception as error:
        return None, f"{type(error).__name__}: {str(error).splitlines()[0][:80] if str(error) else ''}"


if __name__ == "__main__":
    main()
