"""The operations beside attention() on PyTorch's tensors, with gradients."""

import torch

from . import _core
from ._arrays import as_buffer, tensor_as_buffer, tensor_of
from ._call import CallShape, checked_mask, parts_of
from ._operations import LocalP, buffers, local_p_parts, rotary_options
from ._operator import Call


class _Operation(torch.autograd.Function):
    """An operation of the extension module: operation(inputs, None or the gradient, numpy, options...)."""

    @staticmethod
    def forward(ctx, name, options, *inputs):
        ctx.name, ctx.options = name, options
        ctx.save_for_backward(*inputs)
        return tensor_of(getattr(_core, name)(buffers(name, inputs), None, False, *options))

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        inputs = ctx.saved_tensors
        upstream = tensor_as_buffer(torch, grad.contiguous(), "the gradient of the output")
        grads = getattr(_core, ctx.name)(buffers(ctx.name, inputs), upstream, False, *ctx.options)
        return None, None, *(None if g is None else tensor_of(g).to(x.dtype) for g, x in zip(grads, inputs))


def _apply(name, inputs, *options):
    first = inputs[0]
    return _Operation.apply(name, options, *inputs).to(first.dtype)


def softmax(x):
    """qkv.softmax with gradients."""
    return _apply("softmax", (x,))


def masked_softmax(x, lengths):
    """qkv.masked_softmax with gradients."""
    return _apply("masked_softmax", (x,), as_buffer(lengths, "masked_softmax: lengths"))


def rotary(q, *, interleaved=False, base=10000.0, offset=0, width=0, frequencies=(), multiplier=1.0):
    """qkv.rotary with gradients."""
    return _apply("rotary", (q,), *rotary_options(interleaved, base, offset, width, frequencies, multiplier))


def normalize_heads(out, weight, *, eps=1e-5, lambda_=0.0):
    """qkv.normalize_heads with gradients."""
    return _apply("normalize_heads", (out, weight), eps, lambda_)


def gate_heads(out, weight, bias=None):
    """qkv.gate_heads with gradients."""
    return _apply("gate_heads", (out, weight, bias))


def local_p(q, w_p, v_p, lengths, window) -> LocalP:
    """qkv.local_p with gradients to q, w_p and v_p, through the reweighting."""
    p = _apply("local_p", (q, w_p, v_p), as_buffer(lengths, "local_p: lengths"), window)
    return local_p_parts(p, p.detach(), window)


def multi_token_attention(
    q,
    k,
    v,
    *,
    pre_conv=None,
    pre_mix=None,
    post_conv=None,
    post_head=None,
    post_mix=None,
    pad_key="both",
    mask=None,
    scale=None,
):
    """qkv.multi_token_attention with gradients to all arrays."""
    made = checked_mask(mask)
    B, H, T = q.shape[:3]
    visible = None if made is None else made.of(CallShape(B, H, T, k.shape[2], 4, True))
    inputs = q, k, v, pre_conv, pre_mix, post_conv, post_head, post_mix
    return _apply("multi_token_attention", inputs, pad_key, visible, scale)


def attention_packed(q, k, v, q_offsets, k_offsets=None, **options):
    """qkv.attention_packed with gradients: attention() of each sequence in turn."""
    q_offsets = [int(n) for n in q_offsets]
    k_offsets = q_offsets if k_offsets is None else [int(n) for n in k_offsets]
    for offsets, x, name in ((q_offsets, q, "q_offsets"), (k_offsets, k, "k_offsets")):
        if not offsets or offsets[0] != 0 or offsets[-1] != x.shape[0] or sorted(offsets) != offsets:
            raise ValueError(f"attention_packed: {name} must rise from 0 to {x.shape[0]}, got {offsets}")
    if len(q_offsets) != len(k_offsets):
        raise ValueError(f"attention_packed: {len(q_offsets)} q_offsets but {len(k_offsets)} k_offsets")
    dropout, seed = options.pop("dropout", 0.0), options.pop("seed", None)
    call = Call(parts_of(**options), dropout=dropout, seed=seed)
    results = [q.new_empty(0, q.shape[1], v.shape[2])]
    for n in range(len(q_offsets) - 1):
        rows, keys = slice(*q_offsets[n : n + 2]), slice(*k_offsets[n : n + 2])
        one = (x.transpose(0, 1)[None] for x in (q[rows], k[keys], v[keys]))
        results.append(call(*one)[0].transpose(0, 1))
    return torch.cat(results)
