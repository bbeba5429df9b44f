"""Attention on PyTorch's tensors, three ways: a plain call of the extension module without gradients, an autograd
Function with them, and an operator where PyTorch traces, compiles or exports, and needs shapes before there are
numbers. The operator costs a few hundred microseconds in a training step, so it is used only there."""

import torch
from torch import Tensor
from torch.autograd import forward_ad

from . import _core, _custom_op
from ._arrays import tensor_of
from ._call import MadeParts, checked_seed
from ._call_spec import CallSpec, as_buffers, check


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
            parts = _custom_op.numbered(self.parts, self.axes)
            return _custom_op.attention(
                q, k, v, numbers, parts, self.table, self.bias, self.scale, self.dropout, seed
            )[0]
        check(q, k, v)
        spec, extra = self._spec(), (self.table, self.bias, self.seed, *numbers)
        if _needs_gradients(q, k, v, self.bias, *numbers):
            return AttentionFunction.apply(spec, q, k, v, *extra)[0]
        return without_gradients(q, k, v, spec.made(q, k, *extra))

    def weights_and_lse(self, q, k, v, mean=False):
        """(weights, or their mean over the heads, and lse), without gradients."""
        numbers = [torch.as_tensor(x) for x in self.parts.arrays()]
        made = self._spec().made(q, k, self.table, self.bias, self.seed, *numbers)
        _, weights, lse = _core.attention(*as_buffers(q, k, v), *made, 2 if mean else 1, False)
        return tensor_of(weights), tensor_of(lse)

    def _spec(self) -> CallSpec:
        return CallSpec(self.parts, self.scale, self.dropout, self.axes)


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
    return tensor_of(_core.attention(*as_buffers(q, k, v), *made, 0, False))


def _one_after_another(function, info, in_dims, arguments):
    """The rule for vmap: one call for each, because masks and parts may have their own batch."""
    results = [
        function(*(x if dim is None else x.select(dim, n) for x, dim in zip(arguments, in_dims)))
        for n in range(info.batch_size)
    ]
    return tuple(map(torch.stack, zip(*results))), (0,) * len(results[0])


class AttentionFunction(torch.autograd.Function):
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
        return _one_after_another(AttentionFunction.apply, info, in_dims, arguments)

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
