// The model of a configuration: the one place that knows the classes of all architectures.
//
//     std::unique_ptr<Model> model = make_model(config);                   // without initial values: to be loaded
//     model->initialise("", /*seed=*/1);
//     if (const auto* translation = dynamic_cast<const EncoderDecoder*>(model.get())) ...
//
// Errors: UsageError for a configuration that ModelConfig::check() refuses.
#pragma once

#include <memory>

#include "qkv/model/model.h"

namespace qkv {

std::unique_ptr<Model> make_model(const ModelConfig& config);

}  // namespace qkv
