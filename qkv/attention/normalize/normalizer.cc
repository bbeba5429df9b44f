#include "qkv/attention/normalize/normalizer.h"

#include "qkv/kernel/kernels.h"

namespace qkv {
namespace {

void multiply(const Tile& tile, float* s, float scale) {
  if (scale != 1.0f) kernel::kernels().rows.scale(s, scale, tile.keys * tile.width, s);
}

}  // namespace

void Normalizer::step_to_bf16(const Tile& tile, float* s, float scale, kernel::RunningSoftmax running,
                              float* columns) const {
  multiply(tile, s, scale);
  step(tile, s, running);
  kernel::kernels().attention.bf16->interleave_rounded(s, tile.width, tile.keys, tile.width, columns, tile.width);
}

void Normalizer::weights_to_bf16(const Tile& tile, float* s, float scale, const float* maximum,
                                 const float* inverse_sum, float* slope, uint16_t* rows) const {
  multiply(tile, s, scale);
  weights(tile, s, maximum, inverse_sum, slope);
  kernel::kernels().attention.bf16->round(s, tile.keys * tile.width, rows);
}

void Normalizer::backward_to_bf16(const Tile& tile, const float* weights, const float* slope, const float* delta,
                                  float* grad, uint16_t* rows, float* columns) const {
  backward(tile, weights, slope, delta, grad);
  kernel::kernels().attention.bf16->round(grad, tile.keys * tile.width, rows);
  kernel::kernels().attention.bf16->interleave_rounded(grad, tile.width, tile.keys, tile.width, columns,
                                                       tile.width);
}

}  // namespace qkv
