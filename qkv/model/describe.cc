#include "qkv/model/describe.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "qkv/attention/explain.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/base/error.h"
#include "qkv/layer/attention_part.h"
#include "qkv/layer/block.h"
#include "qkv/layer/parameter_groups.h"
#include "qkv/model/transformer.h"

namespace qkv {
namespace {

std::string with_commas(int64_t n) {
  if (n < 1000) return std::to_string(n);
  return fmt::format("{},{:03}", with_commas(n / 1000), n % 1000);
}

// Three digits and a unit: 37.7 MiB
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

int64_t head_width(const TransformerConfig& c) { return c.head_width == 0 ? c.d_model / c.heads : c.head_width; }
int64_t key_value_width(const TransformerConfig& c) {
  return head_width(c) * (c.kv_heads == 0 ? c.heads : c.kv_heads);
}

using Row = std::vector<std::string>;

// Columns as wide as their widest cell; columns of numbers are aligned to the right.
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

// The text in lines of at most `width` columns, broken at spaces, each behind `indent` spaces.
std::string wrapped(const std::string& text, size_t width, size_t indent) {
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(begin + width - indent, text.size());
    if (const size_t space = text.rfind(' ', end); end < text.size() && space != text.npos && space > begin)
      end = space;
    out += std::string(indent, ' ') + text.substr(begin, end - begin) + "\n";
    begin = end + (end < text.size() ? 1 : 0);
  }
  return out;
}

constexpr size_t columns = 100;

// The attention variants, where they are not the default.
std::string variants(const TransformerConfig& c) {
  const std::string self = to_string(c.self_attention), cross = to_string(c.cross_attention);
  if (self == "full" && cross == "full") return "";
  return wrapped(fmt::format("self-attention {}, cross-attention {}", self, cross), columns, 2);
}

std::string_view title(Activation activation) {
  switch (activation) {
    case Activation::relu: return "ReLU";
    case Activation::gelu: return "GELU";
    case Activation::gelu_tanh: return "GELU (tanh)";
    case Activation::silu: return "SiLU";
    case Activation::quick_gelu: return "quick GELU";
  }
  return "";
}

// "pre-LN, ReLU", "sandwich order, RMS norm, gated SiLU"
std::string block_summary(const TransformerConfig& c) {
  const bool classic =
      c.norm_kind == NormKind::layer && (c.norm_order == NormOrder::post || c.norm_order == NormOrder::pre);
  return fmt::format("{}{}, {}{}", name_of(c.norm_order),
                     classic                          ? "-LN"
                     : c.norm_kind == NormKind::layer ? " order, layer norm"
                                                      : " order, RMS norm",
                     c.gated_ffn ? "gated " : "", title(c.activation));
}

std::string headline(const TransformerConfig& c) {
  const int64_t Q = c.heads * head_width(c);
  const std::string heads =
      c.kv_heads == 0 || c.kv_heads == c.heads ? "" : fmt::format(" ({} for keys and values)", c.kv_heads);
  const bool limited = c.positions == Positions::sinusoidal || c.positions == Positions::learned;
  const std::string positions = limited ? fmt::format("P {} {} positions", c.max_positions, name_of(c.positions))
                                        : fmt::format("{} positions without a limit", name_of(c.positions));
  return fmt::format(
             "Transformer, {} encoder and {} decoder layers, {}\n"
             "  C {} d-model, F {} ffn, H {} heads{},{} K {} key and value width\n"
             "  V {} source and W {} target tokens, {}\n",
             c.encoder_layers, c.decoder_layers, block_summary(c), c.d_model, c.ffn, c.heads, heads,
             Q == c.d_model ? "" : fmt::format(" Q {} query width,", Q), key_value_width(c), c.source_vocabulary,
             c.target_vocabulary, positions) +
         variants(c);
}

// A row of numbers for each group, and lines with its formula and shapes behind it.
std::string parameters(const TransformerConfig& c) {
  const Transformer model(c);
  const std::vector<ParameterGroup> groups = parameter_groups(model);
  std::vector<Row> rows = {{"Parameters", "each", "times", "sum"}};
  for (const ParameterGroup& g : groups)
    rows.push_back(
        {g.name, with_commas(g.parameters), std::to_string(g.times), with_commas(g.times * g.parameters)});
  rows.push_back({"all", "", "", with_commas(model.parameter_count())});
  const std::string numbers = table(rows, {false, true, true, true});
  std::string out;
  size_t begin = 0;
  for (size_t row = 0; row < rows.size(); ++row) {
    const size_t end = numbers.find('\n', begin) + 1;
    out += numbers.substr(begin, end - begin);
    if (row > 0 && row <= groups.size())
      out += wrapped(groups[row - 1].formula + ": " + groups[row - 1].shapes, columns, 6);
    begin = end;
  }
  if (c.tie == Tie::all) out += "  The source embedding is also the target embedding and the output projection.\n";
  if (c.tie == Tie::target) out += "  The target embedding is also the output projection.\n";
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
  const int64_t P = Transformer(c).parameter_count(), cached = 2 * key_value_width(c) * c.decoder_layers * 4;
  return table({{"Bytes (f32)", "", "formula"},
                {"parameters", bytes(4 * P), "4 parameters"},
                {"training: parameters, gradients, two moments of Adam", bytes(16 * P), "16 parameters"},
                {"KV cache per target token of a hypothesis", bytes(cached), "4 * 2 K layers"},
                {"KV cache per source token", bytes(cached), "4 * 2 K layers"}},
               {false, true, false});
}

// Layers with the same attention, ascending.
using Layers = std::vector<int64_t>;

// The layers of a stack, those of equal keys together: key(n) is a function of the layer.
template <class Key>
std::vector<Layers> equal_layers(int64_t layers, Key key) {
  std::vector<Layers> out;
  std::vector<decltype(key(0))> keys;  // of `out`
  for (int64_t n = 0; n < layers; ++n) {
    auto own = key(n);
    const auto kind = static_cast<size_t>(std::ranges::find(keys, own) - keys.begin());
    if (kind == keys.size()) {
      keys.push_back(std::move(own));
      out.emplace_back();
    }
    out[kind].push_back(n);
  }
  return out;
}

// "encoder: projections", with the layers where there are several kinds.
std::string title_of(const std::string& part, const Layers& layers, size_t kinds) {
  return kinds == 1 ? part : fmt::format("{} (layers {})", part, index_ranges(layers));
}

MultiHeadAttentionOptions attention_of(const TransformerConfig& c, AttentionUse use, int64_t layer) {
  return (use == AttentionUse::encoder ? c.encoder_block(layer) : c.decoder_block(layer)).attention(use);
}

// A mechanism is made to count its FLOPs. One of more parameters than this counts as scaled dot products instead, so that
// a configuration larger than the memory can be described.
constexpr double max_parameters = 1 << 28;

double parameters_of(const AttentionMechanism& mechanism, const AttentionSize& size) {
  double sum = 0;
  for (const auto& [name, parameter] : mechanism.parameters(size)) {
    double count = 1;
    for (const int64_t n : parameter.shape()) count *= static_cast<double>(n);
    sum += count;
  }
  return sum;
}

// Scores, normalization and the weighted sum of T queries and S keys, per query: only visible pairs count.
FlopCount attention_flops(const std::string& title, const MultiHeadAttentionOptions& layer, int64_t layers,
                          int64_t T, int64_t S) {
  const AttentionSize size = layer.size();
  std::vector<AttentionPart> parts;
  for (const AttentionMechanismPtr& mechanism : layer.variant.mechanisms())
    if (parameters_of(*mechanism, size) <= max_parameters) parts.emplace_back(mechanism, size);
  AttentionOptions options = attention_options(parts);
  if (size.use == AttentionUse::decoder) options.mask = options.mask & causal();
  const int64_t H = size.heads, D = size.head_width;
  const Tensor row = Tensor::zeros({1, 1, 1, D});
  const Tensor q = row.expand({1, H, T, D}), k = row.expand({1, size.kv_heads, S, D});
  const Tensor lengths = Tensor::from(std::vector<int32_t>{static_cast<int32_t>(S)}, {1});
  const NoGrad guard;
  double pair_flops = 0;
  for (const AttentionPart& p : parts) {
    p.mechanism().add_to_call(options, p, {.q = q, .key_lengths = lengths});
    pair_flops += p.mechanism().pair_flops(size);
  }
  const AttentionPlan plan = attention_plan(q, k, k, options);
  const auto pairs = static_cast<double>(plan.visible_pairs);
  if (pairs > 0) pair_flops += plan.flops / pairs;
  const double keys = pairs / static_cast<double>(H * T);
  const std::string formula = std::lround(pair_flops) == 4 * D
                                  ? fmt::format("{} * 4 C keys", layers)
                                  : fmt::format("{} * {:.0f} H keys", layers, pair_flops);
  return {fmt::format("{}, {:.4g} of {} keys", title, keys, S), formula,
          std::llround(static_cast<double>(layers) * pair_flops * pairs / static_cast<double>(T))};
}

// One row for each variant of the pattern.
void add_attention(std::vector<FlopCount>& rows, const std::string& part, const TransformerConfig& c,
                   AttentionUse use, int64_t T, int64_t S) {
  const std::vector<Layers> kinds = equal_layers(use == AttentionUse::encoder ? c.encoder_layers : c.decoder_layers,
                                                 [&](int64_t n) { return attention_of(c, use, n).variant; });
  for (const Layers& layers : kinds)
    rows.push_back(attention_flops(title_of(part, layers, kinds.size()), attention_of(c, use, layers.front()),
                                   std::ssize(layers), T, S));
}

// The FLOPs of the matrices of modules: two for each element and each vector that it is multiplied with.
class MatrixFlops final : public ModuleContents {
 public:
  void parameter(const std::string&, const Parameter&) override {}
  void child(const std::string&, const Module& module) override { add(module); }

