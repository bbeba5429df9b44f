"""BLOOM: heads of queries, keys and values side by side, ALiBi, and the residual added inside."""

from transformers.models.bloom.modeling_bloom import BloomAttention, dropout_add

from ._interface import attend


class Attention(BloomAttention):
    def forward(
        self,
        hidden_states,
        residual,
        alibi,
        attention_mask,
        layer_past=None,
        use_cache=False,
        output_attentions=False,
        **kwargs,
    ):
        B = len(hidden_states)
        query, key, value = self._reshape(self.query_key_value(hidden_states))
        if layer_past is not None:
            key, value = layer_past.update(key, value, self.layer_idx)
        out, weights = attend(
            self,
            query,
            key,
            value,
            attention_mask,
            scaling=self.inv_norm_factor,
            dropout=self.attention_dropout.p,
            position_bias=alibi.view(B, self.num_heads, 1, -1),
            is_causal=True,
            output_attentions=output_attentions,
        )
        out = self.dense(out.flatten(2))
        return dropout_add(out, residual, self.hidden_dropout, self.training), weights


replacements = {BloomAttention: Attention}
