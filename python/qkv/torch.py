"""The same call for PyTorch, with gradients: to q, k, v and to every array of the parts.

    out = qkv.torch.attention(q, k, v, mask=qkv.causal(), modify=[qkv.alibi(slopes)])      # slopes may be a Parameter

Works under torch.compile: make masks and parts outside the compiled function, as they are objects, not tensors.
scaled_dot_product_attention and MultiheadAttention are PyTorch's, computed here.
"""

import torch
from torch import Tensor

from . import _core
from ._arrays import look_at_tensor
from ._attention import Parts, parts_of
from ._masks import causal
from ._parts import Known

__all__ = ["MultiheadAttention", "attention", "scaled_dot_product_attention"]


def attention(q, k, v, *, score=None, modify=(), mask=None, normalize=None, reweigh=(), dropout=0.0, seed=None, scale=None,
              return_weights=False, return_lse=False):
    """qkv.attention on tensors, with gradients. Weights and lse are numbers to look at: no gradient flows through them."""
    if scale is not None and score is not None:
        raise ValueError("scale belongs to the dot product, which another score replaces; some scores have a scale of their own")
    parts = parts_of(score, modify, mask, normalize, reweigh, 0.0, None, None)
    call = _Call(parts, scale=scale, dropout=dropout, seed=seed)
    out = call(q, k, v)
    if not (return_weights or return_lse):
        return out
    weights, lse = call.weights(q, k, v)
    return (out,) + ((weights,) if return_weights else ()) + ((lse,) if return_lse else ())


class _Call:
    """The parts of a call, as an operator takes them: numbers by which they are found, and tensors beside them.

    table: booleans that hide pairs, and bias: numbers added to scores, four axes that broadcast to (B, H, T, S); they may
    be another tensor in every call, where parts are objects that stay.
    """

    def __init__(self, parts, table=None, bias=None, scale=None, dropout=0.0, seed=None):
        self.parts, self.table, self.bias, self.scale, self.dropout = parts, table, bias, scale, float(dropout)
        self.seed = int(torch.randint(1 << 62, ())) if dropout and seed is None else seed or 0

    def __call__(self, q, k, v):
        numbers = [torch.as_tensor(x) for x in self.parts.arrays()]
        return _forward(q, k, v, numbers, _numbered(self.parts), self.table, self.bias, self.scale, self.dropout, self.seed)[0]

    def weights(self, q, k, v):
        numbers = [x.detach() for x in map(torch.as_tensor, self.parts.arrays())]
        made = _made(numbers, _numbered(self.parts), self.table, self.bias, self.scale, self.dropout, self.seed, _shape(q, k))
        _, weights, lse = _core.attention(*_views((q, "q"), (k, "k"), (v, "v")), *made, True, False)
        return torch.from_dlpack(weights), torch.from_dlpack(lse)


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


def _made(numbers, numbered, table, bias, scale, dropout, seed, shape, learnt=False):
    """The objects of the extension module."""
    parts = _found(numbered)
    parts.dropout = (dropout, seed) if dropout else None
    score, modify, mask, normalize, reweigh = parts.made(shape, numbers, learnt)
    if scale is not None:
        score = _core.dot(scale)
    if bias is not None:
        modify += (_core.bias(look_at_tensor(torch, bias.detach(), "attn_mask"), learnt),)
    if table is not None:
        dense = _core.dense(look_at_tensor(torch, table, "attn_mask"))
        mask = dense if mask is None else mask & dense
    return score, modify, mask, normalize, reweigh


def _shape(q, k):
    return (*q.shape[:3], k.shape[2])


def _views(*named):
    return [look_at_tensor(torch, x.detach(), name) for x, name in named]


