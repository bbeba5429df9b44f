"""Longformer: a sliding window, and global tokens with separate projections."""

import math

import torch
from transformers.models.longformer.modeling_longformer import LongformerSelfAttention

from .._call import parts_of
from .._masks import global_tokens, window
from .._operator import Call


class Attention(LongformerSelfAttention):
    def forward(
        self,
        hidden_states,
        attention_mask=None,
        is_index_masked=None,
        is_index_global_attn=None,
        is_global_attn=None,
        output_attentions=False,
    ):
        if output_attentions:  # the weights have a form of their own, which only their code makes
            return super().forward(
                hidden_states,
                attention_mask=attention_mask,
                is_index_masked=is_index_masked,
                is_index_global_attn=is_index_global_attn,
                is_global_attn=is_global_attn,
                output_attentions=True,
            )
        masked = is_index_masked if is_index_masked.any() else None
        visible = window(self.one_sided_attn_window_size)
        if is_global_attn:
            visible = visible | global_tokens(is_index_global_attn.int())
        out = self._attend(
            self.query(hidden_states), self.key(hidden_states), self.value(hidden_states), visible, masked
        )
        if masked is not None:
            out = out.masked_fill(masked[:, :, None], 0.0)
        if is_global_attn:
            out = self._with_global_rows(out, hidden_states, is_index_global_attn, masked)
        return (out,)

    def _attend(self, query, key, value, visible, masked):
        """Attention of projections (B, T, C), (B, S, C), (B, S, C); masked: keys (B, S) that no query sees."""
        query, key, value = (
            x.unflatten(2, (self.num_heads, self.head_dim)).transpose(1, 2) for x in (query, key, value)
        )
        table = None if masked is None else ~masked[:, None, None]
        dropout = self.dropout if self.training else 0.0
        call = Call(parts_of(mask=visible), table, None, 1 / math.sqrt(self.head_dim), dropout)
        return call(query, key, value).transpose(1, 2).flatten(2)

    def _with_global_rows(self, out, hidden_states, is_global, masked):
        """out with the rows of the global tokens replaced: they see all keys, by the second projections."""
        counts = is_global.sum(1)
        # (B, G) positions: those of a row first; a row with fewer than G has others behind them.
        order = is_global.int().argsort(dim=1, descending=True, stable=True)[:, : int(counts.max())]
        rows = torch.arange(len(order), device=order.device)[:, None]
        of_global = self._attend(
            self.query_global(hidden_states[rows, order]),
            self.key_global(hidden_states),
            self.value_global(hidden_states),
            None,
            masked,
        )
        counted = torch.arange(order.shape[1], device=order.device) < counts[:, None]
        return out.index_put((rows.expand_as(order)[counted], order[counted]), of_global[counted])


replacements = {LongformerSelfAttention: Attention}
