// Phi-3 (Abdin et al., 2024): Llama with two fused matrices, one for queries, keys and values, one in the feed-forward
// network.
#include "qkv/published/family/family.h"

namespace qkv {
namespace {

TransformerConfig phi3_config(const HfConfig& hf) {
  const RotaryDefaults rotary = {.share = 1.0};
  TransformerConfig c = llama_config(hf, rotary);
  c.norm_eps = static_cast<float>(hf.number("rms_norm_eps", 1e-5));
  c.self_attention.decoder = windowed(hf, read_rotary(hf, c.head_width, rotary), {});
  return c;
}

TensorNames phi3_tensors(const HfConfig& hf, const TransformerConfig& ours) {
  TensorNames names = family::llama.tensors(hf, ours);
  const int64_t kv_heads = ours.kv_heads == 0 ? ours.heads : ours.kv_heads;
  const FusedRows rows = fused_rows(1, ours.heads / kv_heads, kv_heads * ours.head_width);
  const int64_t F = ours.ffn;
  for_each_layer(ours.decoder_layers, "model.layers.", [&](const std::string& to, const std::string& from) {
    const std::string gated = from + "mlp.gate_up_proj";
    names.fused_attention(to + "self_attention", from + "self_attn.qkv_proj", rows);
    names.linear(to + "feed_forward.gate", gated, {.rows = row_range(0, F)});
    names.linear(to + "feed_forward.up", gated, {.rows = row_range(F, 2 * F)});
  });
  return names;
}

}  // namespace

const Family family::phi3 = {"phi3", phi3_config, phi3_tensors};

}  // namespace qkv
