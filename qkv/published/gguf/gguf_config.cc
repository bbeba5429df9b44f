#include "qkv/published/gguf/gguf_config.h"

#include <algorithm>
#include <cmath>

#include "qkv/base/json.h"
#include "qkv/base/names.h"
#include "qkv/model/architecture_table.h"
#include "qkv/model/field_value.h"
#include "qkv/published/gguf/gguf_outline.h"

namespace qkv {
namespace {

double as_float(double x) { return static_cast<double>(static_cast<float>(x)); }
std::vector<double> as_floats(std::vector<double> all) {
  for (double& x : all) x = as_float(x);
  return all;
}

int64_t context_of(const TransformerConfig& c) {
  return c.has_position_limit() ? c.max_positions : c.default_context();
}

// The formula of Llama 3 as a list of factors, which is LongRoPE with one list.
std::vector<double> llama3_factors(const Rotary& rotary, int64_t width) {
  const std::vector<double> plain = rotary_frequencies(rotary.base, width).frequencies;
  std::vector<double> factors = rotary_frequencies(rotary.base, width, rotary.scaling).frequencies;
  for (size_t i = 0; i < factors.size(); ++i) factors[i] = as_float(plain[i] / factors[i]);
  return factors;
}

Rotary in_gguf(Rotary rotary, int64_t head_width, int64_t context) {
  RotaryScaling& s = rotary.scaling;
  const int64_t width = rotary.width == 0 ? head_width : rotary.width;
  if (s.type == RotaryScalingType::llama3) {
    const std::vector<double> factors = llama3_factors(rotary, width);
    s = {.type = RotaryScalingType::longrope,
         .original_positions = context,
         .length = context,
         .attention_factor = 1,
         .short_factors = factors,
         .long_factors = factors};
  } else if (s.type == RotaryScalingType::longrope) {
    RotaryScaling of_a_length = s;  // the multiplier is the same for all
    of_a_length.length = s.original_positions;
    s.attention_factor = as_float(rotary_frequencies(rotary.base, width, of_a_length).multiplier);
    s.factor = static_cast<double>(context) / static_cast<double>(s.original_positions);
    s.short_factors = as_floats(s.short_factors);
    s.long_factors = as_floats(s.long_factors);
  } else {
    s.factor = as_float(s.factor);
    s.beta_fast = as_float(s.beta_fast);
    s.beta_slow = as_float(s.beta_slow);
  }
  rotary.base = as_float(rotary.base);
  return rotary;
}

AttentionPattern in_gguf(const AttentionPattern& pattern, int64_t head_width, int64_t context) {
  std::vector<AttentionPattern::Group> groups;
  for (const auto& [variant, layers] : pattern.groups()) {
    AttentionVariant held;
    for (const AttentionMechanismPtr& mechanism : variant.mechanisms()) {
      const auto* rotary = dynamic_cast<const MechanismOf<Rotary>*>(mechanism.get());
      held.add(rotary ? mechanism_of(in_gguf(rotary->value, head_width, context)) : mechanism);
    }
    groups.push_back({held, layers});
  }
  return AttentionPattern(groups);
}

// Of the formula of Llama 3.
bool has_one_list(const RotaryScaling& s) { return s.short_factors == s.long_factors && s.attention_factor == 1; }

// The variants of the layers of the stack: one with a window, one without, or both.
struct Variants {
  const AttentionVariant *full = nullptr, *windowed = nullptr;

  explicit Variants(const AttentionPattern& pattern) {
    for (const auto& [variant, layers] : pattern.groups())
      (variant.get<SlidingWindow>() ? windowed : full) = &variant;
  }
  const AttentionVariant& first() const { return full ? *full : *windowed; }
};

class ConfigKeys {
 public:
  ConfigKeys(GgufKeys& keys, std::string_view architecture, const TransformerConfig& config)
      : keys_(keys), prefix_(std::string(architecture) + "."), c_(config) {}

  void add_sizes() {
    const bool is_encoder = c_.architecture == Architecture::masked;
    count("context_length", context_of(c_));
    count("embedding_length", c_.d_model);
    count("block_count", c_.architecture == Architecture::causal ? c_.decoder_layers : c_.encoder_layers);
    count("feed_forward_length", c_.ffn);
    count("attention.head_count", c_.heads);
    count("attention.head_count_kv", c_.kv_heads);
    count("attention.key_length", c_.head_width);
    count("attention.value_length", c_.head_width);
    count("vocab_size", c_.source_vocabulary);
    real(c_.norm_kind == NormKind::rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon",
         c_.norm_eps);
    if (is_encoder) keys_.flag(prefix_ + "attention.causal", false);
    if (prefix_ == "gptneox.") keys_.flag(prefix_ + "use_parallel_residual", c_.norm_order == NormOrder::parallel);
    if (c_.logit_softcap > 0) real("final_logit_softcapping", c_.logit_softcap);
  }

  void add_encoder_decoder() {
    if (c_.architecture != Architecture::encoder_decoder) return;
    count("decoder_block_count", c_.decoder_layers);
    if (const auto* bias = c_.self_attention.encoder.of_layer(0).get<RelativeBias>())
      count("attention.relative_buckets_count", bias->buckets);
  }

