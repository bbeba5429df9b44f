// What becomes of the parameters of a model as they are read from files, one after another.
//
//     const StoreParameter store = store_for_inference({.weights = WeightFormat::int8});
//     store(parameter, values);
#pragma once

#include <functional>
#include <optional>

#include "qkv/attention/cache_format.h"
#include "qkv/kernel/weight_format.h"
#include "qkv/layer/module.h"

namespace qkv {

// How a model that is read for inference holds its matrices.
struct InferenceOptions {
  std::optional<WeightFormat> weights = {};  // none: as the files hold them, which loses nothing
  // Safetensors files are mapped, and matrices that they hold in this format are used in place: processes with the same
  // model share them, and it is ready sooner; each token takes longer. The files must not be written in place or
  // truncated meanwhile (base/file_mapping.h); replacing them by renaming, as this library does, is safe.
  bool map = false;
  CacheFormat cache = CacheFormat::f32;  // of keys and values while tokens are generated
  // bf16: matrices in f32 are held as bf16, and what they are multiplied by is rounded as well (op/weight.h). It excludes map.
  Precision precision = Precision::f32;
};

struct StoreParameter {
  // The values have the shape of the parameter.
  std::function<void(const Parameter& parameter, const StoredValues& values)> store;
  bool maps = false;  // files are mapped where they can be: values in read-only memory are used in place

  void operator()(const Parameter& parameter, const StoredValues& values) const { store(parameter, values); }
};

// As variables in f32.
StoreParameter store_for_training();
// Matrices are packed as soon as they are read, so that no second copy of the model is ever in memory.
StoreParameter store_for_inference(const InferenceOptions& options);

}  // namespace qkv
