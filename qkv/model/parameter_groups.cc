#include "qkv/model/parameter_groups.h"

#include "qkv/tensor/shape.h"

namespace qkv {
namespace {

class Groups {
 public:
  explicit Groups(const TransformerConfig& config) : c_(config) {}

  std::vector<ParameterGroup> take() {
    tables();
    layers("encoder", c_.encoder_layers, false);
    layers("decoder", c_.decoder_layers, true);
    return std::move(groups_);
  }

 private:
  void add(std::string name, std::string shapes, std::string formula, int64_t parameters, int64_t times = 1) {
    groups_.push_back({std::move(name), std::move(shapes), std::move(formula), parameters, times});
  }

  void table(const char* name, const char* formula, int64_t rows) {
    add(name, to_string({rows, c_.d_model}), formula, rows * c_.d_model);
  }

  void tables() {
    table("source_embedding", "V C", c_.source_vocabulary);
    if (c_.tie != Tie::all) table("target_embedding", "W C", c_.target_vocabulary);
    if (c_.tie == Tie::none) table("output", "W C", c_.target_vocabulary);
    if (c_.positions == Positions::learned) {
      table("source_positions", "P C", c_.max_length);
      table("target_positions", "P C", c_.max_length);
    }
  }

  void layers(const std::string& stack, int64_t count, bool cross) {
    const std::string layer = stack + ".layers.*.";
    attention(layer + "self_attention", count, cross ? AttentionUse::decoder : AttentionUse::encoder);
    norm(layer + "norm1", count);
    if (cross) {
      attention(layer + "cross_attention", count, AttentionUse::cross);
      norm(layer + "norm2", count);
    }
    feed_forward(layer + "feed_forward", count);
    norm(layer + (cross ? "norm3" : "norm2"), count);
    if (c_.norm_order == NormOrder::pre) norm(stack + ".norm", 1);
  }

  void attention(const std::string& name, int64_t times, AttentionUse use) {
    const int64_t C = c_.d_model, K = key_value_width(c_);
    const auto linear = [&](int64_t rows) {
      return to_string({rows, C}) + (c_.attention_bias ? " + " + to_string(Shape{rows}) : "");
    };
    std::string shapes =
        K == C ? "query, key, value, out " + linear(C) : "query, out " + linear(C) + ", key, value " + linear(K);
    std::string formula = K == C ? "4 C^2" : "2 C^2 + 2 C K";
    int64_t parameters = 2 * C * C + 2 * C * K;
    if (c_.attention_bias) {
      formula += K == C ? " + 4 C" : " + 2 C + 2 K";
      parameters += 2 * C + 2 * K;
    }
    const MultiHeadAttentionOptions options = c_.layer().attention(use);
    for (const AttentionVariant::Part& part : options.variant.parts())
      for (const AttentionMechanism::Parameter& p : part.parameters(options.size())) {
        shapes += fmt::format(", {}.{} {}", part.word->name, p.name, p.shape);
        formula += " + " + p.letters;
        parameters += p.shape.numel();
      }
    add(name, shapes, formula, parameters, times);
  }

  void feed_forward(const std::string& name, int64_t times) {
    const int64_t C = c_.d_model, F = c_.ffn;
    add(name, fmt::format("up {} + {}, down {} + {}", Shape{F, C}, Shape{F}, Shape{C, F}, Shape{C}),
        "2 C F + F + C", 2 * C * F + F + C, times);
  }

  void norm(const std::string& name, int64_t times) {
    add(name, fmt::format("weight, bias {}", Shape{c_.d_model}), "2 C", 2 * c_.d_model, times);
  }

  const TransformerConfig& c_;
  std::vector<ParameterGroup> groups_;
};

}  // namespace

std::vector<ParameterGroup> parameter_groups(const TransformerConfig& config) {
  config.check();
  return Groups(config).take();
}

int64_t parameter_count(const TransformerConfig& config) {
  int64_t sum = 0;
  for (const ParameterGroup& group : parameter_groups(config)) sum += group.times * group.parameters;
  return sum;
}

int64_t key_value_width(const TransformerConfig& config) {
  return config.d_model / config.heads * (config.kv_heads == 0 ? config.heads : config.kv_heads);
}

}  // namespace qkv
