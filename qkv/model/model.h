// A model of any architecture: a module with its configuration. Saved and loaded by model/model_file.h.
#pragma once

#include "qkv/model/config.h"

namespace qkv {

class Model : public Module {
 public:
  virtual const TransformerConfig& config() const = 0;
};

}  // namespace qkv
