#include "qkv/attention/normalize/normalizer.h"

#include "qkv/kernel/kernels.h"

namespace qkv {

void Normalizer::step_to_pairs(const Tile& tile, float* s, kernel::RunningSoftmax running, float* columns) const {
  step(tile, s, running);
  kernel::kernels().attention.pairs->interleave_rounded(s, tile.keys, tile.width, columns);
}

void Normalizer::weights_to_pairs(const Tile& tile, float* s, const float* maximum, const float* inverse_sum,
                                  float* slope, uint16_t* rows) const {
  weights(tile, s, maximum, inverse_sum, slope);
  kernel::kernels().attention.pairs->round(s, tile.keys * tile.width, rows);
}

void Normalizer::backward_to_pairs(const Tile& tile, const float* weights, const float* slope, const float* delta,
                                   float* grad, uint16_t* rows, float* columns) const {
  backward(tile, weights, slope, delta, grad);
  kernel::kernels().attention.pairs->round(grad, tile.keys * tile.width, rows);
  kernel::kernels().attention.pairs->interleave_rounded(grad, tile.keys, tile.width, columns);
}

}  // namespace qkv
