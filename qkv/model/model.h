// A model of any architecture: a module with its configuration. Saved and loaded by model/model_file.h.
#pragma once

#include <utility>

#include "qkv/attention/cache_format.h"
#include "qkv/model/config.h"

namespace qkv {

class Model : public Module {
 public:
  explicit Model(ModelConfig config) : config_(std::move(config)) {}

  const ModelConfig& config() const { return config_; }

  // The number format of the KV caches of decodings that start from now on, f32 unless it is set. Models without such caches
  // ignore it.
  virtual void set_cache_format(CacheFormat) {}

 private:
  ModelConfig config_;
};

}  // namespace qkv
