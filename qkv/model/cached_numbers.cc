#include "qkv/model/cached_numbers.h"

#include <algorithm>

namespace qkv {
namespace {

CachedNumbers cached(const TransformerConfig& c) {
  const int64_t layers = 2 * key_value_width(c) * c.decoder_layers;
  switch (c.architecture) {
    case Architecture::encoder_decoder: return {layers, layers};
    case Architecture::causal: return {layers, 0};
    default: return {};
  }
}
CachedNumbers cached(const RecurrentConfig& c) {
  if (c.architecture == Architecture::bahdanau) return {.source = 3 * c.d_model, .source_formula = "4 * 3 C"};
  const AttentionVariant variant = c.attention();
  const bool keys = variant.get<Bilinear>() || variant.get<Additive>();  // projected
  return {.source = (keys ? 2 : 1) * c.d_model, .source_formula = keys ? "4 * 2 C" : "4 C"};
}

}  // namespace

CachedNumbers cached_numbers(const ModelConfig& config) {
  return config.visit([](const auto& own) { return cached(own); });
}

int64_t key_value_width(const TransformerConfig& c) {
  const int64_t head_width = c.head_width == 0 ? c.d_model / c.heads : c.head_width;
  if (c.kv_heads != 0) return head_width * c.kv_heads;
  return c.head_width == 0 ? c.d_model : c.head_width * std::max(c.heads, c.decoder_heads);
}

}  // namespace qkv
