"""Models in the ONNX format, which are served without mercer.

`WRITTEN_KERNELS` has the function that writes each kernel; a new kernel is one more entry.
"""

from .model import to_onnx

__all__ = ["to_onnx"]