  void add_attention() {
    const AttentionPattern& pattern = c_.self_attention.decoder;
    const Variants variants(pattern);
    if (const Softcap* softcap = variants.first().get<Softcap>()) real("attn_logit_softcapping", softcap->cap);
    if (const Rotary* rotary = variants.first().get<Rotary>()) add_rotary(*rotary);
    if (!variants.windowed) return;
    count("attention.sliding_window", variants.windowed->get<SlidingWindow>()->radius + 1);
    if (!variants.full) return;
    if (const Rotary* local = variants.windowed->get<Rotary>()) real("rope.freq_base_swa", local->base);
    std::vector<bool> has_window;
    for (int64_t layer = 0; layer < c_.decoder_layers; ++layer)
      has_window.push_back(pattern.of_layer(layer).get<SlidingWindow>() != nullptr);
    keys_.flags(prefix_ + "attention.sliding_window_pattern", has_window);
  }

 private:
  void count(const char* key, int64_t value) { keys_.count(prefix_ + key, value); }
  void real(const char* key, double value) { keys_.real(prefix_ + key, value); }

  void add_rotary(const Rotary& rotary) {
    const RotaryScaling& s = rotary.scaling;
    count("rope.dimension_count", rotary.width == 0 ? c_.head_width : rotary.width);
    real("rope.freq_base", rotary.base);
    const bool is_longrope = s.type == RotaryScalingType::longrope && !has_one_list(s),
               is_yarn = s.type == RotaryScalingType::yarn, is_linear = s.type == RotaryScalingType::linear;
    if (is_longrope || is_yarn || is_linear) keys_.text(prefix_ + "rope.scaling.type", name_of(s.type));
    if (is_yarn || is_linear) real("rope.scaling.factor", s.factor);
    if (is_yarn || is_longrope) count("rope.scaling.original_context_length", s.original_positions);
    if (is_longrope) real("rope.scaling.attn_factor", s.attention_factor);
    const RotaryScaling defaults;
    if (s.beta_fast != defaults.beta_fast) real("rope.scaling.yarn_beta_fast", s.beta_fast);
    if (s.beta_slow != defaults.beta_slow) real("rope.scaling.yarn_beta_slow", s.beta_slow);
  }

  GgufKeys& keys_;
  std::string prefix_;
  const TransformerConfig& c_;
};

}  // namespace

TransformerConfig config_in_gguf(const TransformerConfig& config) {
  TransformerConfig c = config;
  c.dropout = c.attention_dropout = c.ffn_dropout = 0;
  if (c.kv_heads == 0) c.kv_heads = c.heads;
  if (c.head_width == 0) c.head_width = c.d_model / c.heads;
  c.norm_weight_offset = 0;
  c.attention_output_bias = c.attention_output_bias.value_or(c.attention_bias);
  if (is_language_model(c.architecture)) c.tie = ties_output(c.tie) ? Tie::all : Tie::none;
  if (c.architecture == Architecture::masked) {
    c.head = false;
    c.head_activation = {};
    c.tie = Tie::all;
  }
  if (c.architecture != Architecture::encoder_decoder) (c.has_encoder() ? c.decoder_layers : c.encoder_layers) = 0;
  const int64_t context = context_of(c);
  if (!c.has_position_limit()) c.max_positions = 0;
  c.context_length = context;
  for (AttentionPattern* pattern : {&c.self_attention.encoder, &c.self_attention.decoder})
    *pattern = in_gguf(*pattern, c.head_width, context);
  return c;
}

void add_config(GgufKeys& keys, std::string_view architecture, const TransformerConfig& held) {
  ConfigKeys config(keys, architecture, held);
  config.add_sizes();
  config.add_encoder_decoder();
  if (held.architecture == Architecture::causal) config.add_attention();
}

std::map<std::string, std::vector<float>> rope_factors(const TransformerConfig& held) {
  if (held.architecture != Architecture::causal) return {};
  const Rotary* rotary = Variants(held.self_attention.decoder).first().get<Rotary>();
  if (!rotary || rotary->scaling.type != RotaryScalingType::longrope) return {};
  const auto floats = [](const std::vector<double>& all) { return std::vector<float>(all.begin(), all.end()); };
  const std::vector<float> shorter = floats(rotary->scaling.short_factors),
                           longer = floats(rotary->scaling.long_factors);
  if (has_one_list(rotary->scaling)) return {{gguf_rope_factors, longer}};
  return {{gguf_short_rope_factors, shorter}, {gguf_long_rope_factors, longer}};
}

std::string config_difference(const TransformerConfig& held, const TransformerConfig& read) {
  std::vector<Json> values;
  visit_fields(held,
               [&](const Setting&, const auto& field, const FieldUse&) { values.push_back(field_value(field)); });
  auto next = values.begin();
  std::string out;
  visit_fields(read, [&](const Setting& setting, const auto& field, const FieldUse& use) {
    const Json &ours = *next++, theirs = field_value(field);
    if (ours == theirs || !out.empty()) return;
    out = fmt::format("'{}' is {}, not {}", key_of(setting, use), one_line(theirs.dump(), 200),
                      one_line(ours.dump(), 200));
  });
  return out;
}

}  // namespace qkv
