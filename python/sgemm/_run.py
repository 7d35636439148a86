"""``python -m sgemm run``: a program with the interposers preloaded."""

import os
import sys
from pathlib import Path

CUBLAS = "libsgemm_cublas.so"
BLAS = "libsgemm_blas.so"


def find(name):
    """A library to preload: in the package, or beside the one that SGEMM_LIBRARY names. None where there is none."""
    folders = [Path(__file__).resolve().parent]
    if os.environ.get("SGEMM_LIBRARY"):
        folders.append(Path(os.environ["SGEMM_LIBRARY"]).resolve().parent)
    return next((str(folder / name) for folder in folders if (folder / name).is_file()), None)


def environment(libraries, precision=None, log=None):
    """This process's environment with those libraries ahead of what is preloaded already."""
    others = [os.environ["LD_PRELOAD"]] if os.environ.get("LD_PRELOAD") else []
    changed = dict(os.environ, LD_PRELOAD=":".join(libraries + others))
    if precision:
        changed["SGEMM_PRECISION"] = precision
    if log:
        changed["SGEMM_LOG"] = log
    return changed


def add_arguments(parser):
    """The arguments of ``run``."""
    parser.add_argument("--precision", choices=("fp32-strict", "fp32"), help="sets SGEMM_PRECISION")
    parser.add_argument("--log", metavar="FILE", help="sets SGEMM_LOG: a file, or 1 for standard error")
    parser.add_argument("--blas", action="store_true", help="preloads the BLAS on the host's memory as well")
    parser.add_argument("program", nargs="...", help="what Python takes: program.py, or -m module, and arguments")


def run(parser, args):
    """Becomes the program: returns only where that fails."""
    if not args.program:
        parser.error("give a program: python -m sgemm run program.py")
    names = [CUBLAS, BLAS] if args.blas else [CUBLAS]
    libraries = [find(name) for name in names]
    if None in libraries:
        parser.exit(1, f"{names[libraries.index(None)]} is not in the package: `cargo xtask wheel` puts it there\n")
    for library in libraries:
        if any(separator in library for separator in " :"):
            parser.exit(1, f"{library}: the loader takes no path with a space or a colon; install the package elsewhere\n")
    os.execve(sys.executable, [sys.executable, *args.program], environment(libraries, args.precision, args.log))
