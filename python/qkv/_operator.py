"""Attention on PyTorch's tensors, three ways: straight to the extension module where nobody asks for gradients, through a
function of the tape where somebody does, and as an operator where PyTorch traces, compiles or maps, and wants to know
shapes before there are numbers. The operator costs a few hundred microseconds in a training step, and only there."""

import torch
from torch import Tensor
from torch.autograd import forward_ad

from . import _core
from ._arrays import look_at_tensor
from ._attention import Parts, checked_seed
from ._parts import Known


class Call:
    """The parts of a call, and tensors beside them.

    table: booleans that hide pairs, and bias: numbers added to scores, four axes that broadcast to (B, H, T, S); they may
    be another tensor in every call, where parts are objects that stay.
    """

    __slots__ = ("parts", "table", "bias", "scale", "dropout", "seed")

    def __init__(self, parts, table=None, bias=None, scale=None, dropout=0.0, seed=None):
        self.parts, self.table, self.bias, self.scale, self.dropout = parts, table, bias, scale, float(dropout)
        # A number, or a tensor of one: a compiled call draws a new one each time that it runs.
        self.seed = torch.randint(1 << 62, ()) if dropout and seed is None else None if seed is None else checked_seed(seed)

    def __call__(self, q, k, v):
        if torch.is_autocast_enabled("cpu"):
            q, k, v = cast(q, k, v)
        numbers = [torch.as_tensor(x) for x in self.parts.arrays()]
        if _is_traced(q, k, v):
            seed = torch.tensor(self.seed) if isinstance(self.seed, int) else self.seed
            return _forward(q, k, v, numbers, _numbered(self.parts), self.table, self.bias, self.scale, self.dropout, seed)[0]
        _check(q, k, v)
        form, beside = _Form(self.parts, self.scale, self.dropout), (self.table, self.bias, self.seed, *numbers)
        if _asks_for_gradients(q, k, v, self.bias, *numbers):
            return _OnTape.apply(form, q, k, v, *beside)[0]
        return straight(q, k, v, form.made(q, k, *beside))

    def weights(self, q, k, v):
        """(weights, lse), without gradients."""
        numbers = [torch.as_tensor(x) for x in self.parts.arrays()]
        made = _Form(self.parts, self.scale, self.dropout).made(q, k, self.table, self.bias, self.seed, *numbers)
        _, weights, lse = _core.attention(*_views(q, k, v), *made, True, False)
        return _given(weights), _given(lse)


def goes_straight(q, k, v):
    """Whether straight() will do: numbers in memory, and nobody who asks for gradients, traces or casts."""
    return (not torch.compiler.is_compiling() and type(q) is type(k) is type(v) is Tensor and not torch.is_autocast_enabled("cpu")
            and not _is_traced(q, k, v) and not _asks_for_gradients(q, k, v))


def straight(q, k, v, made):
    return _given(_core.attention(*_views(q, k, v), *made, False, False))


class _Form:
    """What of a call is no tensor. Its tensors are arguments: table, bias, seed, and the numbers of the parts."""

    __slots__ = ("parts", "scale", "dropout")

    def __init__(self, parts, scale, dropout):
        self.parts, self.scale, self.dropout = parts, scale, dropout

    def made(self, q, k, table, bias, seed, *numbers, learnt=False):
        """The objects of the extension module; bias stands behind the modifiers."""
        shape = (*q.shape[:3], k.shape[2])
        score, modify, mask, normalize, reweigh = self.parts.made(shape, [x.detach() for x in numbers], learnt)
        if self.scale is not None:
            score = _core.dot(self.scale)
        if bias is not None:
            modify += (_core.bias(look_at_tensor(torch, bias, "attn_mask"), learnt),)
        if table is not None:
            dense = _core.dense(look_at_tensor(torch, table, "attn_mask"))
            mask = dense if mask is None else mask & dense
        if self.dropout:
            reweigh += (_core.dropout(self.dropout, int(seed)),)
        return score, modify, mask, normalize, reweigh

    def record(self, q, k, v, *beside):
        """(out, maximum, inverse_sum): what the backward will want."""
        made = self.made(q, k, *beside)
        return tuple(map(_given, _core.record(*_views(q, k, v), *made, False)))

    def backward(self, grad, recorded, q, k, v, table, bias, *more):
        """Gradients of q, k, v, of the numbers, and last of the bias, where there is one."""
        made = self.made(q, k, table, bias, *more, learnt=True)
        if grad.stride(-1) != 1 and grad.shape[-1] > 1:
            grad = grad.contiguous()
        recorded = tuple(look_at_tensor(torch, x, "recorded") for x in recorded)
        grad = look_at_tensor(torch, grad, "the gradient of the output")
        grads = _core.backward(recorded, *_views(q, k, v), grad, *made, False)
        grads = [_given(g) for g in grads]
        if bias is not None:
            before = 3 + sum(len(p.arrays) for p in (self.parts.score, *self.parts.modify) if p is not None)
            grads.append(grads.pop(before))
        return tuple(grads)


def _one_after_another(function, info, in_dims, arguments):
    """The rule for vmap: masks and parts may belong to a batch of their own, and each call runs on all threads anyway."""
    results = [function(*(x if dim is None else x.select(dim, n) for x, dim in zip(arguments, in_dims)))
               for n in range(info.batch_size)]
    return tuple(map(torch.stack, zip(*results))), (0,) * len(results[0])


