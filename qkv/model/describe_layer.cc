#include "qkv/model/describe_layer.h"

#include <charconv>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "qkv/base/error.h"
#include "qkv/base/names.h"
#include "qkv/layer/attention_variant_text.h"
#include "qkv/layer/feed_forward.h"
#include "qkv/layer/gru.h"
#include "qkv/layer/lstm.h"
#include "qkv/layer/norm.h"
#include "qkv/layer/token_embedding.h"
#include "qkv/model/describe_tables.h"

namespace qkv {
namespace {

constexpr const char* op = "--layer";
constexpr std::string_view kinds_of_layers[] = {"attention", "ffn", "norm", "linear", "embedding", "gru", "lstm"};

// The words after the kind of a layer: NAME=NUMBER, flags, and the rest, which are attention variants.
class Words {
 public:
  explicit Words(std::string_view text) {
    for (size_t begin = 0; (begin = text.find_first_not_of(' ', begin)) != text.npos;) {
      const size_t end = std::min(text.find(' ', begin), text.size());
      words_.emplace_back(text.substr(begin, end - begin));
      begin = end;
    }
    require<UsageError>(!words_.empty(), op,
                        "a kind of layer is missing: attention, ffn, norm, linear, embedding, gru or "
                        "lstm");
    kind = words_.front();
    words_.erase(words_.begin());
  }

  bool flag(const char* name) {
    accepted_.emplace_back(name);
    return std::erase(words_, name) > 0;
  }
  int64_t number(const char* name, int64_t otherwise) {
    accepted_.push_back(fmt::format("{}=N", name));
    const std::string prefix = fmt::format("{}=", name);
    int64_t value = otherwise;
    std::erase_if(words_, [&](const std::string& word) {
      if (!word.starts_with(prefix)) return false;
      const char *begin = word.data() + prefix.size(), *end = word.data() + word.size();
      constexpr int64_t largest = int64_t{1} << 24;
      const auto [stop, error] = std::from_chars(begin, end, value);
      require<UsageError>(error == std::errc() && stop == end && value >= 1 && value <= largest, op,
                          "{} must be 1 to {}, got {}", name, largest, quoted_name(std::string(begin, end)));
      return true;
    });
    return value;
  }
  int64_t required(const char* name) {
    const int64_t value = number(name, 0);
    require<UsageError>(value > 0, op, "{} needs {}=N", kind, name);
    return value;
  }
  AttentionVariant variant() {
    AttentionVariant all;
    for (const std::string& word : words_) {
      try {
        all = all + attention_variant(word, op);
      } catch (const UsageError& e) {
        fail<UsageError>(op, "'{}' is neither one of {}, nor a mechanism: {}", word, name_list(views()), e.what());
      }
    }
    words_.clear();
    return all;
  }
  // Every word has been read.
  void finish() const {
    if (!words_.empty())
      fail<UsageError>(op, "{} takes {}, got {}", kind, name_list(views()), quoted_name(words_.front()));
  }

  std::string kind;

 private:
  std::vector<std::string_view> views() const { return {accepted_.begin(), accepted_.end()}; }

