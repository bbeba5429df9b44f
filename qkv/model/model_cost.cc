#include "qkv/model/model_cost.h"

#include <array>
#include <functional>

#include "qkv/base/counted.h"
#include "qkv/base/error.h"
#include "qkv/model/cached_numbers.h"
#include "qkv/model/describe_tables.h"

namespace qkv {
namespace {

constexpr int64_t largest_factor = 8, max_batch = 1'000'000;

void check(const ModelConfig& config, const DescribeOptions& o) {
  config.check();
  const int64_t limit = config.position_limit();
  for (const auto& [name, length] :
       {std::pair("source-length", o.source_length), std::pair("target-length", o.target_length)})
    require<UsageError>(length >= 1 && length <= limit, "explain", "{} must be 1 to {}, got {}", name, limit,
                        length);
  require<UsageError>(o.batch >= 1 && o.batch <= max_batch, "explain", "batch must be 1 to {}, got {}", max_batch,
                      o.batch);
}

// A size of a model or of its batch, and what makes it `factor` times as large; false: the model does not have it.
struct GrowingSize {
  std::string_view name;
  std::function<bool(ModelConfig&, DescribeOptions&, int64_t factor)> grow;
};

bool widen(ModelConfig& config, int64_t factor) {
  config.visit([&](auto& c) {
    c.d_model *= factor;
    if constexpr (requires { c.ffn; }) {
      c.ffn *= factor, c.decoder_ffn *= factor, c.head_width *= factor, c.embedding_width *= factor;
    }
  });
  return true;
}

bool divide_into_heads(ModelConfig& config, int64_t factor) {
  if (config.is_recurrent()) return false;
  TransformerConfig& c = config.transformer();
  if (c.head_width % factor != 0) return false;
  c.heads *= factor, c.kv_heads *= factor, c.decoder_heads *= factor, c.head_width /= factor;
  return true;
}

bool deepen(ModelConfig& config, int64_t factor) {
  config.visit([&](auto& c) { c.encoder_layers *= factor, c.decoder_layers *= factor; });
  return true;
}

const std::array<GrowingSize, 6>& growing_sizes() {
  static const std::array<GrowingSize, 6> all = {{
      {"source S",
       [](ModelConfig& c, DescribeOptions& o, int64_t factor) {
         o.source_length *= factor;
         return c.architecture() != Architecture::causal;
       }},
      {"target T",
       [](ModelConfig& c, DescribeOptions& o, int64_t factor) {
         o.target_length *= factor;
         return c.architecture() != Architecture::masked;
       }},
      {"batch B",
       [](ModelConfig&, DescribeOptions& o, int64_t factor) {
         o.batch *= factor;
         return true;
       }},
      {"width C", [](ModelConfig& c, DescribeOptions&, int64_t factor) { return widen(c, factor); }},
      {"heads H", [](ModelConfig& c, DescribeOptions&, int64_t factor) { return divide_into_heads(c, factor); }},
      {"layers", [](ModelConfig& c, DescribeOptions&, int64_t factor) { return deepen(c, factor); }},
  }};
  return all;
}

void add(ModelCost& cost, const std::vector<FlopCount>& parts, int64_t tokens, WeightFormat format) {
  const auto n = static_cast<double>(tokens);
  for (FlopCount part : parts) {
    part.format = format;
    const auto weights = static_cast<double>(part.weight_bytes());
    const PartCost one = {part.part, n * static_cast<double>(part.flops), weights + n * part.token_bytes};
    cost.flops += one.flops;
    cost.bytes += one.bytes;
    cost.weight_bytes += weights;
    cost.parts.push_back(one);
  }
}

std::string ratio(double value, double base) { return base > 0 ? fmt::format("{:.3g} x", value / base) : ""; }

std::string parts_table(const ModelCost& cost, const std::string& title) {
  std::vector<TableRow> rows = {{title, "FLOPs", "of all", "bytes", "FLOP/byte"}};
  const auto row = [&](const std::string& part, double flops, double bytes, double intensity) {
    rows.push_back({part, flops_text(flops), fmt::format("{:.1f} %", cost.flops > 0 ? 100 * flops / cost.flops : 0),
                    bytes_text(bytes), intensity_text(intensity)});
  };
  for (const PartCost& part : cost.parts) row(part.part, part.flops, part.bytes, part.intensity());
  row("all", cost.flops, cost.bytes, cost.intensity());
  return table(rows, {false, true, true, true, true});
}

std::string growth_table(const std::vector<ModelGrowth>& growth) {
  std::vector<TableRow> rows = {{"Growth", "", "FLOPs", "", "bytes", "", "FLOP/byte", "weights", "KV cache"}};
  const ModelCost& base = growth.front().cost;
  for (const ModelGrowth& row : growth) {
    if (row.factor == 1 && &row != &growth.front()) continue;
    const bool is_base = row.factor == 1;
    rows.push_back({is_base ? "as given" : std::string(row.size), is_base ? "" : fmt::format("{} x", row.factor),
                    flops_text(row.cost.flops), is_base ? "" : ratio(row.cost.flops, base.flops),
                    bytes_text(row.cost.bytes), is_base ? "" : ratio(row.cost.bytes, base.bytes),
                    intensity_text(row.cost.intensity()), bytes_text(row.cost.weight_bytes),
                    bytes_text(row.cost.cache_bytes)});
  }
  return table(rows, {false, true, true, true, true, true, true, true, true});
}

}  // namespace

ModelCost model_cost(const ModelConfig& config, const DescribeOptions& options) {
  check(config, options);
  const int64_t B = options.batch, S = options.source_length, T = options.target_length;
  const bool is_masked = config.architecture() == Architecture::masked;
  ModelCost cost;
  add(cost, flops_per_source_token(config, options), B * S, options.weights);
  add(cost, flops_per_target_token(config, options), is_masked ? B : B * T, options.weights);
  const CachedNumbers cached = cached_numbers(config);
  cost.cache_bytes = 4.0 * static_cast<double>(B) * static_cast<double>(cached.target * T + cached.source * S);
  return cost;
}

std::vector<ModelGrowth> model_growth(const ModelConfig& config, const DescribeOptions& options) {
  const ModelCost base = model_cost(config, options);
  std::vector<ModelGrowth> out;
  for (const GrowingSize& size : growing_sizes())
    for (int64_t factor = 1; factor <= largest_factor; factor *= 2) {
      ModelConfig larger = config;
      DescribeOptions longer = options;
      if (!size.grow(larger, longer, factor)) break;
      try {
        out.push_back({size.name, factor, factor == 1 ? base : model_cost(larger, longer)});
      } catch (const UsageError&) {
        break;  // does not fit together
      }
    }
  return out;
}

std::string explain(const ModelConfig& config, const DescribeOptions& options) {
  const ModelCost cost = model_cost(config, options);
  std::string title = fmt::format("Forward of {}", counted(options.batch, "row"));
  if (config.architecture() != Architecture::causal) title += fmt::format(", S {}", options.source_length);
  if (config.architecture() != Architecture::masked) title += fmt::format(", T {}", options.target_length);
  return parts_table(cost, title) + "\n" + growth_table(model_growth(config, options)) + "\n" +
         wrapped(
             "FLOPs: two for a multiply-add; a backward pass takes twice as many. Bytes: each matrix once, inputs "
             "and "
             "outputs of products in f32. Width C: with the feed-forward network's; heads H: narrower ones.",
             2);
}

}  // namespace qkv
