// The parameters of a model divided among ranks, each of which keeps the optimizer's state of its own part, as the first
// stage of ZeRO (Rajbhandari et al., 2020) does.
//
//     ParameterShards shards(parameters, c);
//     std::unique_ptr<Optimizer> optimizer = make_optimizer(shards.own(), options);      // elementwise ones
//     reduce_scatter(c, flat_gradients, shards.shards());
//     shards.give(flat_gradients, reached);                    // the gradients of own()
//     optimizer->step(rate);
//     shards.gather(scratch);                                  // the parameters of all ranks to all ranks
//
// Flat numbers are those of all parameters in their order. A shard is a run of ranges (train/parameter_ranges.h), so that
// sums over ranges do not depend on the shards. Every rank calls what takes or returns numbers of all ranks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qkv/autograd/variable.h"
#include "qkv/base/collectives.h"
#include "qkv/train/optimizer.h"
#include "qkv/train/parameter_ranges.h"

namespace qkv {

class ParameterShards {
 public:
  // The communicator must outlive it.
  ParameterShards(std::vector<Variable> parameters, Communicator& c);

  std::span<const Shard> shards() const { return shards_; }  // of the flat numbers
  // The ranges of this rank, as views of the parameters; of a matrix with rank 2, of a vector with rank 1.
  const std::vector<Variable>& own() const { return own_; }

  void give(const Tensor& flat, std::span<const uint8_t> reached);
  void gather(Tensor& scratch);

  // The state of an optimizer of all parameters, on rank 0; empty on others. `own` is the state of an optimizer of own(),
  // which must be elementwise: numbers of the state belong to numbers of the parameters.
  std::vector<OptimizerState> blank_state(const std::vector<OptimizerState>& own) const;  // of this shape
  std::vector<OptimizerState> collect(const std::vector<OptimizerState>& own);
  void distribute(const std::vector<OptimizerState>& whole, const std::vector<OptimizerState>& own);

 private:
  size_t kinds(const std::vector<OptimizerState>& own) const;  // tensors of state that a parameter has
  std::span<float> shard(std::span<float> flat, int rank) const;

  std::vector<Variable> parameters_;
  Communicator& c_;
  std::vector<int64_t> offsets_;  // of the parameters
  int64_t size_ = 0;
  std::vector<Shard> shards_;
  std::vector<ParameterRange> ranges_;  // of this rank
  std::vector<Variable> own_;
};

}  // namespace qkv
