"""``python -m sgemm``: the version, the device that products run on, and ``run``."""

import argparse

from . import Error, __version__, _run, default_handle


def main():
    """Says which device products run on, or runs a program."""
    description = "Says which device products run on, or runs a program with cuBLAS's products of f32 computed by sgemm."
    parser = argparse.ArgumentParser(prog="python -m sgemm", description=description)
    parser.add_argument("--version", action="version", version=f"sgemm {__version__}")
    commands = parser.add_subparsers(dest="command")
    runner = commands.add_parser("run", help="run a Python program with the interposer of cuBLAS preloaded")
    _run.add_arguments(runner)
    args = parser.parse_args()
    if args.command == "run":
        _run.run(runner, args)
    try:
        handle = default_handle()
    except Error as error:
        parser.exit(1, f"{error}\n")
    print(f"{handle.device} ({handle.backend})")


if __name__ == "__main__":
    main()
