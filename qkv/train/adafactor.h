// Adafactor (Shazeer and Stern, "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost", 2018): Adam without a first
// moment, whose second moment of a matrix (M,N) is kept as the means of its rows and columns, M + N numbers instead of
// M N. At update n = 1, 2, ..., from g = grad_scale * gradient:
//
//     b = 1 - n^-0.8
//     R_i = b R_i + (1 - b) mean_j (g_ij^2 + 1e-30)            C_j = b C_j + (1 - b) mean_i (g_ij^2 + 1e-30)
//     u_ij = g_ij / sqrt(R_i C_j / mean(R))                    of vectors: u = g / sqrt(v), v as R of each number
//     p = p - rate decay p - rate u / max(1, rms(u))
//
//     Adafactor adafactor(parameters);
//     adafactor.step(rate);                           // the rates of Adam; updates are not scaled by the parameters
//
// Only matrices decay, as with Adam. State: adafactor.rows and adafactor.columns of matrices, adafactor.second of others.
#pragma once

#include <vector>

#include "qkv/train/optimizer.h"

namespace qkv {

struct AdafactorOptions {
  double weight_decay = 0.0;
};

class Adafactor final : public Optimizer {
 public:
  // UsageError unless the decay is not negative.
  explicit Adafactor(std::vector<Variable> parameters, const AdafactorOptions& options = {});

  std::vector<OptimizerState> state() override;

 private:
  void update(double learning_rate, double grad_scale) override;
  void update_matrix(size_t i, double beta, double learning_rate, float grad_scale);
  void update_vector(size_t i, double beta, double learning_rate, float grad_scale);

  AdafactorOptions options_;
  std::vector<Tensor> rows_, columns_;  // of parameter i; of others than matrices: rows_ has all, columns_ nothing
};

}  // namespace qkv
