// A weight matrix (N,K): the right-hand side of a product x W^T and a table of rows. It is held in one of three ways:
//
//     Weight trained = variable;                                     // f32 values that are trained, the master
//     Weight w = Weight::packed(values, WeightFormat::bf16);         // for inference, in a number format
//     Weight w = Weight::in_place(values);                           // for inference, not copied: of a mapped file
//     Variable y = linear(x, w);
//
// A trained weight caches its packed forms until the master changes (Variable::version()). A packed one is held
// only in the layout of the product: as f32 it gives the same results as a trained one in half of the memory. It
// has no gradients. One in place takes no memory and gives the same results, by slower products. Copies are the same
// weight, and any number of threads may use it. Errors: values that are not (N,K); backward() of a packed weight.
#pragma once

#include <memory>

#include "qkv/autograd/variable.h"
#include "qkv/kernel/matmul.h"

namespace qkv {

class Weight {
 public:
  Weight() = default;              // none: defined() is false
  Weight(const Variable& master);  // NOLINT: implicit on purpose, as are variables from tensors
  Weight(const Tensor& values) : Weight(Variable(values)) {}  // NOLINT: a constant
  // f32 or bf16 values (N,K), which are converted to the format: bf16 is rounded to nearest, quantised formats to the nearest
  // of their numbers. Rows that are not whole blocks of the format are held as format_for_row() says. An error: numbers
  // that are not finite, or too large for the format.
  static Weight packed(const Tensor& values, WeightFormat format);
  // N rows of K numbers in a quantised format, as they are stored (kernel/format/stored_format.h, int8: quantized_matrix.h).
  static Weight packed_rows(WeightFormat format, const uint8_t* rows, int64_t N, int64_t K);
  // f32 or bf16 values (N,K), contiguous, which must not change as long as the weight is used. For what it can do,
  // it counts as packed.
  static Weight in_place(const Tensor& values);

  bool defined() const { return state_ != nullptr; }
  const Shape& shape() const;
  int64_t dim(int axis) const { return shape().dim(axis); }
  WeightFormat format() const;
  bool is_packed() const { return !master().defined(); }

  const Variable& master() const;         // undefined if it is packed: on the tape, a constant
  kernel::PackedMatrix forward() const;   // W^T (K x N), for y = x W^T
  kernel::PackedMatrix backward() const;  // W (N x K), for dx = dy W; an error if it is packed
  Tensor values() const;                  // f32, or bf16 if that is the format; a copy if it is packed or in place

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// The format of a weight that is to be held in `format` and has rows of K numbers: another one, of about as many bits,
// if they are not whole blocks. int8 rows have any length.
constexpr WeightFormat format_for_row(WeightFormat format, int64_t K) {
  if (K % block_of(format).numbers == 0) return format;
  if (block_of(format).numbers == 256 && K % 32 == 0)
    return format == WeightFormat::q6_k   ? WeightFormat::q8_0
           : format == WeightFormat::q5_k ? WeightFormat::q5_1
           : format == WeightFormat::q4_k ? WeightFormat::q5_0
                                          : WeightFormat::iq4_nl;
  return WeightFormat::int8;
}

constexpr DType element_type(WeightFormat format) {
  return format == WeightFormat::bf16 ? DType::bf16 : DType::f32;
}

}  // namespace qkv