  std::vector<std::string> words_, accepted_;
};

struct Layer {
  std::unique_ptr<Module> module;
  std::vector<FlopCount> flops;
  int64_t parameters_without_biases = 0;
  int64_t cached = 0;  // bytes for a token of a hypothesis
};

// make(bias) makes the layer.
Layer layer_of(bool bias, const std::function<std::unique_ptr<Module>(bool bias)>& make, bool matrices = true) {
  Layer layer = {.module = make(bias), .flops = {}};
  layer.parameters_without_biases = make(false)->parameter_count();
  if (!matrices) return layer;
  MatrixFlops flops;
  flops.add(*layer.module);
  layer.flops.push_back(flops.count("matrices", 1));
  return layer;
}

Layer attention_layer(Words& words, const DescribeOptions& lengths) {
  MultiHeadAttentionOptions o;
  o.d_model = words.required("d");
  o.heads = words.number("heads", 1);
  o.kv_heads = words.number("kv-heads", 0);
  o.head_width = words.number("head-width", 0);
  require<UsageError>(o.head_width > 0 || o.d_model % o.heads == 0, op,
                      "heads {} must divide d {}, or head-width must be given", o.heads, o.d_model);
  require<UsageError>(o.kv_heads == 0 || o.heads % o.kv_heads == 0, op, "kv-heads {} must divide heads {}",
                      o.kv_heads, o.heads);
  const int64_t source = words.number("source-width", 0);
  o.query_width = source;
  o.key_width = words.number("key-width", source);
  o.value_width = words.number("value-width", source);
  o.fused_qkv = words.flag("fused-qkv");
  const bool cross = words.flag("cross"), causal = words.flag("causal"), bias = !words.flag("no-bias");
  require<UsageError>(!cross || (!causal && !o.fused_qkv), op, "cross-attention is neither causal nor fused");
  require<UsageError>(!o.fused_qkv || (o.key_width == source && o.value_width == source), op,
                      "fused projections read one source: give source-width instead of key-width and value-width");
  o.use = cross ? AttentionUse::cross : causal ? AttentionUse::decoder : AttentionUse::encoder;
  o.variant = words.variant();
  check_variant(o.variant, o.size(), op);
  const auto make = [&](bool with_bias) {
    MultiHeadAttentionOptions one = o;
    if (!with_bias) one.bias = no_projection_bias;
    return std::make_unique<MultiHeadAttention>(one);
  };
  Layer layer = layer_of(bias, make);
  const int64_t T = lengths.target_length;
  layer.flops.push_back(attention_flops("attention", o, 1, T, cross ? lengths.source_length : T));
  const AttentionSize size = o.size();
  layer.cached = 4 * 2 * size.kv_heads * size.head_width;
  return layer;
}

Layer read_layer(Words& words, const DescribeOptions& lengths) {
  if (words.kind == "attention") return attention_layer(words, lengths);
  if (words.kind == "ffn") {
    const int64_t d = words.required("d"), ffn = words.number("ffn", 4 * d);
    const bool gated = words.flag("gated"), bias = !words.flag("no-bias");
    return layer_of(bias, [&](bool b) {
      return std::make_unique<FeedForward>(FeedForwardOptions{.d_model = d, .ffn = ffn, .gated = gated, .bias = b});
    });
  }
  if (words.kind == "norm") {
    const int64_t d = words.required("d");
    const bool rms = words.flag("rms");
    const NormOptions options = {.kind = rms ? NormKind::rms : NormKind::layer};
    return layer_of(
        true, [&](bool) { return std::make_unique<Norm>(Axis(d, "C"), options); }, false);
  }
  if (words.kind == "linear") {
    const int64_t in = words.required("in"), out = words.required("out");
    const bool bias = !words.flag("no-bias");
    return layer_of(bias, [&](bool b) { return std::make_unique<Linear>(Axis(in, "I"), Axis(out, "O"), b); });
  }
  if (words.kind == "embedding") {
    const int64_t vocabulary = words.required("vocabulary"), d = words.required("d");
    struct Table final : Module {
      explicit Table(Parameter p) : table(std::move(p)) {}
      void list(ModuleContents& contents) const override { contents.parameter("table", table); }
      Parameter table;
    };
    return layer_of(
        true,
        [&](bool) {
          return std::make_unique<Table>(embedding_table({vocabulary, "V"}, {d, "C"}));
        },
        false);
  }
  if (words.kind == "gru" || words.kind == "lstm") {
    const int64_t d = words.required("d"), in = words.number("in", d);
    const CellKind kind = value_named<CellKind>(words.kind, op, "a cell");
    Layer layer = layer_of(true, [&](bool) { return make_cell(kind, {in, in == d ? "C" : "I"}, {d, "C"}); });
    layer.parameters_without_biases = 0;  // these cells have them
    layer.cached = 4 * (kind == CellKind::lstm ? 2 : 1) * d;
    return layer;
  }
  fail<UsageError>(op, "the kind of a layer must be attention, ffn, norm, linear, embedding, gru or lstm, got {}{}",
                   quoted_name(words.kind), did_you_mean(words.kind, kinds_of_layers));
}

}  // namespace

std::string describe_layer(std::string_view text, const DescribeOptions& options) {
  require<UsageError>(options.target_length >= 1 && options.source_length >= 1 && options.batch >= 1, op,
                      "lengths and batch must be at least 1, got {}, {} and {}", options.source_length,
                      options.target_length, options.batch);
  Words words(text);
  const Layer layer = read_layer(words, options);
  words.finish();
  std::string out = fmt::format("{}\n\n{}", text, parameter_table(*layer.module));
  const int64_t parameters = layer.module->parameter_count(), plain = layer.parameters_without_biases;
  if (plain > 0 && plain < parameters) out += fmt::format("  without biases: {}\n", with_commas(plain));
  if (!layer.flops.empty())
    out += fmt::format("\n{}", flop_table(fmt::format("Per token, T {}", options.target_length), layer.flops,
                                          options.batch * options.target_length));
  std::vector<TableRow> bytes = {{"Bytes (f32)", ""},
                                 {"parameters", bytes_text(4 * static_cast<double>(parameters))}};
  const bool recurrent = words.kind == "gru" || words.kind == "lstm";
  if (layer.cached > 0)
    bytes.push_back(
        {recurrent ? "state of a row" : "KV cache per token", bytes_text(static_cast<double>(layer.cached))});
  return fmt::format("{}\n{}", out, table(bytes, {false, true}));
}

}  // namespace qkv
