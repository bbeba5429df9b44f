"""Arrays of NumPy, PyTorch and other libraries: how the extension module is shown them, and what is given back."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

Array = Any  # of NumPy, of PyTorch on the CPU, or anything with DLPack


def torch_of(x):
    """The module torch, if x is a tensor of it; it is never imported for that."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(x, torch.Tensor) else None


def as_buffer(x, name):
    """x as the extension module wants it. Nothing is copied."""
    if type(x) is np.ndarray:
        return x
    torch = torch_of(x)
    if torch:
        return look_at_tensor(torch, x, name)
    if x is None or isinstance(x, np.ma.MaskedArray):
        hint = "" if x is None else ", whose mask would be lost: give its data, and the mask as a mask of qkv"
        raise TypeError(f"{name}: expected an array (NumPy, PyTorch, or anything with DLPack), got {type(x).__name__}{hint}")
    return x


_codes: dict[Any, int] = {}


def look_at_tensor(torch, x, name):
    if not _codes:
        _codes.update({torch.float32: 0, torch.bfloat16: 1, torch.int32: 2, torch.uint8: 3, torch.bool: 3})
    code = _codes.get(x.dtype)
    if code is not None and x.is_cpu and not x.is_neg():  # few questions: small calls are mostly these
        try:
            if address := x.data_ptr():
                return (address, code, x.shape, x.stride(), x)
        except RuntimeError:  # sparse, nested, or without numbers: told below
            pass
    return _look_closely(torch, x, name)


def _look_closely(torch, x, name):
    """At a tensor that is not plain numbers in memory: what can be done, or why nothing can."""
    if x.device.type != "cpu":
        raise TypeError(f"{name}: the tensor is on {x.device}; qkv computes on the CPU: x.cpu() brings it there")
    if x.layout is not torch.strided or x.is_nested:
        kind = "nested" if x.is_nested else x.layout
        raise TypeError(f"{name}: the tensor is {kind}; x.to_dense() or x.to_padded_tensor() makes it one that can be read")
    if x.dtype in (torch.int64, torch.int16):
        x = x.int()
    elif x.dtype not in _codes:
        raise TypeError(f"{name}: expected float32 or bfloat16, got {str(x.dtype).removeprefix('torch.')}")
    x = x.resolve_neg()
    try:
        if not x.data_ptr() and x.numel():  # zeros that PyTorch has not written down
            x = x.clone()
        return (x.data_ptr(), _codes[x.dtype], x.shape, x.stride(), x)
    except RuntimeError:
        raise TypeError(f"{name}: the tensor has no numbers, only a shape, or is one of many that vmap maps over") from None


def tensor_of(result):
    """A result of the extension module as a tensor of PyTorch; who asks for the capsule himself has it in half the time."""
    return sys.modules["torch"].from_dlpack(result.__dlpack__())


def output_converter(x):
    """What turns a result into an array of the kind of x."""
    if type(x) is np.ndarray:
        return None
    torch = torch_of(x)
    if torch:
        return tensor_of
    namespace = getattr(x, "__array_namespace__", None)
    return namespace().from_dlpack if namespace else None
