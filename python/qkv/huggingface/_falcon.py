"""Falcon: one, several or as many key and value heads as query heads, rotary positions or ALiBi."""

from transformers.models.falcon.modeling_falcon import (
    FalconAttention,
    FalconFlashAttention2,
    apply_rotary_pos_emb,
)

from ._interface import attend


class Attention(FalconAttention):
    def forward(
        self,
        hidden_states,
        alibi,
        attention_mask,
        position_ids=None,
        layer_past=None,
        use_cache=False,
        output_attentions=False,
        position_embeddings=None,
        **kwargs,
    ):
        B, T, _ = hidden_states.shape
        # Rows of the product: for every key head its query heads, then the key and the value.
        heads = self.query_key_value(hidden_states).view(B, T, self._key_heads(), -1, self.head_dim)
        query = heads[:, :, :, :-2].flatten(2, 3).transpose(1, 2)
        key, value = heads[:, :, :, -2].transpose(1, 2), heads[:, :, :, -1].transpose(1, 2)
        if alibi is None:
            query, key = apply_rotary_pos_emb(query, key, *position_embeddings)
        if layer_past is not None:
            key, value = layer_past.update(key, value, self.layer_idx)
        # A mask of four axes has ALiBi in it. Weights are dropped only with ALiBi, as in the original.
        add_bias = alibi is not None and (attention_mask is None or attention_mask.dim() == 2)
        out, weights = attend(
            self,
            query,
            key,
            value,
            attention_mask,
            scaling=self.inv_norm_factor,
            dropout=0.0 if alibi is None else self.attention_dropout.p,
            position_bias=alibi.view(B, self.num_heads, 1, -1) * self.inv_norm_factor if add_bias else None,
            is_causal=True,
            output_attentions=output_attentions,
        )
        return self.dense(out.flatten(2)), weights

    def _key_heads(self):
        if self.new_decoder_architecture:
            return self.num_kv_heads
        return 1 if self.multi_query else self.num_heads


replacements = {FalconAttention: Attention, FalconFlashAttention2: Attention}
