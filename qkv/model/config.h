// The configuration of a model of any architecture: that of a Transformer or of a recurrent encoder-decoder. It is
// written to and read from config.json.
//
//     ModelConfig config = recipe("transformer-base");
//     config.set_vocabularies(8000, 8000);
//     config.transformer().heads = 16;          // UsageError: model: a luong model is not a Transformer
//     std::string text = to_json(config);
//
// Letters: C d_model, V vocabularies.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "qkv/model/recurrent_config.h"
#include "qkv/model/transformer_config.h"

namespace qkv {

class ModelConfig {
 public:
  ModelConfig() = default;  // of a Transformer
  // UsageError for an architecture of the other kind.
  ModelConfig(TransformerConfig config);  // NOLINT: implicit on purpose
  ModelConfig(RecurrentConfig config);    // NOLINT: implicit on purpose

  bool is_recurrent() const { return std::holds_alternative<RecurrentConfig>(config_); }
  // UsageError for a model of the other kind.
  const TransformerConfig& transformer() const&;
  TransformerConfig& transformer() &;
  TransformerConfig transformer() && { return transformer(); }
  const RecurrentConfig& recurrent() const&;
  RecurrentConfig& recurrent() &;
  RecurrentConfig recurrent() && { return recurrent(); }
  // visitor(config) for the one that it is.
  template <class Visitor>
  decltype(auto) visit(Visitor&& visitor) const {
    return std::visit(std::forward<Visitor>(visitor), config_);
  }
  template <class Visitor>
  decltype(auto) visit(Visitor&& visitor) {
    return std::visit(std::forward<Visitor>(visitor), config_);
  }

  // What every model has. Lengths are those of TransformerConfig; a recurrent model reads texts of any length.
  Architecture architecture() const;
  int64_t source_vocabulary() const;
  int64_t target_vocabulary() const;
  int64_t d_model() const;
  Tie tie() const;
  bool has_head() const;  // for the logits of tokens
  int64_t position_limit() const;
  int64_t default_context() const;
  bool depends_on_length() const;

  void set_vocabularies(int64_t source, int64_t target);
  void check() const;  // UsageError for settings that are out of range or do not fit together

 private:
  std::variant<TransformerConfig, RecurrentConfig> config_;
};

// transformer-tiny, -small, -base, -big, bahdanau, luong. UsageError for another name.
ModelConfig recipe(std::string_view name);
std::vector<std::string_view> recipe_names();

std::string to_json(const ModelConfig& config);
// InputError, beginning with `where` (the file), for unknown keys, wrong types and settings that check() refuses.
ModelConfig config_from_json(std::string_view text, std::string_view where);

}  // namespace qkv
