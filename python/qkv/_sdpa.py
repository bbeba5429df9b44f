"""PyTorch's own names, computed here: the same arguments, the same results, the same errors where that can be."""

import torch
from torch.nn.attention.bias import CausalBias, CausalVariant

from ._call import parts_of
from ._masks import causal
from ._operator import Call, cast

_no_parts = parts_of()
_upper_left = parts_of(mask=causal(0))  # is_causal counts from the first query and the first key
_lower_right = parts_of(mask=causal())


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False
):
    """torch.nn.functional.scaled_dot_product_attention, computed here: the same arguments, the same results.

    float32 and bfloat16; other types are left to PyTorch.
    """
    if torch.is_autocast_enabled("cpu"):
        query, key, value = cast(query, key, value)
    _check(query, key, value, attn_mask, dropout_p, is_causal, scale)
    shape = _shape_of_scores(query, key, value, enable_gqa)
    if query.dtype not in (torch.float32, torch.bfloat16) or dropout_p == 1.0 or 0 in shape[:-2]:
        return torch.nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
        )
    if key.shape[-2] != value.shape[-2]:
        raise RuntimeError(f"key and value must have the same length, got {key.shape[-2]} and {value.shape[-2]}")
    parts = _upper_left if is_causal else _no_parts
    if isinstance(attn_mask, CausalBias):
        parts = _lower_right if attn_mask.variant == CausalVariant.LOWER_RIGHT else _upper_left
        attn_mask = None
    table, bias = (None, None) if attn_mask is None else normalize_attn_mask(attn_mask, shape, query.dtype)
    q, k, v = (_rows_together(_four_axes(x, shape)) for x in (query, key, value))
    if q.shape[1] == 1:
        q = _with_heads(q, shape)
    if k.shape[1] != v.shape[1]:
        k, v = _with_heads(k, shape), _with_heads(v, shape)
    out = Call(parts, table, bias, scale, dropout_p)(q, k, v)
    return out if len(shape) == 4 else out.reshape(*shape[:-1], out.shape[-1])


def _check(query, key, value, attn_mask, dropout_p, is_causal, scale):
    """Raises the errors of PyTorch."""
    for x, name in (
        (query, "query"),
        (key, "key"),
        (value, "value"),
        (query if attn_mask is None else attn_mask, "attn_mask"),
    ):
        if not isinstance(x, torch.Tensor):
            raise TypeError(f"scaled_dot_product_attention(): {name} must be a tensor, not {type(x).__name__}")
    for x, name in ((dropout_p, "dropout_p"), (0.0 if scale is None else scale, "scale")):
        if not isinstance(x, (int, float, torch.SymFloat, torch.SymInt)):
            raise TypeError(f"scaled_dot_product_attention(): {name} must be a number, not {type(x).__name__}")
    if query.dim() < 2 or key.dim() < 2 or value.dim() < 2:
        raise RuntimeError(
            "query, key and value need at least two axes, (length, width); they have "
            f"{query.dim()}, {key.dim()} and {value.dim()}"
        )
    if not query.dtype == key.dtype == value.dtype:
        raise RuntimeError(
            f"query, key and value must have the same dtype, got {query.dtype}, {key.dtype} and {value.dtype}"
        )
    if attn_mask is not None and is_causal:
        raise RuntimeError("attn_mask should not be set when is_causal=True: combine them in attn_mask")
    if not 0.0 <= dropout_p <= 1.0:
        raise RuntimeError(f"dropout_p is a probability between 0 and 1, got {dropout_p}")
    if query.shape[-1] != key.shape[-1]:
        raise RuntimeError(f"query and key must have the same width, got {query.shape[-1]} and {key.shape[-1]}")


def _shape_of_scores(query, key, value, enable_gqa):
    """(..., H, T, S): all axes before the last two broadcast, except heads that share keys."""
    if query.dim() == key.dim() == value.dim() == 4 and query.shape[:2] == key.shape[:2] == value.shape[:2]:
        return (*query.shape[:3], key.shape[2])
    lead = [x.shape[:-2] for x in (query, key, value)]
    if enable_gqa:
        if min(map(len, lead)) == 0:
            raise IndexError("enable_gqa: query, key and value need an axis of heads")
        heads, *of_keys = [x[-1] for x in lead]
        if any(heads % max(n, 1) or (n == 0 and heads) for n in of_keys):
            raise RuntimeError(
                "enable_gqa: the number of heads in key and value must divide the number of heads in query, "
                f"got {of_keys[0]} and {of_keys[1]} for {heads}"
            )
        lead = [lead[0], *((*x[:-1], 1) for x in lead[1:])]
    try:
        return (*torch.broadcast_shapes(*lead), query.shape[-2], key.shape[-2])
    except RuntimeError as error:
        raise RuntimeError(
            "the axes of query, key and value before the last two must broadcast"
            f"{'' if enable_gqa else ', or enable_gqa=True let heads share keys'}; got "
            f"{tuple(query.shape)}, {tuple(key.shape)} and {tuple(value.shape)}"
        ) from error


