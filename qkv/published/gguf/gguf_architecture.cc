#include "qkv/published/gguf/gguf_architecture.h"

#include <numeric>
#include <optional>

#include "qkv/base/error.h"
#include "qkv/base/names.h"
#include "qkv/published/family/family.h"
#include "qkv/published/gguf/gguf_settings.h"
#include "qkv/published/huggingface/huggingface_folder.h"

namespace qkv {
namespace {

constexpr GgufName llama_names[] = {
    {"model.embed_tokens", "token_embd"},
    {"model.norm", "output_norm"},
    {"lm_head", "output"},
    {"model.layers.#.input_layernorm", "blk.#.attn_norm"},
    {"model.layers.#.self_attn.q_proj", "blk.#.attn_q"},
    {"model.layers.#.self_attn.k_proj", "blk.#.attn_k"},
    {"model.layers.#.self_attn.v_proj", "blk.#.attn_v"},
    {"model.layers.#.self_attn.qkv_proj", "blk.#.attn_qkv"},
    {"model.layers.#.self_attn.o_proj", "blk.#.attn_output"},
    {"model.layers.#.self_attn.q_norm", "blk.#.attn_q_norm"},
    {"model.layers.#.self_attn.k_norm", "blk.#.attn_k_norm"},
    {"model.layers.#.post_attention_layernorm", "blk.#.ffn_norm"},
    {"model.layers.#.mlp.gate_proj", "blk.#.ffn_gate"},
    {"model.layers.#.mlp.up_proj", "blk.#.ffn_up"},
    {"model.layers.#.mlp.gate_up_proj", "blk.#.ffn_up"},
    {"model.layers.#.mlp.down_proj", "blk.#.ffn_down"},
};
constexpr GgufName gemma_names[] = {
    {"model.embed_tokens", "token_embd"},
    {"model.norm", "output_norm"},
    {"lm_head", "output"},
    {"model.layers.#.input_layernorm", "blk.#.attn_norm"},
    {"model.layers.#.self_attn.q_proj", "blk.#.attn_q"},
    {"model.layers.#.self_attn.k_proj", "blk.#.attn_k"},
    {"model.layers.#.self_attn.v_proj", "blk.#.attn_v"},
    {"model.layers.#.self_attn.o_proj", "blk.#.attn_output"},
    {"model.layers.#.self_attn.q_norm", "blk.#.attn_q_norm"},
    {"model.layers.#.self_attn.k_norm", "blk.#.attn_k_norm"},
    {"model.layers.#.post_attention_layernorm", "blk.#.post_attention_norm"},
    {"model.layers.#.pre_feedforward_layernorm", "blk.#.ffn_norm"},
    {"model.layers.#.post_feedforward_layernorm", "blk.#.post_ffw_norm"},
    {"model.layers.#.mlp.gate_proj", "blk.#.ffn_gate"},
    {"model.layers.#.mlp.up_proj", "blk.#.ffn_up"},
    {"model.layers.#.mlp.down_proj", "blk.#.ffn_down"},
};
constexpr GgufName gpt2_names[] = {
    {"transformer.wte", "token_embd"},
    {"transformer.wpe", "position_embd"},
    {"transformer.ln_f", "output_norm"},
    {"lm_head", "output"},
    {"transformer.h.#.ln_1", "blk.#.attn_norm"},
    {"transformer.h.#.attn.c_attn", "blk.#.attn_qkv"},
    {"transformer.h.#.attn.c_proj", "blk.#.attn_output"},
    {"transformer.h.#.ln_2", "blk.#.ffn_norm"},
    {"transformer.h.#.mlp.c_fc", "blk.#.ffn_up"},
    {"transformer.h.#.mlp.c_proj", "blk.#.ffn_down"},
};
constexpr GgufName gpt_neox_names[] = {
    {"gpt_neox.embed_in", "token_embd"},
    {"gpt_neox.final_layer_norm", "output_norm"},
    {"embed_out", "output"},
    {"gpt_neox.layers.#.input_layernorm", "blk.#.attn_norm"},
    {"gpt_neox.layers.#.attention.query_key_value", "blk.#.attn_qkv"},
    {"gpt_neox.layers.#.attention.dense", "blk.#.attn_output"},
    {"gpt_neox.layers.#.post_attention_layernorm", "blk.#.ffn_norm"},
    {"gpt_neox.layers.#.mlp.dense_h_to_4h", "blk.#.ffn_up"},
    {"gpt_neox.layers.#.mlp.dense_4h_to_h", "blk.#.ffn_down"},
};
// BLOOM and Falcon: the first norm of a layer is the only one, or that of attention, or, with two, that of the
// feed-forward network.
constexpr GgufName bloom_names[] = {
    {"transformer.word_embeddings", "token_embd"},
    {"transformer.word_embeddings_layernorm", "token_embd_norm"},
    {"transformer.ln_f", "output_norm"},
    {"lm_head", "output"},
    {"transformer.h.#.input_layernorm", "blk.#.attn_norm"},
    {"transformer.h.#.ln_mlp", "blk.#.attn_norm"},
    {"transformer.h.#.ln_attn", "blk.#.attn_norm_2"},
    {"transformer.h.#.self_attention.query_key_value", "blk.#.attn_qkv"},
    {"transformer.h.#.self_attention.dense", "blk.#.attn_output"},
    {"transformer.h.#.post_attention_layernorm", "blk.#.ffn_norm"},
    {"transformer.h.#.mlp.dense_h_to_4h", "blk.#.ffn_up"},
    {"transformer.h.#.mlp.dense_4h_to_h", "blk.#.ffn_down"},
};
constexpr GgufName bert_names[] = {
    {"bert.embeddings.word_embeddings", "token_embd"},
    {"bert.embeddings.position_embeddings", "position_embd"},
    {"bert.embeddings.token_type_embeddings", "token_types"},
    {"bert.embeddings.LayerNorm", "token_embd_norm"},
    {"bert.encoder.layer.#.attention.self.query", "blk.#.attn_q"},
    {"bert.encoder.layer.#.attention.self.key", "blk.#.attn_k"},
    {"bert.encoder.layer.#.attention.self.value", "blk.#.attn_v"},
    {"bert.encoder.layer.#.attention.output.dense", "blk.#.attn_output"},
    {"bert.encoder.layer.#.attention.output.LayerNorm", "blk.#.attn_output_norm"},
    {"bert.encoder.layer.#.intermediate.dense", "blk.#.ffn_up"},
    {"bert.encoder.layer.#.output.dense", "blk.#.ffn_down"},
    {"bert.encoder.layer.#.output.LayerNorm", "blk.#.layer_output_norm"},
};
constexpr GgufName t5_names[] = {
    {"shared", "token_embd"},
    {"lm_head", "output"},
    {"encoder.block.#.layer.0.layer_norm", "enc.blk.#.attn_norm"},
    {"encoder.block.#.layer.0.SelfAttention.q", "enc.blk.#.attn_q"},
    {"encoder.block.#.layer.0.SelfAttention.k", "enc.blk.#.attn_k"},
    {"encoder.block.#.layer.0.SelfAttention.v", "enc.blk.#.attn_v"},
    {"encoder.block.#.layer.0.SelfAttention.o", "enc.blk.#.attn_o"},
    {"encoder.block.#.layer.0.SelfAttention.relative_attention_bias", "enc.blk.#.attn_rel_b"},
    {"encoder.block.#.layer.1.layer_norm", "enc.blk.#.ffn_norm"},
    {"encoder.block.#.layer.1.DenseReluDense.wi", "enc.blk.#.ffn_up"},
    {"encoder.block.#.layer.1.DenseReluDense.wi_0", "enc.blk.#.ffn_gate"},
    {"encoder.block.#.layer.1.DenseReluDense.wi_1", "enc.blk.#.ffn_up"},
    {"encoder.block.#.layer.1.DenseReluDense.wo", "enc.blk.#.ffn_down"},
    {"encoder.final_layer_norm", "enc.output_norm"},
    {"decoder.block.#.layer.0.layer_norm", "dec.blk.#.attn_norm"},
    {"decoder.block.#.layer.0.SelfAttention.q", "dec.blk.#.attn_q"},
    {"decoder.block.#.layer.0.SelfAttention.k", "dec.blk.#.attn_k"},
    {"decoder.block.#.layer.0.SelfAttention.v", "dec.blk.#.attn_v"},
    {"decoder.block.#.layer.0.SelfAttention.o", "dec.blk.#.attn_o"},
    {"decoder.block.#.layer.0.SelfAttention.relative_attention_bias", "dec.blk.#.attn_rel_b"},
    {"decoder.block.#.layer.1.layer_norm", "dec.blk.#.cross_attn_norm"},
    {"decoder.block.#.layer.1.EncDecAttention.q", "dec.blk.#.cross_attn_q"},
    {"decoder.block.#.layer.1.EncDecAttention.k", "dec.blk.#.cross_attn_k"},
    {"decoder.block.#.layer.1.EncDecAttention.v", "dec.blk.#.cross_attn_v"},
    {"decoder.block.#.layer.1.EncDecAttention.o", "dec.blk.#.cross_attn_o"},
    {"decoder.block.#.layer.2.layer_norm", "dec.blk.#.ffn_norm"},
    {"decoder.block.#.layer.2.DenseReluDense.wi", "dec.blk.#.ffn_up"},
    {"decoder.block.#.layer.2.DenseReluDense.wi_0", "dec.blk.#.ffn_gate"},
    {"decoder.block.#.layer.2.DenseReluDense.wi_1", "dec.blk.#.ffn_up"},
    {"decoder.block.#.layer.2.DenseReluDense.wo", "dec.blk.#.ffn_down"},
    {"decoder.final_layer_norm", "dec.output_norm"},
};

constexpr GgufArchitecture architectures[] = {
    {"llama", "llama", gguf_settings::llama, llama_names, /*interleaved_rotary=*/true},
    {"qwen2", "qwen2", gguf_settings::qwen2, llama_names},
    {"qwen3", "qwen3", gguf_settings::qwen3, llama_names},
    {"gemma2", "gemma2", gguf_settings::gemma2, gemma_names},
    {"gemma3", "gemma3_text", gguf_settings::gemma3, gemma_names},
    {"phi3", "phi3", gguf_settings::phi3, llama_names},
    {"gpt2", "gpt2", gguf_settings::gpt2, gpt2_names},
    {"gptneox", "gpt_neox", gguf_settings::gpt_neox, gpt_neox_names},
    {"falcon", "falcon", gguf_settings::falcon, bloom_names},
    {"bloom", "bloom", gguf_settings::bloom, bloom_names},
    {"bert", "bert", gguf_settings::bert, bert_names},
    {"t5", "t5", gguf_settings::t5, t5_names},
};

// "3" if the name has a number where the pattern has '#', "" if it is the pattern; none: neither.
std::optional<std::string> layer_in(std::string_view name, std::string_view pattern) {
  const size_t mark = pattern.find('#');
  if (mark == pattern.npos) return name == pattern ? std::optional("") : std::nullopt;
  const std::string_view before = pattern.substr(0, mark), after = pattern.substr(mark + 1);
  if (!name.starts_with(before) || !name.ends_with(after) || name.size() <= before.size() + after.size()) return {};
  const std::string_view number = name.substr(mark, name.size() - before.size() - after.size());
  if (number.find_first_not_of("0123456789") != number.npos) return {};
  return std::string(number);
}

// The name of a tensor in a GGUF file; the given one where the table has none.
std::string gguf_name(const std::string& name, std::span<const GgufName> names) {
  const size_t dot = name.rfind('.');
  if (dot == name.npos) return name;
  const std::string_view stem = std::string_view(name).substr(0, dot);
  for (const auto& [huggingface, gguf] : names) {
    const std::optional<std::string> layer = layer_in(stem, huggingface);
    if (!layer) continue;
    std::string out(gguf);
    if (const size_t mark = out.find('#'); mark != out.npos) out.replace(mark, 1, *layer);
    return out + name.substr(dot);
  }
  return name;
}

// The rows of queries, keys and values in a fused matrix, which has them one after another.
std::vector<int64_t> rows_in_fused(std::string_view parameter, const TransformerConfig& c) {
  const int64_t width = c.head_width == 0 ? c.d_model / c.heads : c.head_width;
  const int64_t queries = c.heads * width, keys = (c.kv_heads == 0 ? c.heads : c.kv_heads) * width;
  if (parameter.find(".query.") != parameter.npos) return row_range(0, queries);
  const int64_t begin = parameter.find(".key.") != parameter.npos ? queries : queries + keys;
  return row_range(begin, begin + keys);
}

}  // namespace

const GgufArchitecture* gguf_architecture_named(std::string_view name) {
  for (const GgufArchitecture& architecture : architectures)
    if (architecture.name == name) return &architecture;
  return nullptr;
}

std::span<const GgufArchitecture> gguf_architectures() { return architectures; }

const GgufArchitecture& gguf_architecture(const GgufMetadata& metadata) {
  const std::string name = metadata.text("general.architecture");
  if (const GgufArchitecture* found = gguf_architecture_named(name)) return *found;
  std::vector<std::string_view> names;
  for (const GgufArchitecture& architecture : architectures) names.push_back(architecture.name);
  fail<InputError>(metadata.file(), "the architecture {} is not supported, only {}", quoted_name(name),
                   name_list(names));
}

std::vector<int64_t> interleaved_rows(int64_t heads, int64_t width) {
  std::vector<int64_t> rows;
  for (int64_t head = 0; head < heads; ++head)
    for (int64_t half = 0; half < 2; ++half)
      for (int64_t i = 0; i < width / 2; ++i) rows.push_back(head * width + 2 * i + half);
  return rows;
}

TransformerConfig config_of_gguf(const HfConfig& hf) {
  TransformerConfig config = huggingface_config(hf);
  config.norm_weight_offset = 0;
  return config;
}

TensorNames tensors_of_gguf(const GgufArchitecture& architecture, const HfConfig& hf,
                            const TransformerConfig& ours) {
  const TensorNames theirs = family_of(hf).tensors(hf, ours);
  TensorNames names;
  for (const auto& [parameter, source] : theirs.sources()) {
    TensorPart part = {.rows = source.part.rows};
    const std::string name = gguf_name(source.name, architecture.names);
    if (name.find(".attn_qkv.") != name.npos) part.rows = rows_in_fused(parameter, ours);
    if (architecture.interleaved_rotary) {
      if (name.find(".attn_q.") != name.npos) part.rows = interleaved_rows(ours.heads, ours.head_width);
      if (name.find(".attn_k.") != name.npos) part.rows = interleaved_rows(ours.kv_heads, ours.head_width);
    }
    if (source.is_optional)
      names.optional_tensor(parameter, name);
    else
      names.tensor(parameter, name, part);
  }
  if (!theirs.output().empty()) names.output(gguf_name(theirs.output(), architecture.names));
  for (const char* setting : {gguf_rope_factors, gguf_long_rope_factors, gguf_short_rope_factors,
                              ".attn_rot_embd.weight", ".cross_attn_rel_b.weight"})
    names.ignore(setting);
  return names;
}

}  // namespace qkv
