#include "qkv/model/make_model.h"

#include "qkv/base/error.h"
#include "qkv/model/bahdanau.h"
#include "qkv/model/causal.h"
#include "qkv/model/luong.h"
#include "qkv/model/masked.h"
#include "qkv/model/transformer.h"

namespace qkv {

std::unique_ptr<Model> make_model(const ModelConfig& config) {
  config.check();
  switch (config.architecture()) {
    case Architecture::encoder_decoder: return std::make_unique<Transformer>(config.transformer());
    case Architecture::causal: return std::make_unique<CausalTransformer>(config.transformer());
    case Architecture::masked: return std::make_unique<MaskedTransformer>(config.transformer());
    case Architecture::bahdanau: return std::make_unique<Bahdanau>(config.recurrent());
    case Architecture::luong: return std::make_unique<Luong>(config.recurrent());
  }
  fail<UsageError>("make_model", "architecture {} is unknown", static_cast<int>(config.architecture()));
}

}  // namespace qkv
