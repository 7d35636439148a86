"""Runs kernels in PTX on the CPU, on NumPy arrays: checks them, counts what they do, and models their time on a GPU."""

from ._arguments import TensorMap
from ._module import Kernel, Module, Report
from ._native import Error, Finding

__all__ = ["Error", "Finding", "Kernel", "Module", "Report", "TensorMap"]
