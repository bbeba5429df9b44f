#include "qkv/op/zero_padding.h"

#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"
#include "qkv/op/rows.h"

namespace qkv {
namespace {

Tensor padded_with_zeros(const Tensor& x, const Tensor& lengths) {
  Tensor y = Tensor::empty(x.shape());
  const int32_t* length = lengths.data<int32_t>();
  for_each_row(x.dim(0), x.dim(1) * x.dim(2), [&](int64_t b) {
    y.select(0, b).slice(0, 0, length[b]).copy_from(x.select(0, b).slice(0, 0, length[b]));
    float* row = y.data<float>() + b * x.dim(1) * x.dim(2);
    std::fill(row + length[b] * x.dim(2), row + x.dim(1) * x.dim(2), 0.0f);
  });
  return y;
}

}  // namespace

std::span<const int32_t> checked_lengths(const char* op, const Tensor& lengths, int64_t B, int64_t T) {
  require(lengths.dtype() == DType::i32 && lengths.shape() == Shape{B} && lengths.contiguous(), op,
          "lengths must be i32 of shape (B), got {} {} for B {}", name_of(lengths.dtype()), lengths.shape(), B);
  const std::span<const int32_t> all = lengths.span<int32_t>();
  for (const int32_t length : all)
    require(length >= 0 && length <= T, op, "lengths must be 0 to T {}, got {}", T, length);
  return all;
}

Variable zero_padding(const Variable& x, const Tensor& lengths) {
  require(x.value().rank() == 3, "zero_padding", "x must be (B,T,C), got {}", x.shape());
  checked_lengths("zero_padding", lengths, x.dim(0), x.dim(1));
  const OpScope scope("zero_padding", OpWork::moves(x.value(), 2));
  return record("zero_padding", {x}, padded_with_zeros(x.value(), lengths),
                [lengths](const Tensor& dy, const std::vector<bool>&) {
                  count_work(OpWork::moves(dy, 2));
                  return std::vector<Tensor>{padded_with_zeros(dy, lengths)};
                });
}

}  // namespace qkv
