"""The tensors of PyTorch that a Python function refers to: gradients flow to them."""

from __future__ import annotations

import functools
import inspect
import sys
import types

from ._function_arrays import returned


def captured(function):
    """The tensors that require gradients among what a function refers to: its closure, its globals, a module."""
    torch = sys.modules.get("torch")
    if torch is None:
        return ()
    found, seen, rest = {}, set(), [function]
    while rest:
        x = rest.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        if isinstance(x, torch.Tensor):
            found.update({id(x): x} if x.requires_grad else {})
        elif isinstance(x, torch.nn.Module):
            rest += x.parameters()
        elif isinstance(x, functools.partial):
            rest += [x.func, *x.args, *x.keywords.values()]
        elif inspect.ismethod(x):
            rest += [x.__self__, x.__func__]
        elif inspect.isfunction(x) and not str(x.__module__).startswith("torch."):
            rest += [cell.cell_contents for cell in x.__closure__ or () if cell != types.CellType()]  # not empty
            rest += [x.__globals__[name] for name in _names(x.__code__) if name in x.__globals__]
    return tuple(found.values())


def _names(code):
    inner = (constant for constant in code.co_consts if inspect.iscode(constant))
    return {*code.co_names, *(name for one in inner for name in _names(one))}


def used(function, tensors, name):
    """Those of the tensors that a score modification depends on, seen on one score."""
    torch = sys.modules["torch"]
    at = [torch.zeros(1, 1, 1, 1, dtype=torch.int64) for _ in range(4)]
    with torch.enable_grad(), with_autograd(torch):
        out = torch.as_tensor(returned(function(torch.zeros(1, 1, 1, 1), *at), name, "the scores"))
        if not out.requires_grad:
            return ()
        grads = torch.autograd.grad(out.sum(), tensors, allow_unused=True, retain_graph=True)
    return tuple(x for x, g in zip(tensors, grads) if g is not None)


def with_autograd(torch):
    """Autograd also within an operator, which PyTorch calls without it."""
    autograd = torch._C.DispatchKeySet(torch._C.DispatchKey.AutogradCPU)
    excluded = torch._C._dispatch_tls_local_exclude_set() - autograd
    return torch._C._ForceDispatchKeyGuard(torch._C._dispatch_tls_local_include_set(), excluded)
