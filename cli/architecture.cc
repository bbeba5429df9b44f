#include "cli/architecture.h"

#include <algorithm>

#include "cli/flags.h"

namespace qkv::cli {
namespace {

CLI::Option* kind(CLI::App& app, const std::string& name, AttentionKind& value, const std::string& help) {
  const auto read = [&value, where = "qkv " + app.get_name() + ": " + name](const std::string& given) {
    value = attention_kind(given, where);
  };
  return app.add_option_function<std::string>(name, read, help)->type_name("WORDS")->default_str(to_string(value));
}

}  // namespace

std::vector<CLI::Option*> architecture_flags(CLI::App& app, TransformerConfig& c) {
  return {
      flag(app, "--d-model", c.d_model, "width C of the model", "N"),
      flag(app, "--heads", c.heads, "query heads H; divides d-model", "N"),
      flag(app, "--kv-heads", c.kv_heads, "key/value heads G; divides heads; 0: as many", "N"),
      flag(app, "--ffn", c.ffn, "width F of the feed-forward network", "N"),
      flag(app, "--encoder-layers", c.encoder_layers, "encoder layers", "N"),
      flag(app, "--decoder-layers", c.decoder_layers, "decoder layers", "N"),
      flag(app, "--dropout", c.dropout, "of embeddings and sublayers", "RATE"),
      flag(app, "--attention-dropout", c.attention_dropout, "of attention weights", "RATE"),
      flag(app, "--ffn-dropout", c.ffn_dropout, "inside the feed-forward network", "RATE"),
      choice(app, "--norm", c.norm_order, "where the layer norm stands"),
      choice(app, "--activation", c.activation, "of the feed-forward network"),
      choice(app, "--positions", c.positions, "how positions are told"),
      kind(app, "--self-attention", c.self_attention, "words joined by +, below: of encoder and decoder"),
      kind(app, "--cross-attention", c.cross_attention, "words joined by +, below: of the decoder to the source"),
      choice(app, "--tie", c.tie, "embeddings that share one matrix; all makes one vocabulary for both languages")};
}

std::string attention_words_help() {
  size_t width = 0;
  for (const AttentionWord& word : attention_words()) width = std::max(width, usage(word).size());
  std::string text = "Words of attention (self, cross), with their numbers:\n";
  for (const AttentionWord& word : attention_words()) {
    std::string usual;
    for (const AttentionWord::Number& number : word.numbers)
      if (number.usual && *number.usual != 0) usual += fmt::format("{}{}", usual.empty() ? "" : ":", *number.usual);
    text += fmt::format("  {:{}}  {:4} {:5}  {}{}\n", usage(word), width, word.in_self ? "self" : "",
                        word.in_cross ? "cross" : "", word.help, usual.empty() ? "" : fmt::format(" [{}]", usual));
  }
  return text + "For example: --self-attention window=64+softcap=30 --cross-attention additive";
}

}  // namespace qkv::cli
