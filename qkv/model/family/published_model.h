// A published model as its reader found it: our configuration, which tensor is which parameter, and the tensors.
#pragma once

#include <string>

#include "qkv/base/error.h"
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

// What make() makes, which is checked before anything is made of its sizes; its errors are those of the file.
template <class Make>
TransformerConfig checked_config(const std::string& file, Make make) {
  try {
    TransformerConfig config = make();
    config.check();
    return config;
  } catch (const UsageError& error) {
    fail<InputError>(file, "{}", error.what());
  }
}

}  // namespace qkv
