"""Arrays of NumPy, PyTorch and other libraries: how the extension module reads them, and what it gives back."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

Array = Any  # of NumPy, of PyTorch on the CPU, or anything with DLPack

_float32 = np.dtype(np.float32)
_other_floats = (np.dtype(np.float64), np.dtype(np.float16))  # computed in float32


def torch_of(x):
    """The module torch if x is one of its tensors, else None. Never imports it."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(x, torch.Tensor) else None


def as_buffer(x, name):
    """x as the extension module reads it, without a copy."""
    if type(x) is np.ndarray:
        return x
    torch = torch_of(x)
    if torch:
        return tensor_as_buffer(torch, x, name)
    if x is None or isinstance(x, np.ma.MaskedArray):
        hint = "" if x is None else ", whose mask would be lost: pass its data, and the mask as a mask of qkv"
        raise TypeError(
            f"{name}: expected an array (NumPy, PyTorch, or anything with DLPack), got {type(x).__name__}{hint}"
        )
    return x


def as_floats(x, name):
    """The same for float32 and bfloat16; float64 and float16 are converted to float32."""
    if isinstance(x, np.ndarray):
        if x.dtype in _other_floats and type(x) is not np.ma.MaskedArray:
            return x.astype(_float32)
    elif torch := torch_of(x):
        if x.dtype in (torch.float64, torch.float16) and x.is_cpu and x.layout is torch.strided:
            return tensor_as_buffer(torch, x.float(), name)
    elif other_float(x) and hasattr(x, "astype"):
        return x.astype("float32")
    return as_buffer(x, name)


def are_plain(q, k, v):
    """Whether all three are NumPy arrays of float32."""
    return type(q) is type(k) is type(v) is np.ndarray and q.dtype is k.dtype is v.dtype is _float32


_codes: dict[Any, int] = {}


def tensor_as_buffer(torch, x, name):
    if not _codes:
        _codes.update({torch.float32: 0, torch.bfloat16: 1, torch.int32: 2, torch.uint8: 3, torch.bool: 3})
    code = _codes.get(x.dtype)
    if code is not None and x.is_cpu and not x.is_neg():  # the fewest checks: they are most of a small call's time
        try:
            if address := x.data_ptr():
                return (address, code, x.shape, x.stride(), x)
        except RuntimeError:  # sparse, nested, or without data: the error is made below
            pass
    return _convert_tensor(torch, x, name)


def _convert_tensor(torch, x, name):
    """A tensor that is not plain numbers in memory: converted, or an error that says why it cannot be."""
    if x.device.type != "cpu":
        raise TypeError(f"{name}: the tensor is on {x.device}; qkv computes on the CPU: use x.cpu()")
    if x.layout is not torch.strided or x.is_nested:
        kind = "nested" if x.is_nested else x.layout
        raise TypeError(f"{name}: the tensor is {kind}: use x.to_dense() or x.to_padded_tensor()")
    if x.dtype in (torch.int64, torch.int16):
        x = x.int()
    elif x.dtype not in _codes:
        kind = str(x.dtype).removeprefix("torch.")
        raise TypeError(f"{name}: expected float32, bfloat16, float16 or float64, got {kind}")
    x = x.resolve_neg()
    try:
        if not x.data_ptr() and x.numel():  # an efficient zero tensor has no memory
            x = x.clone()
        return (x.data_ptr(), _codes[x.dtype], x.shape, x.stride(), x)
    except RuntimeError:
        raise TypeError(f"{name}: the tensor has a shape but no data, or is a batch of torch.vmap") from None


def tensor_of(result):
    """A result of the extension module as a tensor."""
    return sys.modules["torch"].from_dlpack(result.__dlpack__())  # the capsule: half the time of the object


class Output:
    """Turns results of the extension module into arrays of the library and the type of x."""

    __slots__ = ("_from_dlpack", "_type", "numpy")

    def __init__(self, x):
        self._type = other_float(x)
        self._from_dlpack = None
        if torch_of(x):
            self._from_dlpack = tensor_of
        elif not isinstance(x, np.ndarray) and (namespace := getattr(x, "__array_namespace__", None)):
            self._from_dlpack = namespace().from_dlpack
        self.numpy = self._from_dlpack is None  # whether the extension module makes NumPy arrays

    def __call__(self, result):
        return converted(self.array(result), self._type)

    def array(self, result):
        """Of the library of x, as it is computed: float32, or bfloat16."""
        return result if self._from_dlpack is None else self._from_dlpack(result)

    def statistics(self, result):
        """Weights and log-sum-exp are float32 for 16-bit types."""
        return self(result) if self._type == "float64" else self.array(result)

    def gradient(self, result, x):
        """The gradient of x, with its shape and type."""
        grad = converted(self.array(result), other_float(x))
        shape = tuple(getattr(x, "shape", grad.shape))
        return grad if tuple(grad.shape) == shape else grad.reshape(shape)


def other_float(x):
    """The name of the type of x if it is computed in float32 and given back, else None."""
    name = str(getattr(x, "dtype", "")).removeprefix("torch.")
    return name if name in ("float64", "float16") else None


def converted(x, name):
    if name is None:
        return x
    return x.to(getattr(sys.modules["torch"], name)) if torch_of(x) else x.astype(name)
