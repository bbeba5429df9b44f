#include "qkv/model/config_check.h"

#include <vector>

#include "qkv/base/error.h"
#include "qkv/model/architecture_table.h"
#include "qkv/model/field_value.h"
#include "qkv/model/position_mechanism.h"

namespace qkv {
namespace {

void check_models_of_fields(const TransformerConfig& c) {
  const TransformerConfig defaults;
  std::vector<Json> usual;
  visit_fields(defaults,
               [&](const Setting&, const auto& field, const FieldUse&) { usual.push_back(field_value(field)); });
  auto next = usual.begin();
  visit_fields(c, [&](const Setting& setting, const auto& field, const FieldUse& use) {
    const bool is_usual = field_value(field) == *next++;
    if (!is_usual) require_field("model", setting, use, c.architecture);
  });
}

void check_sizes(const TransformerConfig& c) {
  constexpr int64_t largest_table = int64_t{1} << 28;
  require<UsageError>(c.positions != Positions::learned || c.max_positions <= largest_table / c.d_model, "model",
                      "max-positions {} times d-model {} must be at most {} with learned positions",
                      c.max_positions, c.d_model, largest_table);
  require<UsageError>(c.head_width > 0 || c.d_model % c.heads == 0, "model",
                      "heads {} must divide d-model {}, or head-width must be given", c.heads, c.d_model);
  require<UsageError>(c.kv_heads == 0 || c.heads % c.kv_heads == 0, "model", "kv-heads {} must divide heads {}",
                      c.kv_heads, c.heads);
  require<UsageError>(c.decoder_heads == 0 || ((c.head_width > 0 || c.d_model % c.decoder_heads == 0) &&
                                               (c.kv_heads == 0 || c.decoder_heads % c.kv_heads == 0)),
                      "model", "decoder-heads {} must divide d-model {}, and kv-heads {} must divide it",
                      c.decoder_heads, c.d_model, c.kv_heads);
}

void check_attention(const TransformerConfig& c) {
  const bool same = c.self_attention.encoder == c.self_attention.decoder;
  const AttentionSize encoder = c.encoder_block().attention(AttentionUse::encoder).size();
  const AttentionSize decoder = c.decoder_block().attention(AttentionUse::decoder).size();
  const AttentionSize cross = c.decoder_block().attention(AttentionUse::cross).size();
  check_variant(mechanism_of_positions(c.positions), encoder, "'positions'");
  for (const auto& [variant, layers] : c.self_attention.encoder.groups())
    check_variant(with_positions(variant, c.positions), encoder,
                  same ? "self-attention" : "encoder-self-attention");
  for (const auto& [variant, layers] : c.self_attention.decoder.groups())
    check_variant(with_positions(variant, c.positions), decoder,
                  same ? "self-attention" : "decoder-self-attention");
  for (const auto& [variant, layers] : c.cross_attention.groups()) check_variant(variant, cross, "cross-attention");
}

}  // namespace

void check_tie(Tie tie, int64_t source_vocabulary, int64_t target_vocabulary) {
  require<UsageError>(!ties_embeddings(tie) || source_vocabulary == target_vocabulary, "model",
                      "tie {} needs one vocabulary, got {} source and {} target tokens", name_of(tie),
                      source_vocabulary, target_vocabulary);
}

void TransformerConfig::check() const {
  require<UsageError>(!is_recurrent(architecture), "model", "a {} model has a RecurrentConfig",
                      name_of(architecture));
  check_models_of_fields(*this);
  visit_fields(*this, CheckRanges{"model"});
  require<UsageError>(!is_language_model(architecture) || source_vocabulary == target_vocabulary, "model",
                      "a {} model has one vocabulary, got {} source and {} target tokens", name_of(architecture),
                      source_vocabulary, target_vocabulary);
  check_tie(tie, source_vocabulary, target_vocabulary);
  check_sizes(*this);
  check_attention(*this);
}

}  // namespace qkv
