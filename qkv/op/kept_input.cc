#include "qkv/op/kept_input.h"

#include <algorithm>

#include "qkv/autograd/profile.h"
#include "qkv/base/integers.h"
#include "qkv/kernel/kernels.h"
#include "qkv/kernel/packed_rounded.h"
#include "qkv/op/convert.h"
#include "qkv/op/product_work.h"
#include "qkv/op/rows.h"

namespace qkv {
namespace {

bool rounds(const Weight& w) { return w.defined() && w.precision() == Precision::bf16; }

// A bfloat16 is its bits.
const uint16_t* bits_of(const Tensor& x) { return reinterpret_cast<const uint16_t*>(x.data<bfloat16>()); }

}  // namespace

Recomputation kept_value(const Variable& x, const Tensor& in) {
  if (x.recomputation()) return x.recomputation();
  return [in] { return in; };
}

Tensor kept_input(const Tensor& x, std::span<const WeightAndBias> layers) {
  constexpr int64_t variable_and_caller = 2;
  const bool all_round = std::ranges::all_of(
      layers, [](const WeightAndBias& layer) { return !layer.weight().defined() || rounds(layer.weight()); });
  if (x.dtype() == DType::bf16) return all_round ? x : convert(x, DType::f32);
  if (!all_round || x.storage().use_count() > variable_and_caller) return x;
  const OpScope scope("linear: rounding of x", OpWork::moves(x, 1));
  return convert(x, DType::bf16);
}

KeptInput::KeptInput(const Variable& x, const Tensor& in, std::span<const WeightAndBias> layers)
    : state_(std::make_shared<State>()) {
  if (x.recomputation())
    state_->recomputation = x.recomputation();
  else
    state_->value = kept_input(in, layers);
}

const Tensor& KeptInput::value() const {
  if (state_->recomputation) {
    const OpScope scope("linear: recomputation of x");
    state_->value = state_->recomputation().contiguous_copy();
    state_->recomputation = nullptr;
  }
  return state_->value;
}

void weight_gradient(const Weight& w, kernel::Matrix dy, const Tensor& kept, float* dw) {
  const int64_t K = kept.dim(-1);
  if (kept.dtype() == DType::f32) return w.gradient(dy, {kept.data<float>(), dy.rows, K}, dw);
  OpWork work = OpWork::product(dy.columns, K, dy.rows, WeightFormat::bf16);
  work.weight = w.shape();
  const OpScope scope("weight gradient", work);
  kernel::matmul(dy.transposed(), kernel::packed_rounded({bits_of(kept), dy.rows, K}), dw, K);
}

PositiveNumbers::PositiveNumbers(const Tensor& y)
    : bits_(Tensor::empty({ceil_div(y.numel(), kernel::numbers_of_word) * int64_t{sizeof(uint16_t)}}, DType::u8)) {
  const float* const numbers = y.data<float>();
  auto* const words = reinterpret_cast<uint16_t*>(bits_.data<uint8_t>());
  for_each_range(y.numel(), [&](int64_t begin, int64_t end) {
    kernel::kernels().rows.positive(numbers + begin, end - begin, words + begin / kernel::numbers_of_word);
  });
}

Tensor PositiveNumbers::relu_gradient(const Tensor& grad) const {
  const OpScope scope("relu", OpWork::moves(grad, 2));
  Tensor dx = in_place_or_empty(grad);
  const Tensor dy = grad.contiguous_copy();
  const float* const from = dy.data<float>();
  const auto* const words = reinterpret_cast<const uint16_t*>(bits_.data<uint8_t>());
  float* const to = dx.data<float>();
  for_each_range(dy.numel(), [&](int64_t begin, int64_t end) {
    kernel::kernels().rows.where(words + begin / kernel::numbers_of_word, from + begin, end - begin, to + begin);
  });
  return dx;
}

}  // namespace qkv
