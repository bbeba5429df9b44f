#include "qkv/model/parameter_groups.h"

#include <fmt/ranges.h>

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
      table("source_positions", "P C", c_.max_positions);
      table("target_positions", "P C", c_.max_positions);
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
    const LayerOptions layer = use == AttentionUse::encoder ? c_.encoder_layer() : c_.decoder_layer();
    const MultiHeadAttentionOptions options = layer.attention(use);
    const int64_t C = c_.d_model, K = key_value_width(c_);
    // Projections of C and of K rows.
    std::vector<std::string> wide = {"out"}, narrow = {"value"};
    if (options.variant.reads_queries()) wide.insert(wide.begin(), "query");
    if (options.variant.reads_keys()) narrow.insert(narrow.begin(), "key");
    const auto w = static_cast<int64_t>(wide.size()), n = static_cast<int64_t>(narrow.size());
    const auto shape = [&](int64_t rows) {
      return to_string({rows, C}) + (c_.attention_bias ? " + " + to_string(Shape{rows}) : "");
    };
    std::string shapes, formula;
    if (K == C) {
      wide.insert(wide.end() - 1, narrow.begin(), narrow.end());
      shapes = fmt::format("{} {}", fmt::join(wide, ", "), shape(C));
      formula = fmt::format("{0} C^2{1}", w + n, c_.attention_bias ? fmt::format(" + {} C", w + n) : "");
    } else {
      shapes = fmt::format("{} {}, {} {}", fmt::join(wide, ", "), shape(C), fmt::join(narrow, ", "), shape(K));
      formula = fmt::format("{} C^2 + {} C K", w, n);
      if (c_.attention_bias) formula += fmt::format(" + {} C + {} K", w, n);
    }
    int64_t parameters = w * C * C + n * C * K;
    if (c_.attention_bias) parameters += w * C + n * K;
    for (const AttentionVariant::Part& part : options.variant.parts())
      for (const AttentionMechanism::Parameter& p : part.parameters(options.size())) {
        shapes += fmt::format(", {}.{} {}", part.mechanism->name, p.name, p.shape);
        formula += " + " + p.count;
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
