#include "qkv/published/family/rope.h"

#include <algorithm>
#include <cmath>

#include "qkv/base/error.h"

namespace qkv {
namespace {

RotaryScalingType type_of(const HfConfig& scaling) {
  const std::string type = scaling.text({"rope_type", "type"}, "default");
  if (type == "default") return RotaryScalingType::none;
  if (type == "su") return RotaryScalingType::longrope;  // its first name
  for (const auto& [value, name] : names_of(RotaryScalingType{}))
    if (name == type && value != RotaryScalingType::none) return value;
  scaling.refuse({"rope_type", "type"},
                 "expected default, linear, dynamic, llama3, yarn, longrope or proportional");
  return {};
}

// The length that the model was first trained on; P in op/rotary_scaling.h.
int64_t original_positions(const HfConfig& config, const HfConfig& scaling) {
  const int64_t limit = config.count("max_position_embeddings", 2048);
  const int64_t original = scaling.count("original_max_position_embeddings", limit);
  return config.count("original_max_position_embeddings", original);
}

RotaryScaling read_scaling(const HfConfig& config, const HfConfig& s) {
  RotaryScaling out;
  out.type = type_of(s);
  const int64_t limit = config.count("max_position_embeddings", 2048);
  switch (out.type) {
    case RotaryScalingType::none: return {};
    case RotaryScalingType::linear:
    case RotaryScalingType::proportional: out.factor = s.number("factor", 1.0); break;
    case RotaryScalingType::dynamic:
      out.factor = s.number("factor");
      out.original_positions = limit;
      break;
    case RotaryScalingType::llama3:
      out.factor = s.number("factor");
      out.original_positions = original_positions(config, s);
      out.low_frequency_factor = s.number("low_freq_factor", 1.0);
      out.high_frequency_factor = s.number("high_freq_factor", 4.0);
      break;
    case RotaryScalingType::yarn:
      out.original_positions = original_positions(config, s);
      out.factor = s.number("factor", static_cast<double>(limit) / static_cast<double>(out.original_positions));
      out.attention_factor = s.number("attention_factor", 0.0);
      out.beta_fast = s.number("beta_fast", 32.0);
      out.beta_slow = s.number("beta_slow", 1.0);
      out.truncate = s.flag("truncate", true);
      out.mscale = s.number("mscale", 0.0);
      out.mscale_all_dim = s.number("mscale_all_dim", 0.0);
      break;
    case RotaryScalingType::longrope:
      out.original_positions = original_positions(config, s);
      out.factor = s.number("factor", static_cast<double>(limit) / static_cast<double>(out.original_positions));
      out.attention_factor = s.number("attention_factor", 0.0);
      out.short_factors = s.numbers("short_factor");
      out.long_factors = s.numbers("long_factor");
      if (out.short_factors == out.long_factors) out.length = out.original_positions;  // the same for every length
      break;
  }
  return out;
}

}  // namespace

Rotary read_rotary(const HfConfig& config, int64_t head_width, const RotaryDefaults& defaults) {
  std::optional<HfConfig> parameters = config.part("rope_parameters");
  const char* layer_type = defaults.layer_type.c_str();
  if (parameters && parameters->has(layer_type)) parameters = parameters->part(layer_type);
  const std::optional<HfConfig> scaling = parameters ? std::nullopt : config.part("rope_scaling");
  const auto number = [&](const HfConfig::Key& key, double absent) {
    return parameters && parameters->has(key) ? parameters->number(key) : config.number(key, absent);
  };

  Rotary rotary;
  rotary.base = number({"rope_theta", "rotary_emb_base"}, defaults.base);
  if (parameters || scaling) rotary.scaling = read_scaling(config, parameters ? *parameters : *scaling);
  if (!defaults.share && rotary.scaling.type != RotaryScalingType::proportional) return rotary;
  const double share = number({"partial_rotary_factor", "rotary_pct"}, defaults.share.value_or(1.0));
  require<InputError>(share > 0 && share <= 1, config.file(),
                      "'partial_rotary_factor' must be above 0 and at most 1, got {}", share);
  const auto width = static_cast<int64_t>(static_cast<double>(head_width) * share);
  if (width != head_width) rotary.width = width;
  return rotary;
}

int64_t read_context_length(const HfConfig& config) {
  constexpr double longest = 1 << 24;
  const int64_t positions = config.count({"max_position_embeddings", "seq_length"}, 0);
  const std::optional<HfConfig> scaling = config.part({"rope_parameters", "rope_scaling"});
  if (!scaling || scaling->text({"rope_type", "type"}, "default") != "dynamic") return positions;
  return static_cast<int64_t>(std::clamp(static_cast<double>(positions) * scaling->number("factor"), 0.0, longest));
}

}  // namespace qkv
