// A published model as read from its folder: our configuration, the tensors, and which tensor is which parameter.
#pragma once

#include <string>

#include "qkv/base/error.h"
#include "qkv/model/config.h"
#include "qkv/published/published_tensors.h"
#include "qkv/published/tensor_names.h"

namespace qkv {

struct PublishedModel {
  TransformerConfig config;
  TensorNames names;
  PublishedTensors tensors;
  std::string config_file = {};  // for messages
};

// Checks the configuration before anything is allocated by its sizes; errors are reported as errors of the file.
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
