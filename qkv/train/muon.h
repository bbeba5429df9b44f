// Muon (Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024): the update of a matrix is the nearest
// matrix with orthogonal rows or columns to its momentum, so that all directions move by the same amount. For a matrix
// (M,N), from g = grad_scale * gradient:
//
//     b = momentum b + g                      u = g + momentum b                          (Nesterov)
//     p = p - rate decay p - rate 0.2 sqrt(max(M, N)) orthogonal(u)
//
// The factor is that of Liu et al., "Muon is Scalable for LLM Training", 2025: an update is as large as one of Adam, and the
// same rate suits both. All other parameters are left to Adam: vectors, embeddings and output layers, whose rows are not
// directions.
//
//     Muon muon(parameters, is_hidden_matrix);               // of parameter i: of a linear layer within the model
//     muon.step(rate);
//
// State: muon.momentum of the matrices, adam.first and adam.second of the others. Its time does not depend on the batch: for a
// matrix about 10 min(M, N) multiply-adds a number, so it is worth most with large batches.
#pragma once

#include <vector>

#include "qkv/train/adam.h"
#include "qkv/train/optimizer.h"

namespace qkv {

struct MuonOptions {
  double momentum = 0.95;
  double weight_decay = 0.0;
  AdamOptions adam = {};  // of the other parameters; its state is the format of the momentum too
};

class Muon final : public Optimizer {
 public:
  // UsageError unless the momentum is in [0, 1) and the decay is not negative.
  Muon(std::vector<Variable> parameters, const std::vector<bool>& is_hidden_matrix,
       const MuonOptions& options = {});

  std::vector<OptimizerState> state() override;

 private:
  void update(double learning_rate, double grad_scale) override;

  MuonOptions options_;
  std::vector<size_t> matrices_, others_;  // indices of parameters
  std::vector<Moment> momentum_;           // of matrices_
  Adam adam_;                              // of others_
};

// About x (M,N) with singular values of 1, by five Newton-Schulz iterations of a polynomial of degree 5, whose results are
// 0.7 to 1.2. A matrix of zeros stays one.
Tensor orthogonalized(const Tensor& x);

}  // namespace qkv
