#include "qkv/model/describe.h"

#include <algorithm>

#include "qkv/base/error.h"
#include "qkv/model/parameter_groups.h"

namespace qkv {
namespace {

std::string with_commas(int64_t n) {
  if (n < 1000) return std::to_string(n);
  return fmt::format("{},{:03}", with_commas(n / 1000), n % 1000);
}

// Three digits and a unit: 37.7 M
std::string scaled(double x, double base, const std::vector<const char*>& units) {
  size_t unit = 0;
  for (; x >= base && unit + 1 < units.size(); ++unit) x /= base;
  if (unit == 0) return fmt::format("{} {}", static_cast<int64_t>(x), units[0]);
  return fmt::format("{:.{}f} {}", x, x < 10 ? 2 : x < 100 ? 1 : 0, units[unit]);
}
std::string flops(int64_t n) {
  return scaled(static_cast<double>(n), 1000, {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"});
}
std::string bytes(int64_t n) {
  return scaled(static_cast<double>(n), 1024, {"B", "KiB", "MiB", "GiB", "TiB", "PiB"});
}

using Row = std::vector<std::string>;

// Columns as wide as their widest cell; those that hold numbers stand on the right.
std::string table(const std::vector<Row>& rows, const std::vector<bool>& right) {
  std::vector<size_t> widths(right.size(), 0);
  for (const Row& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string out;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i)
      line += right[i] ? fmt::format("  {:>{}}", row[i], widths[i]) : fmt::format("  {:<{}}", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

// The kinds of attention, where they are not the usual ones.
std::string kinds(const TransformerConfig& c) {
  if (c.self_attention.parts().empty() && c.cross_attention.parts().empty()) return "";
  return fmt::format("  self-attention {}, cross-attention {}; its arithmetic is counted as if full\n",
                     to_string(c.self_attention), to_string(c.cross_attention));
}

std::string headline(const TransformerConfig& c) {
  const std::string heads =
      c.kv_heads == 0 || c.kv_heads == c.heads ? "" : fmt::format(" ({} for keys and values)", c.kv_heads);
  return fmt::format(
             "Transformer, {} encoder and {} decoder layers, {}-LN, {}\n"
             "  C {} d-model, F {} ffn, H {} heads{}, K {} key and value width\n"
             "  V {} source and W {} target tokens, P {} {} positions\n",
             c.encoder_layers, c.decoder_layers, c.norm_order == NormOrder::post ? "post" : "pre",
             c.activation == Activation::relu ? "ReLU" : "GELU", c.d_model, c.ffn, c.heads, heads,
             key_value_width(c), c.source_vocabulary, c.target_vocabulary, c.max_length, name_of(c.positions)) +
         kinds(c);
}

std::string parameters(const TransformerConfig& c) {
  std::vector<Row> rows = {{"Parameters", "shapes", "each", "times", "sum", "formula"}};
  for (const ParameterGroup& g : parameter_groups(c))
    rows.push_back({g.name, g.shapes, with_commas(g.parameters), std::to_string(g.times),
                    with_commas(g.times * g.parameters), g.formula});
  rows.push_back({"all", "", "", "", with_commas(parameter_count(c)), ""});
  std::string out = table(rows, {false, false, true, true, true, false});
  if (c.tie == Tie::all) out += "  The source embedding is the target embedding and the output projection, too.\n";
  if (c.tie == Tie::target) out += "  The target embedding is the output projection, too.\n";
  return out;
}

std::string arithmetic(const char* title, const std::vector<FlopCount>& parts) {
  std::vector<Row> rows = {{title, "", "formula"}};
  int64_t sum = 0;
  for (const FlopCount& part : parts) {
    rows.push_back({part.part, flops(part.flops), part.formula});
    sum += part.flops;
  }
  rows.push_back({"all", flops(sum), ""});
  return table(rows, {false, true, false});
}

std::string memory(const TransformerConfig& c) {
  const int64_t P = parameter_count(c), cached = 2 * key_value_width(c) * c.decoder_layers * 4;
  return table({{"Bytes (f32)", "", "formula"},
                {"parameters", bytes(4 * P), "4 parameters"},
                {"training: parameters, gradients, two moments of Adam", bytes(16 * P), "16 parameters"},
                {"decoding: keys and values, a target token of one hypothesis", bytes(cached), "4 * 2 K layers"},
                {"decoding: keys and values, a source token", bytes(cached), "4 * 2 K layers"}},
               {false, true, false});
}

}  // namespace

std::vector<FlopCount> flops_per_source_token(const TransformerConfig& c, const DescribeOptions& o) {
  const int64_t C = c.d_model, K = key_value_width(c), F = c.ffn, S = o.source_length;
  const int64_t E = c.encoder_layers, D = c.decoder_layers;
  return {{"encoder: projections", fmt::format("{} (4 C^2 + 4 C K)", E), E * (4 * C * C + 4 * C * K)},
          {"encoder: attention", fmt::format("{} * 4 S C", E), E * 4 * S * C},
          {"encoder: feed-forward", fmt::format("{} * 4 C F", E), E * 4 * C * F},
          {"decoder: keys and values of the source", fmt::format("{} * 4 C K", D), D * 4 * C * K}};
}

std::vector<FlopCount> flops_per_target_token(const TransformerConfig& c, const DescribeOptions& o) {
  const int64_t C = c.d_model, K = key_value_width(c), F = c.ffn, S = o.source_length, T = o.target_length;
  const int64_t D = c.decoder_layers;
  return {{"decoder: projections", fmt::format("{} (8 C^2 + 4 C K)", D), D * (8 * C * C + 4 * C * K)},
          {"decoder: self-attention, (T + 1) / 2 keys", fmt::format("{} * 2 (T + 1) C", D), D * 2 * (T + 1) * C},
          {"decoder: cross-attention, S keys", fmt::format("{} * 4 S C", D), D * 4 * S * C},
          {"decoder: feed-forward", fmt::format("{} * 4 C F", D), D * 4 * C * F},
          {"output projection", "2 C W", 2 * C * c.target_vocabulary}};
}

std::string describe(const TransformerConfig& config, const DescribeOptions& options) {
  config.check();
  require<UsageError>(options.source_length >= 1 && options.target_length >= 1 &&
                          options.source_length <= config.max_length && options.target_length <= config.max_length,
                      "describe", "lengths must be 1 to the {} positions, got {} and {}", config.max_length,
                      options.source_length, options.target_length);
  return headline(config) + "\n" + parameters(config) + "\n" +
         arithmetic(fmt::format("A source token, of S {}", options.source_length).c_str(),
                    flops_per_source_token(config, options)) +
         "\n" +
         arithmetic(fmt::format("A target token, of T {}", options.target_length).c_str(),
                    flops_per_target_token(config, options)) +
         "\n" + memory(config);
}

}  // namespace qkv
