#include "qkv/interpret/rollout.h"

#include <algorithm>
#include <vector>

#include "qkv/base/error.h"

namespace qkv {
namespace {

using Matrix = std::vector<double>;  // (T,T)

// A = W / 2 + I / 2, its rows divided by their sums.
Matrix mixing_of(const Tensor& layer) {
  const int64_t H = layer.dim(0), T = layer.dim(1);
  const Tensor weights = layer.to(DType::f32).contiguous_copy();
  const float* w = weights.data<float>();
  Matrix mixing(static_cast<size_t>(T * T));
  for (int64_t h = 0; h < H; ++h)
    for (double& a : mixing) a += *w++ / (2.0 * static_cast<double>(H));
  for (int64_t t = 0; t < T; ++t) {
    double* row = mixing.data() + t * T;
    row[t] += 0.5;
    double sum = 0;
    for (int64_t s = 0; s < T; ++s) sum += row[s];
    for (int64_t s = 0; s < T; ++s) row[s] /= sum;
  }
  return mixing;
}

Matrix product(const Matrix& a, const Matrix& b, int64_t T) {
  Matrix c(a.size());
  for (int64_t i = 0; i < T; ++i)
    for (int64_t k = 0; k < T; ++k)
      for (int64_t j = 0; j < T; ++j)
        c[static_cast<size_t>(i * T + j)] += a[static_cast<size_t>(i * T + k)] * b[static_cast<size_t>(k * T + j)];
  return c;
}

}  // namespace

Tensor attention_rollout(std::span<const Tensor> layers) {
  require(!layers.empty(), "attention_rollout", "there are no layers");
  const Shape& first = layers[0].shape();
  Matrix shares;
  for (const Tensor& layer : layers) {
    require(layer.rank() == 3 && layer.dim(0) > 0 && layer.dim(1) == layer.dim(2) && layer.dim(1) == first.dim(-1),
            "attention_rollout",
            "layers must be (H,T,T) of one length T: self-attention, whose queries are the keys; got {}{}",
            describe("HTS", layer.shape()), layer.dim(-1) == first.dim(-1) ? "" : " after " + to_string(first));
    Matrix mixing = mixing_of(layer);
    shares = shares.empty() ? std::move(mixing) : product(mixing, shares, layer.dim(1));
  }
  Tensor out = Tensor::empty({first.dim(1), first.dim(2)});
  std::copy(shares.begin(), shares.end(), out.data<float>());
  return out;
}

}  // namespace qkv