  void add(const Module& module, int64_t times = 1) {
    if (const auto* linear = dynamic_cast<const Linear*>(&module)) {
      if (!linear->weight.defined() || linear->weight.shape().numel() == 0) return;
      flops_ += 2 * times * linear->weight.shape().numel();
      const std::string& product = linear->weight.formula();
      auto term = std::find_if(terms_.begin(), terms_.end(), [&](const auto& t) { return t.first == product; });
      if (term == terms_.end()) term = terms_.insert(terms_.end(), {product, 0});
      term->second += 2 * times;
    } else {
      module.list(*this);
    }
  }

  // Of that many equal layers.
  FlopCount count(const std::string& part, int64_t layers) const {
    std::string sum;
    for (const auto& [product, factor] : terms_)
      sum += fmt::format("{}{} {}", sum.empty() ? "" : " + ", factor, product);
    const bool one = terms_.size() == 1;
    return {part, one ? fmt::format("{} * {}", layers, sum) : fmt::format("{} ({})", layers, sum), layers * flops_};
  }

 private:
  int64_t flops_ = 0;
  std::vector<std::pair<std::string, int64_t>> terms_;
};

// Layers of equal kinds have projections of equal sizes.
std::array<bool, 3> projection_kind(const AttentionVariant& v) {
  return {v.reads_queries(), v.reads_keys(), v.has_global_projections()};
}

// Longformer's second projections are as large as the first.
int64_t projections(const MultiHeadAttentionOptions& o) { return o.variant.has_global_projections() ? 2 : 1; }

void add_query_projections(MatrixFlops& flops, const MultiHeadAttention& attention, int64_t times) {
  flops.add(attention.query, times);
  flops.add(attention.out);
}
void add_key_value_projections(MatrixFlops& flops, const MultiHeadAttention& attention, int64_t times) {
  flops.add(attention.key, times);
  flops.add(attention.value, times);
}

}  // namespace