class _OnTape(torch.autograd.Function):
    @staticmethod
    def forward(form, *tensors):
        return form.record(*tensors)

    @staticmethod
    def setup_context(ctx, inputs, outputs):
        form, q, k, v, table, bias, seed, *numbers = inputs
        ctx.form, ctx.seed = form, seed
        ctx.mark_non_differentiable(*outputs[1:])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(q, k, v, table, bias, *outputs, *numbers)

    @staticmethod
    def backward(ctx, grad, *_):
        q, k, v, table, bias, out, maximum, inverse_sum, *numbers = ctx.saved_tensors
        if grad is None:
            return (None,) * (7 + len(numbers))
        arguments = (grad, out, maximum, inverse_sum, q, k, v, table, bias, ctx.seed, *numbers)
        grads = _Once.apply(ctx.form, *arguments) if torch.is_grad_enabled() else _Once.forward(ctx.form, *arguments)
        of_bias = None if bias is None else grads[-1].to(bias.dtype)
        return None, *grads[:3], None, of_bias, None, *(g.to(x.dtype) for g, x in zip(grads[3:], numbers))

    @staticmethod
    def vmap(info, in_dims, *arguments):
        return _one_after_another(_OnTape.apply, info, in_dims, arguments)

    @staticmethod
    def jvp(ctx, *tangents):
        raise RuntimeError("qkv.torch: attention has no forward-mode derivative; backward() and torch.autograd.grad have one")


class _Once(torch.autograd.Function):
    """The backward, where PyTorch would go on to differentiate it: what it gives is right, and cannot be differentiated."""

    @staticmethod
    def forward(form, grad, out, maximum, inverse_sum, *tensors):
        return form.backward(grad, (out, maximum, inverse_sum), *tensors)

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
    """Whether there may be no numbers: under torch.compile and export, with fake tensors and those of PyTorch's meta device."""
    return (torch.compiler.is_compiling() or torch._C._len_torch_dispatch_stack() > 0
            or any(type(x) not in (Tensor, torch.nn.Parameter) or x.is_meta for x in (q, k, v)))


def _asks_for_gradients(*tensors):
    return (torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in tensors)
            or torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0)


def cast(*tensors):
    """As PyTorch's attention under autocast: all in one type. float16 is not computed here; float32 stays."""
    dtype = torch.get_autocast_dtype("cpu")
    if dtype != torch.bfloat16:
        return tensors
    return [x.to(dtype) if x.dtype in (torch.float32, torch.float16) else x for x in tensors]


def _views(q, k, v):
    return look_at_tensor(torch, q, "q"), look_at_tensor(torch, k, "k"), look_at_tensor(torch, v, "v")


def _given(array):
    return torch.from_dlpack(array.__dlpack__())


def _check(q, k, v):
    for x, name in ((q, "q"), (k, "k"), (v, "v")):
        if x.dim() != 4:
            raise ValueError(f"attention: {name} is {tuple(x.shape)}; expected four axes, q (B,H,T,D), k (B,G,S,D), v (B,G,S,E)")
        if x.dtype not in (torch.float32, torch.bfloat16):
            raise TypeError(f"{name}: expected float32 or bfloat16, got {str(x.dtype).removeprefix('torch.')}")
    if k.shape[2] != v.shape[2]:
        raise ValueError(f"attention: k and v must have the same number of keys S; k is {tuple(k.shape)}, v is {tuple(v.shape)}")


# The operator: its arguments are tensors and numbers, and a part is the number by which it is found.


def _numbered(parts):
    """score, normalize, mask, how many modifiers, the modifiers, the reweighers; 0 is none."""

    def number(part):
        return 0 if part is None else part.number

    return [number(parts.score), number(parts.normalize), number(parts.mask), len(parts.modify),
            *map(number, parts.modify), *map(number, parts.reweigh)]


def _found(numbered):
    score, normalize, mask, count, *rest = numbered
    parts = Parts()
    parts.score, parts.normalize, parts.mask = Known.find(score), Known.find(normalize), Known.find(mask)
    parts.modify, parts.reweigh = tuple(map(Known.find, rest[:count])), tuple(map(Known.find, rest[count:]))
    parts.dropout = None
    return parts


@torch.library.custom_op("qkv::attention", mutates_args=())
def _forward(q: Tensor, k: Tensor, v: Tensor, numbers: list[Tensor], parts: list[int], table: Tensor | None,
             bias: Tensor | None, scale: float | None, dropout: float, seed: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    _check(q, k, v)
    return _Form(_found(parts), scale, dropout).record(q, k, v, table, bias, seed, *numbers)


@_forward.register_fake
def _(q, k, v, numbers, parts, table, bias, scale, dropout, seed):
    _check(q, k, v)
    statistics = q.new_empty(q.shape[:3], dtype=torch.float32)
    return _in_order_of(q, v.shape[3]), statistics, torch.empty_like(statistics)


@torch.library.custom_op("qkv::attention_backward", mutates_args=())
def _backward(grad: Tensor, out: Tensor, maximum: Tensor, inverse_sum: Tensor, q: Tensor, k: Tensor, v: Tensor,
              numbers: list[Tensor], parts: list[int], table: Tensor | None, bias: Tensor | None, scale: float | None,
              dropout: float, seed: Tensor | None) -> list[Tensor]:
    form = _Form(_found(parts), scale, dropout)
    return list(form.backward(grad, (out, maximum, inverse_sum), q, k, v, table, bias, seed, *numbers))


@_backward.register_fake
def _(grad, out, maximum, inverse_sum, q, k, v, numbers, parts, table, bias, scale, dropout, seed):
    more = numbers + ([] if bias is None else [bias])
    return [x.new_empty(x.shape) for x in (q, k, v, *more)]


def _in_order_of(x, last):
    """As the library allots results: axes in the memory order of x."""
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
