"""Matrix products on NVIDIA GPUs, or on an emulated one.

    c = sgemm.matmul(a, b, precision="fp32")

Arrays are those of NumPy, and all that have ``__array_interface__``, ``__cuda_array_interface__`` or DLPack. Those in the host's memory are
copied to the GPU and back; where there is none, they are multiplied by the same kernels in an emulator, which is slow.
"""

from ._errors import Error, InvalidError
from ._handle import Handle, default_handle, matmul
from ._library import version
from ._matrix import Matrix

__version__ = version()
__all__ = ["Error", "Handle", "InvalidError", "Matrix", "default_handle", "matmul"]
