"""A call on tensors of PyTorch, forward and backward, in the extension module."""

from typing import Any

import torch

from . import _core
from ._arrays import tensor_as_buffer, tensor_of
from ._call import CallShape, MadeParts


class CallSpec:
    """The part of a call that is not tensors. The tensors are arguments: table, bias, seed, arrays of the parts."""

    __slots__ = ("axes", "dropout", "parts", "scale")

    def __init__(self, parts, scale, dropout, axes=4):
        self.parts, self.scale, self.dropout, self.axes = parts, scale, dropout, axes

    def made(self, q, k, table, bias, seed, *numbers, requires_grad=False) -> MadeParts:
        """The objects of the extension module; bias is applied after the modifiers."""
        B, H, T = q.shape[:3]
        shape = CallShape(B, H, T, k.shape[2], self.axes, True)
        score, modify, mask, normalize, reweigh = self.parts.made(
            shape, [x.detach() for x in numbers], requires_grad
        )
        if self.scale is not None:
            score = _core.dot(self.scale)
        if bias is not None:
            modify += (_core.bias(tensor_as_buffer(torch, bias, "attn_mask"), False, requires_grad),)
        if table is not None:
            dense = _core.dense(tensor_as_buffer(torch, table, "attn_mask"), False)
            mask = dense if mask is None else mask & dense
        if self.dropout:
            reweigh += (_core.weight_dropout(self.dropout, int(seed), 0),)
        return score, modify, mask, normalize, reweigh

    def record(self, q, k, v, *extra):
        """(out, maximum, inverse_sum): what the backward reads."""
        made = self.made(q, k, *extra)
        return tuple(map(tensor_of, _core.forward(*as_buffers(q, k, v), *made, False)))

    def backward(self, grad, saved, q, k, v, table, bias, *more):
        """Gradients of q, k, v, of the numbers, and last of the bias, where there is one."""
        made = self.made(q, k, table, bias, *more, requires_grad=True)
        numbers = more[1:]
        if grad.stride(-1) != 1 and grad.shape[-1] > 1:
            grad = grad.contiguous()
        saved = tuple(tensor_as_buffer(torch, x, "saved") for x in saved)
        grad = tensor_as_buffer(torch, grad, "the gradient of the output")
        grads = _core.backward(saved, *as_buffers(q, k, v), grad, *made, False)
        grads = [tensor_of(g) for g in grads]
        if bias is not None:
            before = 3 + sum(len(p.arrays) for p in (self.parts.score, *self.parts.modify) if p is not None)
            grads.append(grads.pop(before))
        of_numbers = [g.reshape(x.shape).to(x.dtype) for g, x in zip(grads[3:], numbers)]
        return *grads[:3], *of_numbers, *grads[3 + len(numbers) :]


def as_buffers(q, k, v) -> tuple[Any, Any, Any]:
    return tensor_as_buffer(torch, q, "q"), tensor_as_buffer(torch, k, "k"), tensor_as_buffer(torch, v, "v")


def check(q, k, v):
    for x, name in ((q, "q"), (k, "k"), (v, "v")):
        if x.dim() != 4:
            raise ValueError(
                f"attention: {name} is {tuple(x.shape)}; expected four axes, q (B,H,T,D), k (B,G,S,D), v (B,G,S,E)"
            )
        if x.dtype not in (torch.float32, torch.bfloat16):
            kind = str(x.dtype).removeprefix("torch.")
            raise TypeError(f"{name}: expected float32, bfloat16, float16 or float64, got {kind}")
    if k.shape[2] != v.shape[2]:
        raise ValueError(
            f"attention: k and v must have the same number of keys S; k is {tuple(k.shape)}, v is {tuple(v.shape)}"
        )
