"""Attention on PyTorch's tensors, three ways: a plain call of the extension module without gradients, an autograd
Function with them, and an operator where PyTorch traces, compiles or exports, and needs shapes before there are
numbers. The operator costs a few hundred microseconds in a training step, so it is used only there."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from . import _core
from ._arrays import tensor_as_buffer, tensor_of
from ._call import CallShape, MadeParts, Parts, checked_seed
from ._parts import Known


class Call:
    """The parts of a call, and tensors beside them.

    table, booleans that mask, and bias, added to the scores, have four axes that broadcast to (B, H, T, S). They
    may be another tensor in every call; parts are objects that stay. axes: of the queries as the user gave them.
    """

    __slots__ = ("axes", "bias", "dropout", "parts", "scale", "seed", "table")

    def __init__(self, parts, table=None, bias=None, scale=None, dropout=0.0, seed=None, axes=4):
        self.parts, self.table, self.bias, self.scale, self.dropout = parts, table, bias, scale, float(dropout)
        self.axes = axes
        # A number, or a tensor of one: a compiled call draws a new one each time that it runs.
        self.seed = (
            torch.randint(1 << 62, ()) if dropout and seed is None else None if seed is None else checked_seed(seed)
        )

    def __call__(self, q, k, v):
        if torch.is_autocast_enabled("cpu"):
            q, k, v = cast(q, k, v)
        numbers = [torch.as_tensor(x) for x in self.parts.arrays()]
        if _is_traced(q, k, v):
            seed = torch.tensor(self.seed) if isinstance(self.seed, int) else self.seed
            parts = _numbered(self.parts, self.axes)
            return _forward(q, k, v, numbers, parts, self.table, self.bias, self.scale, self.dropout, seed)[0]
        _check(q, k, v)
        spec, extra = self._spec(), (self.table, self.bias, self.seed, *numbers)
        if _needs_gradients(q, k, v, self.bias, *numbers):
            return _Attention.apply(spec, q, k, v, *extra)[0]
        return without_gradients(q, k, v, spec.made(q, k, *extra))

    def weights_and_lse(self, q, k, v, mean=False):
        """(weights, or their mean over the heads, and lse), without gradients."""
        numbers = [torch.as_tensor(x) for x in self.parts.arrays()]
        made = self._spec().made(q, k, self.table, self.bias, self.seed, *numbers)
        _, weights, lse = _core.attention(*_buffers(q, k, v), *made, 2 if mean else 1, False)
        return tensor_of(weights), tensor_of(lse)

    def _spec(self) -> "_Spec":
        return _Spec(self.parts, self.scale, self.dropout, self.axes)


def needs_no_tape(q, k, v):
    """Whether without_gradients() is enough: tensors with data, no gradients, no tracing, no autocast."""
    return (
        not torch.compiler.is_compiling()
        and type(q) is type(k) is type(v) is Tensor
        and not torch.is_autocast_enabled("cpu")
        and not _is_traced(q, k, v)
        and not _needs_gradients(q, k, v)
    )


def without_gradients(q, k, v, made: MadeParts):
    return tensor_of(_core.attention(*_buffers(q, k, v), *made, 0, False))


class _Spec:
    """What of a call is no tensor. Its tensors are arguments: table, bias, seed, and the arrays of the parts."""

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
        return tuple(map(tensor_of, _core.forward(*_buffers(q, k, v), *made, False)))

    def backward(self, grad, saved, q, k, v, table, bias, *more):
        """Gradients of q, k, v, of the numbers, and last of the bias, where there is one."""
        made = self.made(q, k, table, bias, *more, requires_grad=True)
        numbers = more[1:]
        if grad.stride(-1) != 1 and grad.shape[-1] > 1:
            grad = grad.contiguous()
        saved = tuple(tensor_as_buffer(torch, x, "saved") for x in saved)
        grad = tensor_as_buffer(torch, grad, "the gradient of the output")
        grads = _core.backward(saved, *_buffers(q, k, v), grad, *made, False)
        grads = [tensor_of(g) for g in grads]
        if bias is not None:
            before = 3 + sum(len(p.arrays) for p in (self.parts.score, *self.parts.modify) if p is not None)
            grads.append(grads.pop(before))
        of_numbers = [g.reshape(x.shape).to(x.dtype) for g, x in zip(grads[3:], numbers)]
        return *grads[:3], *of_numbers, *grads[3 + len(numbers) :]


def _one_after_another(function, info, in_dims, arguments):
    """The rule for vmap: one call for each, because masks and parts may have a batch of their own."""
    results = [
        function(*(x if dim is None else x.select(dim, n) for x, dim in zip(arguments, in_dims)))
        for n in range(info.batch_size)
    ]
    return tuple(map(torch.stack, zip(*results))), (0,) * len(results[0])


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(spec, *tensors):
        return spec.record(*tensors)

    @staticmethod
    def setup_context(ctx, inputs, outputs):
        spec, q, k, v, table, bias, seed, *numbers = inputs
        ctx.spec, ctx.seed = spec, seed
        ctx.mark_non_differentiable(*outputs[1:])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(q, k, v, table, bias, *outputs, *numbers)

    @staticmethod
    def backward(ctx, grad, *_):
        q, k, v, table, bias, out, maximum, inverse_sum, *numbers = ctx.saved_tensors
        if grad is None:
            return (None,) * (7 + len(numbers))
        arguments = (grad, out, maximum, inverse_sum, q, k, v, table, bias, ctx.seed, *numbers)
        grads = (
            _Once.apply(ctx.spec, *arguments) if torch.is_grad_enabled() else _Once.forward(ctx.spec, *arguments)
        )
        of_bias = None if bias is None else grads[-1].to(bias.dtype)
        return None, *grads[:3], None, of_bias, None, *(g.to(x.dtype) for g, x in zip(grads[3:], numbers))

    @staticmethod
    def vmap(info, in_dims, *arguments):
        return _one_after_another(_Attention.apply, info, in_dims, arguments)

    @staticmethod
    def jvp(ctx, *tangents):
        raise RuntimeError(
            "qkv.torch: attention has no forward-mode derivative; backward() and torch.autograd.grad have one"
        )


class _Once(torch.autograd.Function):
    """The backward under create_graph: its result has no gradient, and asking for one is an error."""

    @staticmethod
    def forward(spec, grad, out, maximum, inverse_sum, *tensors):
        return spec.backward(grad, (out, maximum, inverse_sum), *tensors)

    @staticmethod
    def setup_context(ctx, inputs, outputs):
        pass

    @staticmethod
    def backward(ctx, *_):
        raise RuntimeError("qkv.torch: attention can be differentiated once, not twice")

    @staticmethod
    def vmap(info, in_dims, *arguments):
        return _one_after_another(_Once.apply, info, in_dims, arguments)


def _is_traced(q, k, v):
    """Whether tensors may have no data: under torch.compile and export, fake tensors, the meta device."""
    return (
        torch.compiler.is_compiling()
        or torch._C._len_torch_dispatch_stack() > 0
        or any(type(x) not in (Tensor, torch.nn.Parameter) or x.is_meta for x in (q, k, v))
    )


def _needs_gradients(*tensors):
    return (
        (torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in tensors))
        or torch._C._are_functorch_transforms_active()
        or forward_ad._current_level >= 0
    )


def cast(*tensors):
    """As PyTorch's attention under autocast: all in bfloat16. Under autocast to float16, float32 stays."""
    dtype = torch.get_autocast_dtype("cpu")
    if dtype != torch.bfloat16:
        return tensors
    return [x.to(dtype) if x.dtype in (torch.float32, torch.float16) else x for x in tensors]


def _buffers(q, k, v) -> tuple[Any, Any, Any]:
    return tensor_as_buffer(torch, q, "q"), tensor_as_buffer(torch, k, "k"), tensor_as_buffer(torch, v, "v")


def _check(q, k, v):
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


# The operator: its arguments are tensors and numbers; a part is represented by its number.


def _numbered(parts, axes):
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
    return _Spec(parts, scale, dropout, axes)


@torch.library.custom_op("qkv::attention", mutates_args=())
def _forward(
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
    _check(q, k, v)
    return _numbered_spec(parts, scale, dropout).record(q, k, v, table, bias, seed, *numbers)


@_forward.register_fake
def _(q, k, v, numbers, parts, table, bias, scale, dropout, seed):
    _check(q, k, v)
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


_forward.register_autograd(_differentiate, setup_context=_save)
