"""BigBird: blocks in a window, the first and the last block, and random blocks; or full attention.

A random block may be one that a query sees anyway. Its keys count again then, n times in all: ln n is added to
their scores. While a model is evaluated every random block is block 0.
"""

import math

import numpy as np
import torch
from transformers.models.big_bird.modeling_big_bird import (
    BigBirdAttention,
    BigBirdBlockSparseAttention,
    BigBirdSelfAttention,
)

from .._call import parts_of
from .._masks import blocks
from .._operator import Call
from ._interface import attend


class FullAttention(BigBirdSelfAttention):
    def forward(
        self,
        hidden_states,
        attention_mask=None,
        encoder_hidden_states=None,
        encoder_attention_mask=None,
        past_key_values=None,
        **kwargs,
    ):
        is_cross = encoder_hidden_states is not None
        query = self._heads(self.query(hidden_states))
        if is_cross and past_key_values is not None and past_key_values.get_seq_length(self.layer_idx) > 0:
            key, value = past_key_values.layers[self.layer_idx].keys, past_key_values.layers[self.layer_idx].values
        else:
            source = encoder_hidden_states if is_cross else hidden_states
            key, value = self._heads(self.key(source)), self._heads(self.value(source))
            if past_key_values is not None:
                key, value = past_key_values.update(key, value, self.layer_idx)
        out, weights = attend(
            self,
            query,
            key,
            value,
            encoder_attention_mask if is_cross else attention_mask,
            scaling=1 / math.sqrt(self.attention_head_size),
            dropout=self.dropout.p,
            is_causal=self.is_decoder and not is_cross,
            output_attentions=kwargs.get("output_attentions", False),
        )
        return out.flatten(2), weights

    def _heads(self, x):
        return x.unflatten(2, (self.num_attention_heads, self.attention_head_size)).transpose(1, 2)


class SparseAttention(BigBirdBlockSparseAttention):
    def forward(
        self,
        hidden_states,
        band_mask=None,
        from_mask=None,
        to_mask=None,
        from_blocked_mask=None,
        to_blocked_mask=None,
        **kwargs,
    ):
        if kwargs.get("output_attentions"):  # a table (B, H, T, T), which only their code makes
            return super().forward(
                hidden_states, band_mask, from_mask, to_mask, from_blocked_mask, to_blocked_mask, **kwargs
            )
        query, key, value = (
            f(hidden_states).unflatten(2, (self.num_attention_heads, self.attention_head_size)).transpose(1, 2)
            for f in (self.query, self.key, self.value)
        )
        padding = None if to_mask.all() else to_mask.bool()
        counts = self._block_counts(hidden_states.shape[1])
        again = (counts > 1).any((0, 2)).repeat_interleave(self.block_size)  # queries that count a key twice
        out = torch.empty_like(query)
        for rows in (~again, again):
            if rows.any():
                of_rows = counts[:, rows[:: self.block_size]]
                out = out.index_copy(
                    2, rows.nonzero()[:, 0], self._attend(query[:, :, rows], key, value, of_rows, padding)
                )
        return (out * from_mask).transpose(1, 2).flatten(2), None

    def _attend(self, query, key, value, counts, padding):
        """counts (H, t, s): how often queries of block t count the keys of block s."""
        bias = None
        if (counts > 1).any():
            if (counts.clamp(min=1) == counts.clamp(min=1)[:1, :1]).all():
                counts_of_bias = counts[:1, :1]  # the same for all queries, as while a model is evaluated
            else:
                counts_of_bias = counts.repeat_interleave(self.block_size, 1)
            bias = counts_of_bias.clamp(min=1).float().log().repeat_interleave(self.block_size, 2)[None]
        visible = blocks((counts > 0)[None], self.block_size)
        call = Call(parts_of(mask=visible), padding, bias, 1 / math.sqrt(self.attention_head_size))
        return call(query, key, value)

    def _block_counts(self, length):
        """(H, n, n) for n blocks: random blocks are drawn by their code, from the layer's seed while it trains."""
        H, n, block = self.num_attention_heads, length // self.block_size, self.block_size
        if self.training:
            np.random.seed(self.seed)
        if length in (1024, 3072, 4096):
            drawn = [
                self._bigbird_block_rand_mask(
                    self.max_seqlen, self.max_seqlen, block, block, self.num_random_blocks, last_idx=1024
                )[: n - 2]
                for _ in range(H)
            ]
        else:
            plan = self._get_rand_attn_plan(length, block, self.num_random_blocks)
            drawn = self._bigbird_block_rand_mask_with_head(length, length, block, block, H, *plan)
        at = torch.arange(n)
        near = ((at[:, None] - at).abs() <= 1) | (at == 0) | (at == n - 1)
        counts = near.int().repeat(H, 1, 1)
        random = torch.from_numpy(np.stack(drawn)).long()
        counts[:, 1:-1].scatter_add_(2, random, torch.ones_like(random, dtype=torch.int32))
        counts[:, [0, -1]] = 1
        return counts


class SwitchedAttention(BigBirdAttention):
    """BigBirdAttention, which replaces its own attention when a text is too short for blocks."""

    def set_attention_type(self, value, layer_idx=None):
        super().set_attention_type(value, layer_idx)
        self.self.__class__ = replacements.get(type(self.self), type(self.self))


replacements = {
    BigBirdAttention: SwitchedAttention,
    BigBirdSelfAttention: FullAttention,
    BigBirdBlockSparseAttention: SparseAttention,
}
