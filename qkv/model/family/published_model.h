// A published model as its reader found it: our configuration, which tensor is which parameter, and the tensors.
#pragma once

#include <string>

#include "qkv/model/config.h"
#include "qkv/model/family/published_tensors.h"
#include "qkv/model/family/tensor_names.h"

namespace qkv {

struct PublishedModel {
  TransformerConfig config;
  TensorNames names;
  PublishedTensors tensors;
  std::string config_file = {};  // for messages
};

}  // namespace qkv