std::vector<FlopCount> flops_per_source_token(const TransformerConfig& c, const DescribeOptions& o) {
  const int64_t S = o.source_length;
  std::vector<FlopCount> rows;
  const std::vector<Layers> encoders = equal_layers(
      c.encoder_layers, [&](int64_t n) { return projection_kind(c.self_attention.encoder.of_layer(n)); });
  for (const Layers& layers : encoders) {
    const Block block(c.encoder_block(layers.front()));
    const int64_t times = projections(attention_of(c, AttentionUse::encoder, layers.front()));
    MatrixFlops own;
    add_query_projections(own, block.self_attention, times);
    add_key_value_projections(own, block.self_attention, times);
    rows.push_back(own.count(title_of("encoder: projections", layers, encoders.size()), std::ssize(layers)));
  }
  add_attention(rows, "encoder: self-attention", c, AttentionUse::encoder, S, S);
  MatrixFlops ffn;
  ffn.add(Block(c.encoder_block()).feed_forward);
  rows.push_back(ffn.count("encoder: feed-forward", c.encoder_layers));
  const std::vector<Layers> decoders =
      equal_layers(c.decoder_layers, [&](int64_t n) { return projection_kind(c.cross_attention.of_layer(n)); });
  for (const Layers& layers : decoders) {
    const Block block(c.decoder_block(layers.front()));
    MatrixFlops cross;
    add_key_value_projections(cross, *block.cross_attention,
                              projections(attention_of(c, AttentionUse::cross, layers.front())));
    rows.push_back(cross.count(title_of("decoder: keys and values of the source", layers, decoders.size()),
                               std::ssize(layers)));
  }
  return rows;
}