@torch.library.custom_op("qkv::attention", mutates_args=())
def _forward(q: Tensor, k: Tensor, v: Tensor, numbers: list[Tensor], parts: list[int], table: Tensor | None,
             bias: Tensor | None, scale: float | None, dropout: float, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    _check(q, k, v)
    made = _made([x.detach() for x in numbers], parts, table, bias, scale, dropout, seed, _shape(q, k))
    result = _core.record(*_views((q, "q"), (k, "k"), (v, "v")), *made, False)
    return tuple(map(torch.from_dlpack, result))


@_forward.register_fake
def _(q, k, v, numbers, parts, table, bias, scale, dropout, seed):
    _check(q, k, v)
    statistics = q.new_empty(q.shape[:3], dtype=torch.float32)
    return _in_order_of(q, v.shape[3]), statistics, torch.empty_like(statistics)


@torch.library.custom_op("qkv::attention_backward", mutates_args=())
def _backward(grad: Tensor, out: Tensor, maximum: Tensor, inverse_sum: Tensor, q: Tensor, k: Tensor, v: Tensor,
              numbers: list[Tensor], parts: list[int], table: Tensor | None, bias: Tensor | None, scale: float | None,
              dropout: float, seed: int) -> list[Tensor]:
    made = _made([x.detach() for x in numbers], parts, table, bias, scale, dropout, seed, _shape(q, k), learnt=True)
    recorded = tuple(_views((out, "out"), (maximum, "maximum"), (inverse_sum, "inverse_sum")))
    if grad.stride(-1) != 1 and grad.shape[-1] > 1:
        grad = grad.contiguous()
    grads = _core.backward(recorded, *_views((q, "q"), (k, "k"), (v, "v"), (grad, "grad")), *made, False)
    grads = [torch.from_dlpack(g) for g in grads]
    if bias is not None:  # stands behind the modifiers; here it goes last
        found = _found(parts)
        before = 3 + sum(len(p.arrays) for p in (found.score, *found.modify) if p is not None)
        grads.append(grads.pop(before))
    return grads


@_backward.register_fake
def _(grad, out, maximum, inverse_sum, q, k, v, numbers, parts, table, bias, scale, dropout, seed):
    more = numbers + ([] if bias is None else [bias])
    return [_in_order_of(x, x.shape[3]) for x in (q, k, v)] + [x.new_empty(x.shape) for x in more]


def _in_order_of(x, last):
    """As the library allots results: axes in the memory order of x."""
    order = sorted(range(3), key=lambda axis: -x.stride(axis)) + [3]
    lengths = [*x.shape[:3], last]
    out = x.new_empty([lengths[axis] for axis in order])
    return out.permute([order.index(axis) for axis in range(4)])


def _save(ctx, inputs, output):
    q, k, v, numbers, parts, table, bias, scale, dropout, seed = inputs
    ctx.save_for_backward(q, k, v, table, bias, *output, *numbers)
    ctx.call = (list(parts), scale, dropout, seed)
    if not torch.compiler.is_compiling():
        ctx.alive = [Known._all.get(n) for n in parts]  # until the backward has run


def _differentiate(ctx, grad, *_):
    q, k, v, table, bias, out, maximum, inverse_sum, *numbers = ctx.saved_tensors
    parts, scale, dropout, seed = ctx.call
    grads = _backward(grad, out, maximum, inverse_sum, q, k, v, numbers, parts, table, bias, scale, dropout, seed)
    of_bias = grads[3 + len(numbers)] if bias is not None else None
    return grads[0], grads[1], grads[2], list(grads[3 : 3 + len(numbers)]), None, None, of_bias, None, None, None


_forward.register_autograd(_differentiate, setup_context=_save)


def _check(q, k, v):
    for x, name in ((q, "q"), (k, "k"), (v, "v")):
        if x.dim() != 4:
            raise ValueError(f"attention: {name} is {tuple(x.shape)}; expected four axes, q (B,H,T,D), k (B,G,S,D), v (B,G,S,E)")
        if x.dtype not in (torch.float32, torch.bfloat16):
            raise TypeError(f"{name}: expected float32 or bfloat16, got {str(x.dtype).removeprefix('torch.')}")
    if k.shape[2] != v.shape[2]:
        raise ValueError(f"attention: k and v must have the same number of keys S; k is {tuple(k.shape)}, v is {tuple(v.shape)}")


# PyTorch's own names.

_upper_left = causal(0)  # is_causal counts from the first query and the first key


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None,
                                 enable_gqa=False):
    """torch.nn.functional.scaled_dot_product_attention, computed here: the same arguments, the same results."""
    tensors = (query, key, value)
    if any(x.dim() < 2 for x in tensors):
        raise RuntimeError("Expected query, key, and value to all be at least 2 dimensional, but got query.dim: "
                           f"{query.dim()}, key.dim: {key.dim()} and value.dim: {value.dim()} instead.")
    if not query.dtype == key.dtype == value.dtype:
        raise RuntimeError("Expected query, key, and value to have the same dtype, but got "
                           f"query.dtype: {query.dtype}, key.dtype: {key.dtype}, and value.dtype: {value.dtype} instead.")
    if attn_mask is not None and is_causal:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if not 0.0 <= dropout_p <= 1.0:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p}")
    if query.dtype not in (torch.float32, torch.bfloat16):
        return torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale=scale,
                                                                enable_gqa=enable_gqa)
    if key.shape[-2] != value.shape[-2]:
        raise RuntimeError(f"key and value must have the same length, got {key.shape[-2]} and {value.shape[-2]}")
    if query.shape[-1] != key.shape[-1]:
        raise RuntimeError(f"query and key must have the same width, got {query.shape[-1]} and {key.shape[-1]}")
    if query.dim() >= 3 and not enable_gqa and query.shape[-3] != key.shape[-3] and 1 not in (query.shape[-3], key.shape[-3]):
        raise RuntimeError(f"query has {query.shape[-3]} heads, key {key.shape[-3]}: enable_gqa=True lets heads share keys")
    lead = torch.broadcast_shapes(query.shape[:-3], key.shape[:-3], value.shape[:-3]) if query.dim() > 2 else ()
    heads = _heads(query, key, value, enable_gqa)
    q, k, v = (_four_axes(x, lead, h) for x, h in zip(tensors, heads))
    if q.shape[1] % k.shape[1]:
        raise RuntimeError("Number of heads in key and value must divide the number of heads in query")
    if dropout_p == 1.0:
        return (query * 0).sum(-1, keepdim=True).expand(*query.shape[:-1], value.shape[-1]) * 0
    table, bias = _torch_mask(q, k, attn_mask, lead)
    parts = parts_of(None, (), _upper_left if is_causal else None, None, (), 0.0, None, None)
    call = _Call(parts, table, bias, scale, dropout_p)
    out = call(_rows_together(q), _rows_together(k), _rows_together(v))
    return out.reshape(*lead, *((q.shape[1],) if query.dim() > 2 else ()), *out.shape[2:])


