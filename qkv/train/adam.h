// Adam (Kingma and Ba, 2015), and AdamW (Loshchilov and Hutter, 2019) when weight_decay is not 0. At update
// n = 1, 2, ...:
//
//     g = grad_scale * gradient
//     m = beta1 m + (1 - beta1) g                 v = beta2 v + (1 - beta2) g^2
//     p = p - rate decay p - rate m' / (sqrt(v') + eps)          m' = m / (1 - beta1^n), v' = v / (1 - beta2^n)
//
//     Adam adam(parameters);
//     loss.backward();
//     adam.step(rate);
//     adam.zero_grad();
//
// Only matrices decay; norms and biases (rank below 2) do so with decay_vectors. Its state: adam.first (m) and
// adam.second (v) of every parameter, in f32 or bf16 (train/moment.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qkv/train/moment.h"
#include "qkv/train/optimizer.h"
#include "qkv/train/parameter_ranges.h"

namespace qkv {

struct AdamOptions {
  double beta1 = 0.9, beta2 = 0.98, eps = 1e-9;
  double weight_decay = 0.0;
  bool decay_vectors = false;
  OptimizerStateFormat state = OptimizerStateFormat::f32;
};

class Adam final : public Optimizer {
 public:
  // UsageError unless betas are in [0, 1) and the rest is not negative.
  explicit Adam(std::vector<Variable> parameters, const AdamOptions& options = {});

  std::vector<OptimizerState> state() override;

 private:
  void update(double learning_rate, double grad_scale) override;

  AdamOptions options_;
  std::vector<Moment> first_, second_;
  std::vector<ParameterRange> ranges_;
};

}  // namespace qkv
