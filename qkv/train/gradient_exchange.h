// The sum of flat gradients over ranks. In bf16 the numbers must be those of bf16, as a GradientTree of that format has them:
// they travel in half of the bytes, and every sum of two is rounded as there.
#pragma once

#include <span>

#include "qkv/base/collectives.h"
#include "qkv/tensor/tensor.h"
#include "qkv/train/gradient_tree.h"

namespace qkv {

// Those of a shard become the sum over the ranks.
void reduce_scatter(Communicator& c, Tensor& flat, GradientFormat format, std::span<const Shard> shards);
// The numbers of each rank's shard become those of all.
void all_gather(Communicator& c, Tensor& flat, GradientFormat format, std::span<const Shard> shards);
// Both, with equal shards.
void all_reduce(Communicator& c, Tensor& flat, GradientFormat format);

}  // namespace qkv
