#include "qkv/model/make_model.h"

#include "qkv/base/error.h"
#include "qkv/model/bahdanau.h"
#include "qkv/model/causal.h"
#include "qkv/model/luong.h"
#include "qkv/model/masked.h"
#include "qkv/model/transformer.h"

namespace qkv {

std::unique_ptr<Model> make_model(const TransformerConfig& config) {
  switch (config.architecture) {
    case Architecture::encoder_decoder: return std::make_unique<Transformer>(config);
    case Architecture::causal: return std::make_unique<CausalTransformer>(config);
    case Architecture::masked: return std::make_unique<MaskedTransformer>(config);
    case Architecture::bahdanau: return std::make_unique<Bahdanau>(config);
    case Architecture::luong: return std::make_unique<Luong>(config);
  }
  fail<UsageError>("make_model", "architecture {} is unknown", static_cast<int>(config.architecture));
}

}  // namespace qkv
