#include "qkv/attention/normalize/softmax.h"

#include <algorithm>
#include <cmath>

#include "qkv/base/error.h"
#include "qkv/kernel/kernels.h"

namespace qkv {
namespace {

class Softmax : public Normalizer {
 public:
  void step(const Tile& tile, float* s, kernel::RunningSoftmax running) const override {
    kernel::kernels().attention.softmax_step(s, tile.keys, tile.width, running);
  }
  void step_row(float* s, int64_t n, kernel::RunningSoftmax running) const override {
    kernel::kernels().attention.single_softmax_step(s, n, running);
  }
  void finish(const QueryBlock& block, kernel::RunningSoftmax running) const override {
    for (int64_t i = 0; i < block.width; ++i)
      running.rescale[i] = running.sum[i] > 0 ? 1.0f / running.sum[i] : 0.0f;
  }
  void weights(const Tile& tile, float* s, const float* maximum, const float* inverse_sum, float*) const override {
    kernel::kernels().attention.weights(s, tile.keys, tile.width, maximum, inverse_sum);
  }
  void backward(const Tile& tile, const float* weights, const float*, const float* delta,
                float* grad) const override {
    kernel::kernels().attention.softmax_backward(weights, grad, tile.keys, tile.width, delta);
  }
  void step_to_bf16(const Tile& tile, float* s, float scale, kernel::RunningSoftmax running,
                    float* columns) const override {
    kernel::kernels().attention.bf16->softmax_step(s, tile.keys, tile.width, scale, running, columns);
  }
  void weights_to_bf16(const Tile& tile, float* s, float scale, const float* maximum, const float* inverse_sum,
                       float*, uint16_t* rows) const override {
    kernel::kernels().attention.bf16->weights(s, tile.keys, tile.width, scale, maximum, inverse_sum, rows);
  }
  void backward_to_bf16(const Tile& tile, const float* weights, const float*, const float* delta, float* grad,
                        uint16_t* rows, float* columns) const override {
    kernel::kernels().attention.bf16->softmax_backward(weights, grad, tile.keys, tile.width, delta, rows, columns);
  }
  std::string name() const override { return "softmax()"; }
};

class SoftmaxWithSink final : public Softmax {
 public:
  explicit SoftmaxWithSink(Variable sink) : sink_(std::move(sink)), values_(sink_.value().contiguous_copy()) {}

  void check(const AttentionShape& shape) const override {
    require(sink_.dim(0) == shape.H, "softmax_with_sink", "the sink is {}; expected (H {}), one number per head",
            describe("H", sink_.shape()), shape.H);
  }
  void finish(const QueryBlock& block, kernel::RunningSoftmax running) const override {
    const float sink = sink_of(block);
    for (int64_t i = 0; i < block.width; ++i) {
      running.rescale[i] = 0.0f;
      if (!(running.sum[i] > 0)) continue;
      const float maximum = std::max(running.maximum[i], sink), rescale = std::exp(running.maximum[i] - maximum);
      running.sum[i] = running.sum[i] * rescale + std::exp(sink - maximum);
      running.maximum[i] = maximum;
      running.rescale[i] = rescale / running.sum[i];
    }
  }
  std::vector<Variable> parameters() const override { return {sink_}; }
  // The sink is a key with a value of zero: d sink = sum_i w_i (0 - delta_i).
  void backward_block(const QueryBlock& block, const float* maximum, const float* inverse_sum, const float* delta,
                      float* parameters) const override {
    const float sink = sink_of(block);
    float sum = 0.0f;
    for (int64_t i = 0; i < block.queries; ++i)
      if (inverse_sum[i] > 0) sum -= std::exp(sink - maximum[i]) * inverse_sum[i] * delta[i];
    parameters[block.head] += sum;
  }
  std::string name() const override { return "softmax_with_sink(sink)"; }

 private:
  float sink_of(const QueryBlock& block) const { return values_.data<float>()[block.head]; }

  Variable sink_;
  Tensor values_;
};

}  // namespace

NormalizerPtr softmax() {
  static const NormalizerPtr instance = std::make_shared<Softmax>();
  return instance;
}

NormalizerPtr softmax_with_sink(const Variable& sink) {
  require(sink.value().rank() == 1, "softmax_with_sink", "the sink must be (H), one number per head, got {}",
          sink.shape());
  return std::make_shared<SoftmaxWithSink>(sink);
}

}  // namespace qkv
