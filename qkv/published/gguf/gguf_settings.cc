#include "qkv/published/gguf/gguf_settings.h"

#include <algorithm>
#include <cmath>

#include "qkv/base/error.h"
#include "qkv/base/names.h"

namespace qkv::gguf_settings {
namespace {

constexpr int64_t largest_count = 1 << 24;

// The keys of an architecture, "llama.block_count", and what the tensors of the file say.
class Settings {
 public:
  explicit Settings(const GgufOutline& file)
      : file_(file), metadata_(file.metadata), prefix_(metadata_.text("general.architecture") + ".") {}

  const GgufOutline& file() const { return file_; }
  std::string key(const char* name) const { return prefix_ + name; }
  bool has(const char* name) const { return metadata_.has(key(name)); }
  double number(const char* name, double absent) const { return metadata_.number(key(name), absent); }
  double number(const char* name) const { return metadata_.number(key(name)); }
  bool flag(const char* name, bool absent) const { return metadata_.flag(key(name), absent); }
  std::string text(const char* name, const std::string& absent) const { return metadata_.text(key(name), absent); }

  // 1 to 2^24. A number for each layer must be the same for all.
  int64_t count(const char* name) const {
    const std::string full = key(name);
    int64_t value = 0;
    if (metadata_.is_array(full)) {
      const std::vector<int64_t> all = metadata_.integers(full);
      require<InputError>(!all.empty() && std::ranges::count(all, all.front()) == std::ssize(all), metadata_.file(),
                          "{} must be the same for all layers", quoted_name(full));
      value = all.front();
    } else {
      value = metadata_.integer(full);
    }
    require<InputError>(value >= 1 && value <= largest_count, metadata_.file(), "{} must be 1 to {}, got {}",
                        quoted_name(full), largest_count, value);
    return value;
  }
  int64_t count(const char* name, int64_t absent) const { return has(name) ? count(name) : absent; }

  // 0: there is no such tensor.
  int64_t rows(const char* tensor) const { return file_.has(tensor) ? file_.shape(tensor)[0] : 0; }
  int64_t vocabulary() const { return file_.shape("token_embd.weight")[0]; }
  bool is_tied() const { return !file_.has("output.weight"); }

  int64_t heads() const { return count("attention.head_count"); }
  int64_t head_width() const {
    const int64_t width = count("attention.key_length", count("embedding_length") / heads());
    require<InputError>(width >= 1, metadata_.file(), "{} must be at least {}, got {}",
                        quoted_name(key("embedding_length")), quoted_name(key("attention.head_count")),
                        count("embedding_length"));
    require<InputError>(count("attention.value_length", width) == width, metadata_.file(),
                        "{} must be the same as {}", quoted_name(key("attention.value_length")),
                        quoted_name(key("attention.key_length")));
    return width;
  }
  void refuse(const char* name, std::string_view why) const {
    fail<InputError>(metadata_.file(), "{}: {}", quoted_name(key(name)), why);
  }

