#include "qkv/model/describe.h"

#include <algorithm>

#include "qkv/base/counted.h"
#include "qkv/base/error.h"
#include "qkv/model/cached_numbers.h"
#include "qkv/model/describe_tables.h"
#include "qkv/model/make_model.h"

namespace qkv {
namespace {

int64_t head_width(const TransformerConfig& c) { return c.head_width == 0 ? c.d_model / c.heads : c.head_width; }

// The attention variants, where they are not the default.
std::string variants(const TransformerConfig& c) {
  const std::string cross = to_string(c.cross_attention);
  const std::string self = !c.has_decoder()   ? to_string(c.self_attention.encoder)
                           : !c.has_encoder() ? to_string(c.self_attention.decoder)
                                              : to_string(c.self_attention);
  if (c.has_encoder() != c.has_decoder()) return self == "full" ? "" : wrapped("self-attention " + self, 2);
  if (self == "full" && cross == "full") return "";
  return wrapped(fmt::format("self-attention {}, cross-attention {}", self, cross), 2);
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

std::string kind(const TransformerConfig& c) {
  switch (c.architecture) {
    case Architecture::encoder_decoder:
      return fmt::format("Transformer, {} encoder and {}", c.encoder_layers,
                         counted(c.decoder_layers, "decoder layer"));
    case Architecture::causal: return fmt::format("Causal Transformer, {}", counted(c.decoder_layers, "layer"));
    default: return fmt::format("Masked Transformer, {}", counted(c.encoder_layers, "layer"));
  }
}
std::string kind(const RecurrentConfig& c) {
  if (c.architecture == Architecture::bahdanau)
    return fmt::format("Bahdanau et al., 2015: {} of GRU in both directions, a GRU with attention",
                       counted(c.encoder_layers, "encoder layer"));
  return fmt::format("Luong et al., 2015: {} encoder and {} of LSTM, input feeding", c.encoder_layers,
                     counted(c.decoder_layers, "decoder layer"));
}

std::string vocabulary(const ModelConfig& c) {
  if (is_language_model(c.architecture())) return fmt::format("V {} tokens", c.source_vocabulary());
  return fmt::format("V {} source and W {} target tokens", c.source_vocabulary(), c.target_vocabulary());
}

bool encodes_positions(const AttentionPattern& pattern) {
  using Role = AttentionMechanism::Role;
  return std::any_of(pattern.groups().begin(), pattern.groups().end(), [](const AttentionPattern::Group& group) {
    return group.variant.has(Role::rotation) || group.variant.has(Role::position_bias);
  });
}

// "P 1024 sinusoidal positions", "positions by attention, any length, made for 2048 tokens"
std::string positions(const TransformerConfig& c) {
  if (c.has_position_limit()) return fmt::format("P {} {} positions", c.max_positions, name_of(c.positions));
  const bool by_attention = (c.has_encoder() && encodes_positions(c.self_attention.encoder)) ||
                            (c.has_decoder() && encodes_positions(c.self_attention.decoder));
  const std::string encoding = c.positions != Positions::none ? fmt::format("{} positions", name_of(c.positions))
                               : by_attention                 ? "positions by attention"
                                                              : "no position encoding";
  return encoding + ", any length" +
         (c.context_length > 0 ? fmt::format(", made for {} tokens", c.context_length) : "");
}

std::string headline(const TransformerConfig& c) {
  const int64_t Q = c.heads * head_width(c);
  const std::string heads =
      c.kv_heads == 0 || c.kv_heads == c.heads ? "" : fmt::format(" ({} for keys and values)", c.kv_heads);
  return fmt::format(
             "{}, {}\n"
             "  C {} d-model, F {} ffn, H {} heads{},{} K {} key and value width\n"
             "  {}, {}\n",
             kind(c), block_summary(c), c.d_model, c.ffn, c.heads, heads,
             Q == c.d_model ? "" : fmt::format(" Q {} query width,", Q), key_value_width(c), vocabulary(c),
             positions(c)) +
         variants(c);
}
std::string headline(const RecurrentConfig& c) {
  return fmt::format(
      "{}\n  C {} d-model\n  {}\n{}", kind(c), c.d_model, vocabulary(c),
      c.cross_attention == AttentionPattern() ? "" : wrapped("attention " + to_string(c.cross_attention), 2));
}

std::string parameters(const ModelConfig& c) {
  std::string out = parameter_table(*make_model(c));
  const char* embedding = is_language_model(c.architecture()) ? "embedding" : "source embedding";
  if (is_language_model(c.architecture()) && ties_output(c.tie()))
    out += fmt::format("  The {} is also the output projection.\n", embedding);
  else if (c.tie() == Tie::all)
    out += "  The source embedding is also the target embedding and the output projection.\n";
  else if (c.tie() == Tie::embeddings)
    out += "  The source embedding is also the target embedding.\n";
  else if (c.tie() == Tie::target)
    out += "  The target embedding is also the output projection.\n";
  return out;
}

double bytes_per_number(WeightFormat format) {
  const WeightBlock block = block_of(format);
  return static_cast<double>(block.bytes) / block.numbers;
}

std::string memory(const ModelConfig& c, WeightFormat format) {
  int64_t weights = 0, others = 0;
  make_model(c)->for_each_parameter([&](const std::string&, const Parameter& parameter) {
    (parameter.is_matrix() ? weights : others) += parameter.shape().numel();
  });
  const bool plain = format == WeightFormat::f32;
  const int64_t P = weights + others;
  const auto of = [](int64_t numbers) { return bytes_text(4 * static_cast<double>(numbers)); };
  const CachedNumbers rows = cached_numbers(c);
  std::vector<TableRow> out = {
      {plain ? "Bytes (f32)" : fmt::format("Bytes (weights {}, all else f32)", name_of(format)), "", "formula"},
      {"parameters", bytes_text(static_cast<double>(bytes_of(format, weights) + 4 * others)),
       plain ? "4 parameters" : fmt::format("{:.4g} weights + 4 others", bytes_per_number(format))},
      {"training: parameters, gradients, two moments of Adam", of(4 * P), "16 parameters"}};
  if (rows.target > 0)
    out.push_back({"KV cache per target token of a hypothesis", of(rows.target), rows.target_formula});
  if (rows.source > 0) out.push_back({"KV cache per source token", of(rows.source), rows.source_formula});
  return table(out, {false, true, false});
}

std::vector<FlopCount> held_as(WeightFormat format, std::vector<FlopCount> parts) {
  for (FlopCount& part : parts) part.format = format;
  return parts;
}

// One more token for every sentence of a batch, after T - 1 others.
std::string decoding_step(const ModelConfig& c, const DescribeOptions& o) {
  const FlopCount all = sum_of(held_as(o.weights, flops_per_target_token(c, o)));
  const CachedNumbers rows = cached_numbers(c);
  std::vector<TableRow> out = {
      {fmt::format("A step of decoding, position {}", o.target_length), "FLOPs", "bytes", "FLOP/byte"}};
  for (const int64_t B : {int64_t{1}, o.batch}) {
    const auto n = static_cast<double>(B);
    const double caches =
        4 * n * static_cast<double>(rows.target * o.target_length + rows.source * o.source_length);
    const double flops = n * static_cast<double>(all.flops),
                 bytes = static_cast<double>(all.weight_bytes()) + caches;
    out.push_back({fmt::format("{}", counted(B, "row")), flops_text(flops), bytes_text(bytes),
                   fmt::format("{:.2f}", flops / bytes)});
    if (o.batch == 1) break;
  }
  return table(out, {false, true, true, true});
}

// The parts after the parameters: the cost of a token on either side.
std::string arithmetic(const ModelConfig& c, const DescribeOptions& o) {
  const auto title = [](const char* token, char letter, int64_t length) {
    return fmt::format("Per {}, {} {}", token, letter, length);
  };
  const std::vector<FlopCount> source = held_as(o.weights, flops_per_source_token(c, o)),
                               target = held_as(o.weights, flops_per_target_token(c, o));
  const int64_t S = o.source_length, T = o.target_length;
  if (c.architecture() == Architecture::masked)
    return flop_table(title("token", 'S', S), source, o.batch * S) + "\n" +
           flop_table("Per masked token", target, o.batch * S);
  std::string of_target =
      flop_table(title(c.architecture() == Architecture::causal ? "token" : "target token", 'T', T), target,
                 o.batch * T) +
      "\n" + decoding_step(c, o);
  if (source.empty()) return of_target;
  return flop_table(title("source token", 'S', S), source, o.batch * S) + "\n" + of_target;
}

}  // namespace

std::string describe(const ModelConfig& config, const DescribeOptions& options) {
  config.check();
  const int64_t limit = config.position_limit();
  for (const auto& [name, length] :
       {std::pair("source-length", options.source_length), std::pair("target-length", options.target_length)})
    require<UsageError>(length >= 1 && length <= limit, "describe", "{} must be 1 to {}, got {}", name, limit,
                        length);
  require<UsageError>(options.batch >= 1 && options.batch <= 1'000'000, "describe",
                      "batch must be 1 to 1000000, got {}", options.batch);
  return config.visit([](const auto& own) { return headline(own); }) + "\n" + parameters(config) + "\n" +
         arithmetic(config, options) + "\n" +
         wrapped(
             fmt::format("FLOPs: of a forward pass, two for a multiply-add; a backward pass takes twice as many. "
                         "FLOP/byte: the arithmetic intensity in a batch of {}.",
                         counted(options.batch, "sentence")),
             2) +
         "\n" + memory(config, options.weights);
}

}  // namespace qkv