def _rows_together(x):
    return x if x.stride(-1) == 1 or x.shape[-1] <= 1 else x.contiguous()


def _heads(query, key, value, enable_gqa):
    if query.dim() == 2:
        return 1, 1, 1
    most = query.shape[-3] if enable_gqa else max(query.shape[-3], key.shape[-3], value.shape[-3])
    shared = max(key.shape[-3], value.shape[-3])
    return max(most, 1), shared, shared


def _four_axes(x, lead, heads):
    if x.dim() == 2:
        return x[None, None]
    if x.shape[-3] != heads:
        x = x.expand(*x.shape[:-3], heads, *x.shape[-2:])
    x = x.expand(*lead, *x.shape[-3:])
    return x[None] if not lead else x if len(lead) == 1 else x.flatten(0, len(lead) - 1)


def _torch_mask(q, k, attn_mask, lead):
    """The mask as booleans, or as numbers to add."""
    if attn_mask is None:
        return None, None
    T, S = q.shape[2], k.shape[2]
    if attn_mask.dim() < 2:
        raise RuntimeError(f"attn_mask is {tuple(attn_mask.shape)}; expected at least (T, S) = ({T}, {S})")
    if attn_mask.dim() == 2 and tuple(attn_mask.shape) == (q.shape[0], S) and q.shape[0] not in (1, T):
        raise RuntimeError(f"attn_mask (B, S) = {tuple(attn_mask.shape)} does not broadcast to (B, H, T, S); give it two axes more: "
                           "attn_mask[:, None, None, :]")
    table = attn_mask
    if len(lead) > 1 and attn_mask.dim() > 3:
        table = attn_mask.expand(*lead, *attn_mask.shape[-3:]).flatten(0, len(lead) - 1)
    table = table[(None,) * (4 - table.dim())]
    if attn_mask.dtype == torch.bool:
        return table, None
    if attn_mask.dtype not in (q.dtype, torch.float32):
        raise RuntimeError("Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
                           f"{attn_mask.dtype} and  query.dtype: {q.dtype} instead.")
    return None, table.float()


def _hidden(*masks):
    """Masks as PyTorch's layers give them, where true is hidden and floats are added, as (table, bias) of a call."""
    table = bias = None
    for mask in masks:
        if mask is None:
            continue
        if mask.dtype == torch.bool:
            table = ~mask if table is None else table & ~mask
        else:
            bias = mask.float() if bias is None else bias + mask.float()
    return table, bias


class MultiheadAttention(torch.nn.MultiheadAttention):
    """torch.nn.MultiheadAttention, computed here: the same parameters, so its weights load."""

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True,
                is_causal=False):
        batched = query.dim() == 3
        if not batched:
            query, key, value = (x.unsqueeze(0 if self.batch_first else 1) for x in (query, key, value))
        if not self.batch_first:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        q, k, v = self._project(query, key, value)
        (B, H, T, D), S = q.shape, k.shape[2]
        if self.bias_k is not None or self.add_zero_attn:
            raise NotImplementedError("MultiheadAttention: bias_k, bias_v and add_zero_attn are not computed here")
        of_pairs = None if attn_mask is None else attn_mask.view(B, H, T, S) if attn_mask.dim() == 3 else attn_mask[None, None]
        of_keys = None if key_padding_mask is None else key_padding_mask[:, None, None]
        table, bias = _hidden(of_pairs, of_keys)
        parts = parts_of(None, (), None, None, (), 0.0, None, None)
        call = _Call(parts, table, bias, dropout=self.dropout if self.training else 0.0)
        out = self.out_proj(call(q, k, v).transpose(1, 2).reshape(B, T, H * D))
        weights = None
        if need_weights:
            weights, _ = call.weights(q, k, v)
            weights = weights.mean(1) if average_attn_weights else weights
        if not self.batch_first:
            out = out.transpose(0, 1)
        if not batched:
            out = out.squeeze(0 if self.batch_first else 1)
            weights = None if weights is None else weights.squeeze(0)
        return out, weights

    def _project(self, query, key, value):
        if self._qkv_same_embed_dim:
            matrices = self.in_proj_weight.chunk(3)
        else:
            matrices = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        rows = (torch.nn.functional.linear(x, w, b) for x, w, b in zip((query, key, value), matrices, biases))
        return [x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for x in rows]