 private:
  const GgufOutline& file_;
  const GgufMetadata& metadata_;
  std::string prefix_;
};

Json longrope(const std::vector<double>& shorter, const std::vector<double>& longer, int64_t positions,
              double attention_factor) {
  Json out = {{"rope_type", "longrope"},
              {"short_factor", shorter},
              {"long_factor", longer},
              {"original_max_position_embeddings", positions}};
  if (attention_factor > 0) out["attention_factor"] = attention_factor;
  return out;
}

// What a file has instead of the formula of Llama 3: a factor for each frequency, which is LongRoPE with one list.
Json scaling_of(const Settings& s) {
  const int64_t context = s.count("context_length"),
                original = s.count("rope.scaling.original_context_length", context);
  const GgufOutline& file = s.file();
  if (file.has(gguf_rope_factors)) {
    const std::vector<double>& factors = file.numbers(gguf_rope_factors);
    return longrope(factors, factors, original, 1);
  }
  if (file.has(gguf_long_rope_factors) || file.has(gguf_short_rope_factors))
    return longrope(file.numbers(gguf_short_rope_factors), file.numbers(gguf_long_rope_factors), original,
                    s.number("rope.scaling.attn_factor", 0));
  const std::string type = s.text("rope.scaling.type", s.has("rope.scale_linear") ? "linear" : "none");
  const double factor = s.number("rope.scaling.factor", s.number("rope.scale_linear", 1));
  if (type == "none" || factor == 1) return {};
  if (type == "linear") return {{"rope_type", "linear"}, {"factor", factor}};
  if (type != "yarn")
    s.refuse("rope.scaling.type", "it must be none, linear, yarn or longrope, the last with factors");
  Json out = {{"rope_type", "yarn"}, {"factor", factor}, {"original_max_position_embeddings", original}};
  for (const auto& [theirs, ours] : {std::pair("rope.scaling.yarn_beta_fast", "beta_fast"),
                                     std::pair("rope.scaling.yarn_beta_slow", "beta_slow")})
    if (s.has(theirs)) out[ours] = s.number(theirs);
  return out;
}

// Llama and what is like it.
Json llama_settings(const Settings& s, const char* model_type, bool rotates_a_part = false) {
  const int64_t width = s.head_width(), rotated = s.count("rope.dimension_count", width);
  if (rotated > width || (rotated < width && !rotates_a_part))
    s.refuse("rope.dimension_count",
             rotates_a_part ? "it must be at most the width of a head" : "it must be the width of a head");
  if (s.count("expert_count", 1) > 1) s.refuse("expert_count", "mixtures of experts are not supported");
  Json out = {{"model_type", model_type},
              {"vocab_size", s.vocabulary()},
              {"hidden_size", s.count("embedding_length")},
              {"num_hidden_layers", s.count("block_count")},
              {"num_attention_heads", s.heads()},
              {"num_key_value_heads", s.count("attention.head_count_kv", s.heads())},
              {"head_dim", width},
              {"intermediate_size", s.count("feed_forward_length")},
              {"max_position_embeddings", s.count("context_length")},
              {"rms_norm_eps", s.number("attention.layer_norm_rms_epsilon")},
              {"rope_theta", s.number("rope.freq_base", 10000)},
              {"attention_bias", s.file().has("blk.0.attn_q.bias")},
              {"mlp_bias", s.file().has("blk.0.ffn_up.bias")},
              {"tie_word_embeddings", s.is_tied()}};
  if (const Json scaling = scaling_of(s); !scaling.is_null()) out["rope_scaling"] = scaling;
  if (rotated != width) out["partial_rotary_factor"] = static_cast<double>(rotated) / static_cast<double>(width);
  return out;
}

// The layer types of Gemma 3, if the file has them: every n-th layer sees all tokens, or true for each with a window.
void add_window_pattern(const Settings& s, Json& to) {
  const char* name = "attention.sliding_window_pattern";
  if (!s.has(name)) return;
  const GgufMetadata& metadata = s.file().metadata;
  if (!metadata.is_array(s.key(name))) {
    to["sliding_window_pattern"] = s.count(name);
    return;
  }
  std::vector<std::string> types;
  for (const int64_t has_window : metadata.integers(s.key(name)))
    types.push_back(has_window != 0 ? "sliding_attention" : "full_attention");
  to["layer_types"] = types;
}

// The scores are divided by the square root of this number, which no key gives: it is the width of a head, but for the
// largest model of each version, which these numbers of layers tell.
int64_t query_scalar(const Settings& s, int64_t layers_of_largest) {
  return s.count("block_count") == layers_of_largest ? s.count("embedding_length") / s.heads() : s.head_width();
}

Json gemma_settings(const Settings& s, const char* model_type, int64_t layers_of_largest) {
  Json out = llama_settings(s, model_type);
  out["query_pre_attn_scalar"] = query_scalar(s, layers_of_largest);
  out["sliding_window"] = s.count("attention.sliding_window");
  return out;
}

// GPT-2 and what is like it.
Json gpt_settings(const Settings& s, const char* model_type) {
  return {{"model_type", model_type},
          {"vocab_size", s.vocabulary()},
          {"hidden_size", s.count("embedding_length")},
          {"num_hidden_layers", s.count("block_count")},
          {"num_attention_heads", s.heads()},
          {"layer_norm_epsilon", s.number("attention.layer_norm_epsilon")},
          {"tie_word_embeddings", s.is_tied()}};
}

}  // namespace

Json llama(const GgufOutline& file) {
  const Settings s(file);
  const bool has_window = s.has("attention.sliding_window");
  Json out = llama_settings(s, has_window ? "mistral" : "llama");
  if (has_window) out["sliding_window"] = s.count("attention.sliding_window");
  return out;
}

Json qwen2(const GgufOutline& file) { return llama_settings(Settings(file), "qwen2"); }
Json qwen3(const GgufOutline& file) { return llama_settings(Settings(file), "qwen3"); }

Json gemma2(const GgufOutline& file) {
  const Settings s(file);
  Json out = gemma_settings(s, "gemma2", 46);
  out["attn_logit_softcapping"] = s.number("attn_logit_softcapping", 50);
  out["final_logit_softcapping"] = s.number("final_logit_softcapping", 30);
  return out;
}

Json gemma3(const GgufOutline& file) {
  const Settings s(file);
  Json out = gemma_settings(s, "gemma3_text", 62);
  out["rope_theta"] = s.number("rope.freq_base", 1e6);
  out["rope_local_base_freq"] = s.number("rope.freq_base_swa", 10000);
  if (s.has("final_logit_softcapping")) out["final_logit_softcapping"] = s.number("final_logit_softcapping");
  add_window_pattern(s, out);
  return out;
}

Json phi3(const GgufOutline& file) {
  const Settings s(file);
  Json out = llama_settings(s, "phi3", /*rotates_a_part=*/true);
  if (s.has("attention.sliding_window") && s.number("attention.sliding_window") > 0)
    out["sliding_window"] = s.count("attention.sliding_window");
  return out;
}

Json gpt2(const GgufOutline& file) {
  const Settings s(file);
  Json out = gpt_settings(s, "gpt2");
  out["n_inner"] = s.count("feed_forward_length");
  out["n_positions"] = s.count("context_length");
  return out;
}

Json gpt_neox(const GgufOutline& file) {
  const Settings s(file);
  Json out = gpt_settings(s, "gpt_neox");
  out["layer_norm_eps"] = s.number("attention.layer_norm_epsilon");
  out["intermediate_size"] = s.count("feed_forward_length");
  out["max_position_embeddings"] = s.count("context_length");
  out["use_parallel_residual"] = s.flag("use_parallel_residual", true);
  out["rope_theta"] = s.number("rope.freq_base", 10000);
  const auto width = static_cast<double>(s.head_width());
  out["rotary_pct"] = static_cast<double>(s.count("rope.dimension_count", s.head_width())) / width;
  return out;
}

Json falcon(const GgufOutline& file) {
  const Settings s(file);
  Json out = gpt_settings(s, "falcon");
  const bool two_norms = file.has("blk.0.attn_norm_2.weight");
  const int64_t kv_heads = s.count("attention.head_count_kv", 1);
  out["new_decoder_architecture"] = two_norms || kv_heads > 1;
  out["num_ln_in_parallel_attn"] = two_norms ? 2 : 1;
  out["num_kv_heads"] = kv_heads;
  out["ffn_hidden_size"] = s.count("feed_forward_length", 4 * s.count("embedding_length"));
  out["max_position_embeddings"] = s.count("context_length");
  out["rope_theta"] = s.number("rope.freq_base", 10000);
  out["bias"] = file.has("blk.0.attn_qkv.bias");
  return out;
}

Json bloom(const GgufOutline& file) {
  const Settings s(file);
  Json out = gpt_settings(s, "bloom");
  if (s.count("feed_forward_length", 4 * s.count("embedding_length")) != 4 * s.count("embedding_length"))
    s.refuse("feed_forward_length", "it must be four times the embedding length");
  out["seq_length"] = s.count("context_length");
  return out;
}

Json bert(const GgufOutline& file) {
  const Settings s(file);
  const int64_t types = s.rows("token_types.weight");
  return {{"model_type", "bert"},
          {"architectures", Json::array({"BertModel"})},
          {"vocab_size", s.vocabulary()},
          {"hidden_size", s.count("embedding_length")},
          {"num_hidden_layers", s.count("block_count")},
          {"num_attention_heads", s.heads()},
          {"intermediate_size", s.count("feed_forward_length")},
          {"max_position_embeddings", s.count("context_length")},
          {"type_vocab_size", std::max<int64_t>(types, 1)},
          {"layer_norm_eps", s.number("attention.layer_norm_epsilon", 1e-12)}};
}

Json t5(const GgufOutline& file) {
  const Settings s(file);
  const int64_t layers = s.count("block_count");
  return {{"model_type", "t5"},
          {"vocab_size", s.vocabulary()},
          {"d_model", s.count("embedding_length")},
          {"d_kv", s.head_width()},
          {"num_heads", s.heads()},
          {"d_ff", s.count("feed_forward_length")},
          {"num_layers", layers},
          {"num_decoder_layers", s.count("decoder_block_count", layers)},
          {"layer_norm_epsilon",
           s.number("attention.layer_norm_rms_epsilon", s.number("attention.layer_norm_epsilon", 1e-6))},
          {"relative_attention_num_buckets", s.count("attention.relative_buckets_count", 32)},
          {"feed_forward_proj", file.has("enc.blk.0.ffn_gate.weight") ? "gated-gelu" : "relu"},
          {"tie_word_embeddings", s.is_tied()}};
}

}  // namespace qkv::gguf_settings