std::vector<FlopCount> flops_per_target_token(const TransformerConfig& c, const DescribeOptions& o) {
  const int64_t S = o.source_length, T = o.target_length;
  std::vector<FlopCount> rows;
  const std::vector<Layers> decoders = equal_layers(c.decoder_layers, [&](int64_t n) {
    return std::pair(projection_kind(c.self_attention.decoder.of_layer(n)),
                     projection_kind(c.cross_attention.of_layer(n)));
  });
  for (const Layers& layers : decoders) {
    const Block block(c.decoder_block(layers.front()));
    const int64_t self = projections(attention_of(c, AttentionUse::decoder, layers.front()));
    MatrixFlops own;
    add_query_projections(own, block.self_attention, self);
    add_key_value_projections(own, block.self_attention, self);
    add_query_projections(own, *block.cross_attention,
                          projections(attention_of(c, AttentionUse::cross, layers.front())));
    rows.push_back(own.count(title_of("decoder: projections", layers, decoders.size()), std::ssize(layers)));
  }
  add_attention(rows, "decoder: self-attention", c, AttentionUse::decoder, T, T);
  add_attention(rows, "decoder: cross-attention", c, AttentionUse::cross, T, S);
  MatrixFlops ffn;
  ffn.add(Block(c.decoder_block()).feed_forward);
  rows.push_back(ffn.count("decoder: feed-forward", c.decoder_layers));
  rows.push_back({"output projection", "2 C W", 2 * c.d_model * c.target_vocabulary});
  return rows;
}

std::string describe(const TransformerConfig& config, const DescribeOptions& options) {
  config.check();
  require<UsageError>(config.architecture == Architecture::encoder_decoder, "describe",
                      "describes an encoder-decoder; the model is {}", name_of(config.architecture));
  const int64_t limit = config.position_limit();
  for (const auto& [name, length] :
       {std::pair("source_length", options.source_length), std::pair("target_length", options.target_length)})
    require<UsageError>(length >= 1 && length <= limit, "describe", "{} must be 1 to {}, got {}", name, limit,
                        length);
  return headline(config) + "\n" + parameters(config) + "\n" +
         arithmetic(fmt::format("FLOPs per source token, S {}", options.source_length).c_str(),
                    flops_per_source_token(config, options)) +
         "\n" +
         arithmetic(fmt::format("FLOPs per target token, T {}", options.target_length).c_str(),
                    flops_per_target_token(config, options)) +
         "\n" + memory(config);
}

}  // namespace qkv
