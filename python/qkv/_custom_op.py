"""Attention as an operator of PyTorch, for torch.compile and export. Its arguments are tensors and numbers: a mask
or another part is represented by its number."""

import torch
from torch import Tensor

from ._call import Parts
from ._call_spec import CallSpec, check
from ._parts import Known


def numbered(parts, axes):
    """score, normalize, mask, axes, the number of modifiers, the modifiers, the reweighers; 0 is none."""

    def number(part):
        return 0 if part is None else part.number

    return [
        number(parts.score),
        number(parts.normalize),
        number(parts.mask),
        axes,
        len(parts.modify),
        *map(number, parts.modify),
        *map(number, parts.reweigh),
    ]


def _numbered_spec(numbered, scale, dropout):
    score, normalize, mask, axes, count, *rest = numbered
    parts = Parts()
    parts.score, parts.normalize, parts.mask = Known.find(score), Known.find(normalize), Known.find(mask)
    parts.modify, parts.reweigh = tuple(map(Known.find, rest[:count])), tuple(map(Known.find, rest[count:]))
    parts.dropout = None
    return CallSpec(parts, scale, dropout, axes)


@torch.library.custom_op("qkv::attention", mutates_args=())
def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    numbers: list[Tensor],
    parts: list[int],
    table: Tensor | None,
    bias: Tensor | None,
    scale: float | None,
    dropout: float,
    seed: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    check(q, k, v)
    return _numbered_spec(parts, scale, dropout).record(q, k, v, table, bias, seed, *numbers)


@attention.register_fake
def _(q, k, v, numbers, parts, table, bias, scale, dropout, seed):
    check(q, k, v)
    statistics = q.new_empty(q.shape[:3], dtype=torch.float32)
    return _in_order_of(q, v.shape[3]), statistics, torch.empty_like(statistics)


@torch.library.custom_op("qkv::attention_backward", mutates_args=())
def _backward(
    grad: Tensor,
    out: Tensor,
    maximum: Tensor,
    inverse_sum: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    numbers: list[Tensor],
    parts: list[int],
    table: Tensor | None,
    bias: Tensor | None,
    scale: float | None,
    dropout: float,
    seed: Tensor | None,
) -> list[Tensor]:
    spec = _numbered_spec(parts, scale, dropout)
    return list(spec.backward(grad, (out, maximum, inverse_sum), q, k, v, table, bias, seed, *numbers))


@_backward.register_fake
def _(grad, out, maximum, inverse_sum, q, k, v, numbers, parts, table, bias, scale, dropout, seed):
    more = numbers + ([] if bias is None else [bias])
    return [x.new_empty(x.shape) for x in (q, k, v, *more)]


def _in_order_of(x, last):
    """As the library allocates results: axes in the memory order of x."""
    order = sorted(range(3), key=lambda axis: -x.stride(axis)) + [3]
    lengths = [*x.shape[:3], last]
    out = x.new_empty([lengths[axis] for axis in order])
    return out.permute([order.index(axis) for axis in range(4)])


def _save(ctx, inputs, output):
    q, k, v, numbers, parts, table, bias, scale, dropout, seed = inputs
    ctx.save_for_backward(q, k, v, table, bias, seed, *output, *numbers)
    ctx.call = (list(parts), scale, dropout)
    if not torch.compiler.is_compiling():
        ctx.alive = [Known._all.get(n) for n in parts]  # until the backward has run


def _differentiate(ctx, grad, *_):
    q, k, v, table, bias, seed, out, maximum, inverse_sum, *numbers = ctx.saved_tensors
    parts, scale, dropout = ctx.call
    grads = _backward(grad, out, maximum, inverse_sum, q, k, v, numbers, parts, table, bias, scale, dropout, seed)
    of_bias = grads[3 + len(numbers)] if bias is not None else None
    return grads[0], grads[1], grads[2], list(grads[3 : 3 + len(numbers)]), None, None, of_bias, None, None, None


attention.register_autograd(_differentiate, setup_context=_save)
