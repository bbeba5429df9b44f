// Normalization with its parameters: layer norm or RMS norm (op/norm.h).
//
//     layer   (x - mean) / sqrt(var + eps) * weight + bias      Ba, Kiros and Hinton, 2016
//     rms     x / sqrt(mean of x^2 + eps) * weight              Zhang and Sennrich, 2019
//
//     Norm norm(512, {.kind = NormKind::rms, .eps = 1e-6f});
//     Variable y = norm.forward(x);
//
// Parameters: weight (C), initialised so that it multiplies by one; bias (C), zero, of a layer norm.
#pragma once

#include "qkv/base/names.h"
#include "qkv/layer/module.h"

namespace qkv {

enum class NormKind { layer, rms };
constexpr auto names_of(NormKind) {
  return std::array{Named{NormKind::layer, "layer"}, Named{NormKind::rms, "rms"}};
}

struct NormOptions {
  NormKind kind = NormKind::layer;
  float eps = 1e-5f;
  bool bias = true;            // of a layer norm; an RMS norm has none
  float weight_offset = 0.0f;  // rows are multiplied by weight_offset + weight; 1 in Gemma
};

class Norm final : public Module {
 public:
  explicit Norm(const Axis& width, const NormOptions& options = {});
  Variable forward(const Variable& x) const;
  void list(ModuleContents& contents) const override;

  Parameter weight, bias;

 private:
  NormOptions options_;
};

}  // namespace qkv
