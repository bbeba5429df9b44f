// Optimizers: Adam (Kingma and Ba, 2015), and AdamW (Loshchilov and Hutter, 2019) when weight_decay is not 0. At
// update n = 1, 2, ...:
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
// A parameter without a gradient is not changed, and neither are its moments. Only matrices decay; norms and biases
// (rank below 2) do so with decay_vectors. The work is divided into pieces of a fixed size: the same bits on any
// number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qkv/autograd/variable.h"

namespace qkv {

struct AdamOptions {
  double beta1 = 0.9, beta2 = 0.98, eps = 1e-9;
  double weight_decay = 0.0;
  bool decay_vectors = false;
};

class Adam {
 public:
  // UsageError unless betas are in [0, 1) and the rest is not negative; Error for a parameter given twice.
  explicit Adam(std::vector<Variable> parameters, const AdamOptions& options = {});

  void step(double learning_rate, double grad_scale = 1.0);
  void zero_grad();

  // For checkpoints: the moments, in the order of the parameters, and the number of updates made.
  std::span<Tensor> first_moments() { return first_; }
  std::span<Tensor> second_moments() { return second_; }
  int64_t updates() const { return updates_; }
  void set_updates(int64_t updates);

 private:
  struct Piece {
    size_t parameter;
    int64_t begin, end;
  };

  std::vector<Variable> parameters_;
  AdamOptions options_;
  std::vector<Tensor> first_, second_;
  std::vector<Piece> pieces_;
  int64_t updates_ = 0;
};

// sqrt(sum of squares over all gradients); parameters without one count as zero. Partial sums are doubles, added in
// an order that does not depend on the threads.
double gradient_norm(std::span<const Variable> parameters);

// Gradient clipping (Pascanu et al., 2013): scales the gradients by min(1, max_norm / norm) and returns their norm.
double clip_gradients(std::span<Variable> parameters, double max_norm);
// min(1, max_norm / norm); 1 when max_norm is 0, which means no limit.
double clip_factor(double norm, double max_norm);

}  // namespace qkv
