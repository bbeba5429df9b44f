#include "qkv/train/moment.h"

#include "qkv/kernel/kernels.h"

namespace qkv {
namespace {

uint16_t* bits_of(Tensor& numbers) { return reinterpret_cast<uint16_t*>(numbers.data<bfloat16>()); }

}  // namespace

Moment::Moment(const Shape& shape, OptimizerStateFormat format)
    : tensor_(Tensor::zeros(shape, format == OptimizerStateFormat::bf16 ? DType::bf16 : DType::f32)) {}

float* Moment::read(int64_t begin, int64_t end, Scratch& scratch) {
  if (tensor_.dtype() == DType::f32) return tensor_.data<float>() + begin;
  float* const numbers = scratch.floats(end - begin);
  kernel::kernels().rows.widen(bits_of(tensor_) + begin, end - begin, numbers);
  return numbers;
}

void Moment::write(int64_t begin, int64_t end, const float* numbers, int64_t update) {
  if (tensor_.dtype() == DType::f32) return;
  kernel::kernels().rows.round_stochastically(numbers, end - begin, static_cast<uint32_t>(update),
                                              bits_of(tensor_) + begin);
}

Tensor Moment::numbers() const { return tensor_.dtype() == DType::f32 ? tensor_.clone() : tensor_.to(DType::f32); }

void Moment::replace(const Tensor& numbers, int64_t update) {
  if (tensor_.dtype() == DType::f32)
    tensor_.copy_from(numbers);
  else
    write(0, numbers.numel(), numbers.data<float>(), update);
}

}  // namespace qkv