def _four_axes(x, shape):
    """x as (B, heads of its own, length, width)."""
    if x.dim() == len(shape) == 4 and x.shape[0] == shape[0] and x.shape[1] in (shape[1], 1):
        return x
    heads = x.shape[-3] if x.dim() > 2 else 1
    x = x.expand(*shape[:-3], heads, *x.shape[-2:])
    return x if x.dim() == 4 else x.reshape(-1, heads, *x.shape[-2:])


def _with_heads(x, shape):
    heads = shape[-3] if len(shape) > 2 else 1
    return x.expand(-1, heads, -1, -1) if x.shape[1] == 1 else x.repeat_interleave(heads // x.shape[1], 1)


def _rows_together(x):
    return x if x.stride(-1) == 1 or x.shape[-1] <= 1 else x.contiguous()


def normalize_attn_mask(attn_mask, shape, dtype):
    """attn_mask with four axes, as (booleans, None) or (None, numbers to add)."""
    of_numbers = attn_mask.dtype != torch.bool
    if of_numbers and attn_mask.dtype not in (dtype, torch.float32):
        raise RuntimeError(
            f"attn_mask must be of booleans, of float32 or of the type of query; "
            f"it is {attn_mask.dtype}, query {dtype}"
        )
    if attn_mask.dim() < 2:
        raise IndexError(
            f"attn_mask is {tuple(attn_mask.shape)}; it needs at least two axes, (T, S) = {tuple(shape[-2:])}"
        )
    given = (1,) * (len(shape) - attn_mask.dim()) + tuple(attn_mask.shape)
    if len(given) != len(shape) or any(n not in (1, whole) for n, whole in zip(given, shape)):
        advice = ""
        if len(shape) == 4 and tuple(attn_mask.shape) == (shape[0], shape[3]):
            advice = "; for a mask (B, S) of keys give it two axes more: attn_mask[:, None, None, :]"
        raise RuntimeError(
            f"attn_mask {tuple(attn_mask.shape)} does not broadcast to the scores, {tuple(shape)}{advice}"
        )
    table = attn_mask.reshape(given)
    if len(shape) < 4:
        table = table[(None,) * (4 - len(shape))]
    elif len(shape) > 4:
        lead = (1,) if all(n == 1 for n in given[:-3]) else shape[:-3]
        table = table.expand(*lead, *given[-3:]) if lead != (1,) else table
        table = table.reshape(-1, *given[-3:])
    return (None, table.float()) if of_numbers else (table, None)


def _table_and_bias(*masks):
    """Masks of PyTorch's layers, where true means masked and floats are added, as (table, bias) of a call."""
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

    def forward(
        self,
        query,
        key,
        value,
        key_padding_mask=None,
        need_weights=True,
        attn_mask=None,
        average_attn_weights=True,
        is_causal=False,
    ):
        batched = query.dim() == 3
        if not batched:
            query, key, value = (x.unsqueeze(0 if self.batch_first else 1) for x in (query, key, value))
        if not self.batch_first:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        q, k, v = self._project(query, key, value)
        (B, H, T, D), S = q.shape, k.shape[2]
        if self.bias_k is not None or self.add_zero_attn:
            raise NotImplementedError("MultiheadAttention: bias_k, bias_v and add_zero_attn are not computed here")
        of_pairs = (
            None
            if attn_mask is None
            else attn_mask.view(B, H, T, S)
            if attn_mask.dim() == 3
            else attn_mask[None, None]
        )
        of_keys = None if key_padding_mask is None else key_padding_mask[:, None, None]
        table, bias = _table_and_bias(of_pairs, of_keys)
        call = Call(_no_parts, table, bias, dropout=self.dropout if self.training else 0.0)
        out = self.out_proj(call(q, k, v).transpose(1, 2).reshape(B, T, H * D))
        weights = None
        if need_weights:
            weights, _ = call.weights_and_lse(q, k, v)
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
