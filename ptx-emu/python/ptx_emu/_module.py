"""Modules, their kernels and variables, and launches."""

import json

import numpy

from . import _native
from ._arguments import Arguments


class Module:
    """A PTX module: its kernels, and its variables, which keep what launches leave there.

    >>> module = ptx_emu.Module(open("saxpy.ptx").read())
    >>> report = module.kernel("saxpy").launch(grid=4, block=256, args=[1000, 2.0, x, y])
    """

    def __init__(self, text):
        self._native = _native.Module(text)

    @property
    def kernels(self):
        """The names of its kernels."""
        return self._native.kernels()

    @property
    def variables(self):
        """The names of its .global and .const variables."""
        return self._native.variables()

    def kernel(self, name=None):
        """The kernel of that name, or the only one. Raises Error where it has an instruction that is not known."""
        names = self.kernels
        if name is None and len(names) != 1:
            raise _native.Error(f"the module has several kernels: give one of {', '.join(names)}" if names else "the module has no kernel")
        return Kernel(self, self._native.kernel(names[0] if name is None else name))

    def set(self, name, value):
        """Sets a variable, or the beginning of it: to the bytes of an array, of a NumPy scalar, or of bytes."""
        data = bytes(value) if isinstance(value, (bytes, bytearray)) else _typed(name, value).tobytes()
        self._native.write(name, data)

    def get(self, name, dtype):
        """What a variable holds, as an array of that type."""
        return numpy.frombuffer(bytes(self._native.read(name)), dtype).copy()


class Kernel:
    """A kernel of a module."""

    def __init__(self, module, native):
        self._module = module
        self._native = native

    @property
    def name(self):
        """Its name."""
        return self._native.name

    @property
    def shared_bytes(self):
        """Static shared memory of a block, in bytes."""
        return self._native.shared_bytes

    @property
    def live_registers(self):
        """The most 32-bit registers of a thread that are live at once."""
        return self._native.live_registers

    def launch(self, grid, block, args=(), *, cluster=1, shared=0, check="all", threads=0, max_instructions=None):
        """Runs it, and returns the Report.

        Arguments are arrays, which the kernel gets a pointer to and which hold its results afterwards; NumPy scalars; numbers of Python,
        which take the parameter's type; bytes; None for a null pointer; and TensorMap. An array that is read-only is not written to.
        grid, block and cluster are numbers or tuples of one to three; shared is dynamic shared memory, in bytes; check is "all", "none", or
        some of "memory", "uninitialized", "races" and "barriers"; threads are those of the host, 0 for all cores.

        After a fault the arrays hold what they held before.
        """
        arguments = Arguments(self._native.name, self._native.parameters(), args)
        checks = check.split(",") if isinstance(check, str) else list(check)
        sizes = [_three(name, value) for name, value in (("grid", grid), ("block", block), ("cluster", cluster))]
        report, contents = _native.launch(
            self._module._native, self._native, arguments.buffers, arguments.values, (*sizes, shared, checks, threads, max_instructions)
        )
        if report.fault is None:
            arguments.write_back(contents)
        return Report(report)


class Report:
    """What a launch did."""

    def __init__(self, native):
        self._native = native

    @property
    def findings(self):
        """What the checkers found: a list of Finding."""
        return self._native.findings

    @property
    def fault(self):
        """The Finding that ended the launch early, or None."""
        return self._native.fault

    @property
    def is_clean(self):
        """Whether there is no fault, and nothing was found but remarks."""
        return self._native.is_clean

    @property
    def output(self):
        """What the kernel printed."""
        return self._native.output

    @property
    def blocks(self):
        """How many blocks the grid has."""
        return self._native.blocks

    @property
    def counters(self):
        """The counters, as `ptx-emu run --counters json` names them: report.counters["global_loads"]["sectors"]."""
        return json.loads(self._native.counters_json())

    def time_ms(self, device="h200"):
        """The time that it would take on a device, in milliseconds, as modelled; None where a block does not fit the device."""
        return self._native.time_ms(device)

    def __str__(self):
        found = [*self.findings, *([self.fault] if self.fault else [])]
        return "\n".join(map(str, found)) if found else "clean"


def _typed(name, value):
    """An array or a NumPy scalar: what has a size in bytes."""
    if not isinstance(value, (numpy.ndarray, numpy.generic)):
        raise TypeError(f"{name}: {value!r} has no size in bytes: give an array or a NumPy scalar such as numpy.float32(2)")
    return value


def _three(name, sizes):
    """One to three sizes, as three."""
    sizes = tuple(sizes) if isinstance(sizes, (tuple, list)) else (sizes,)
    if not 1 <= len(sizes) <= 3 or not all(isinstance(size, (int, numpy.integer)) and size > 0 for size in sizes):
        raise ValueError(f"{name} is {sizes}: give one to three whole numbers from 1 on")
    return [int(size) for size in (*sizes, 1, 1)[:3]]
