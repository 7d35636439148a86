"""``python -m sgemm``: the version, and the device that products run on."""

import argparse

from . import Error, __version__, default_handle


def main():
    """Says which device products run on."""
    parser = argparse.ArgumentParser(prog="python -m sgemm", description="Says which device products run on.")
    parser.add_argument("--version", action="version", version=f"sgemm {__version__}")
    parser.parse_args()
    try:
        handle = default_handle()
    except Error as error:
        parser.exit(1, f"{error}\n")
    print(f"{handle.device} ({handle.backend})")


if __name__ == "__main__":
    main()
