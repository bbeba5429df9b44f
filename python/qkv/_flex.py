"""torch.nn.attention.flex_attention's call, computed here."""

import math
import weakref

import torch
from torch.nn.attention.flex_attention import BlockMask, noop_mask

from ._call import parts_of
from ._mask_mod import mask_mod
from ._masks import blocks
from ._operator import Call
from ._score_mod import score_mod as score_mod_part


@torch.compiler.disable  # parts are made in every call: a compiled function calls this one outside of its graphs
def flex_attention(
    query,
    key,
    value,
    score_mod=None,
    block_mask=None,
    scale=None,
    enable_gqa=False,
    return_lse=False,
    kernel_options=None,
):
    """torch.nn.attention.flex_attention.flex_attention on the CPU, forward and backward, without torch.compile.

    query (B, H, T, D), key (B, G, S, D), value (B, G, S, E). score_mod(score, b, h, q_idx, kv_idx) is called on
    tiles and differentiated by autograd; gradients flow to the tensors in its closure. block_mask is a BlockMask,
    or a function mask_mod(b, h, q_idx, kv_idx). Tiles that are masked are not computed, those that are fully
    visible without a mask. return_lse gives (out, lse (B, H, T)); no gradient flows through lse. kernel_options are
    ignored.
    """
    for x, name in ((query, "query"), (key, "key"), (value, "value")):
        if x.dim() != 4:
            raise ValueError(
                f"flex_attention: {name} must have four axes, (B, H, length, width), got {tuple(x.shape)}"
            )
    H, G = query.shape[1], key.shape[1]
    if H != G and not enable_gqa:
        raise ValueError(f"flex_attention: query has {H} heads and key {G}: pass enable_gqa=True for grouped-query")
    if key.shape[0] == 1 != query.shape[0]:
        key, value = (x.expand(query.shape[0], -1, -1, -1) for x in (key, value))
    mask = None if block_mask is None else _mask_of(block_mask, query.shape[2], key.shape[2])
    parts = parts_of(modify=() if score_mod is None else score_mod_part(score_mod), mask=mask)
    call = Call(parts, scale=scale)
    q, k, v = (x if x.stride(-1) == 1 else x.contiguous() for x in (query, key, value))
    out = call(q, k, v)
    return (out, call.weights_and_lse(q, k, v)[1]) if return_lse else out


_masks: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # of block masks and functions, by the lengths


def _mask_of(given, T, S):
    by_lengths = _masks.setdefault(given, {})
    if (T, S) not in by_lengths:
        by_lengths.clear()
        by_lengths[T, S] = _block_mask(given, T, S) if isinstance(given, BlockMask) else mask_mod(given)
    return by_lengths[T, S]


def _block_mask(given, T, S):
    """The full blocks, and of the others what mask_mod shows."""
    lengths = tuple(given.seq_lengths)
    if lengths[0] < T or lengths[1] < S:
        raise ValueError(f"flex_attention: block_mask is for lengths {lengths}; query has {T}, key has {S}")
    rows, columns = given.BLOCK_SIZE
    block = math.gcd(rows, columns)

    def mask(counts, indices):
        table = _table(counts, indices)
        table = table.repeat_interleave(rows // block, -2).repeat_interleave(columns // block, -1)
        return blocks(table[..., : -(-T // block), : -(-S // block)].contiguous(), block)

    visible = mask(given.kv_num_blocks, given.kv_indices)
    if given.mask_mod is not noop_mask:
        visible = visible & mask_mod(given.mask_mod)
    if given.full_kv_num_blocks is not None:
        visible = visible | mask(given.full_kv_num_blocks, given.full_kv_indices)
    return visible


def _table(counts, indices):
    """Booleans (B, H, rows, columns) from the number of blocks in each row (B, H, rows) and their columns."""
    columns = indices.shape[-1]
    is_used = torch.arange(columns) < counts[..., None]
    table = torch.zeros(*indices.shape[:-1], columns + 1, dtype=torch.bool)
    table.scatter_(-1, torch.where(is_used, indices, columns).long(), True)
    return table[..., :columns]
