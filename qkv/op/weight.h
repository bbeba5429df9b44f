// A weight matrix (N,K): the right-hand side of a product x W^T and a table of rows. It is held in one of three ways:
//
//     Weight trained = variable;                                     // f32 values that are trained, the master
//     Weight w = Weight::packed(values, WeightFormat::int8);         // for inference, in a number format
//     Weight w = Weight::in_place(values);                           // for inference, not copied: of a mapped file
//     Variable y = linear(x, w);
//
// A trained weight caches its packed forms for inference until the master changes (Variable::version()). A packed one is held
// only in the layout of the product: as f32 it gives the same results as a trained one in half of the memory. It
// has no gradients. One in place takes no memory and gives the same results, by slower products. Copies are the same
// weight, and any number of threads may use it. Errors: values that are not (N,K); backward() of a packed weight.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "qkv/autograd/variable.h"
#include "qkv/base/names.h"
#include "qkv/kernel/matmul.h"

namespace qkv {

// What products are computed from, in inference or in the forward and the backward pass of training: f32 numbers, or numbers
// rounded to bf16 with sums of f32 (Micikevicius et al., "Mixed Precision Training", 2018; Kalamkar et al., "A Study of
// BFLOAT16 for Deep Learning Training", 2019). Weights, their gradients and everything between the products stay f32.
enum class Precision { f32, bf16 };
constexpr auto names_of(Precision) {
  return std::array{Named{Precision::f32, "f32"}, Named{Precision::bf16, "bf16"}};
}

// With a format of weights, results are those of the weight held in that format, as it will be for inference, so that
// the rest of the model learns what rounding costs. Gradients are those of the rounded values and reach the
// master as if rounding were the identity (Bengio et al., "Estimating or Propagating Gradients Through Stochastic Neurons for
// Conditional Computation", 2013; Jacob et al., "Quantization and Training of Neural Networks", 2018).
struct TrainingNumbers {
  Precision precision = Precision::f32;
  WeightFormat weights = WeightFormat::f32;
};

// The values of a parameter as a file holds them: f32 or bf16 numbers in the shape of the parameter, or a matrix (N,K) in a
// quantised format, as the bytes of its rows: u8 (N, row_bytes(format, K)).
class StoredValues {
 public:
  StoredValues(Tensor numbers);  // NOLINT: implicit, f32 or bf16
  // Errors: rows of another type or width.
  StoredValues(Tensor rows, WeightFormat format, int64_t K);

  const Tensor& tensor() const { return tensor_; }
  WeightFormat format() const { return format_; }
  const Shape& shape() const { return shape_; }  // of the numbers
  Tensor numbers() const;                        // f32 or bf16
  bool are_finite() const;                       // of quantised rows: that their scales are

 private:
  Tensor tensor_;
  WeightFormat format_;
  Shape shape_;
};

class MaximumInnerProduct;

class Weight {
 public:
  Weight() = default;              // none: defined() is false
  Weight(const Variable& master);  // NOLINT: implicit on purpose, as are variables from tensors
  Weight(const Tensor& values) : Weight(Variable(values)) {}  // NOLINT: a constant
  // f32 or bf16 values (N,K), which are converted to the format: bf16 is rounded to nearest, quantised formats to the nearest
  // of their numbers. Rows that are not whole blocks of the format are held as format_for_rows() says. An error: numbers
  // that are not finite, or too large for the format.
  //
  // With precision bf16 a weight in f32 or bf16 is rounded to bf16, and the rows that it is multiplied by are rounded too, by
  // the bf16 instructions of the processor where it has them; in other formats it is as with f32.
  static Weight packed(const Tensor& values, WeightFormat format, Precision precision = Precision::f32);
  static Weight packed(const StoredValues& values, Precision precision = Precision::f32);  // in their format
  // f32 or bf16 values (N,K), contiguous, which must not change as long as the weight is used. For what it can do,
  // it counts as packed.
  static Weight in_place(const Tensor& values);

  bool defined() const { return state_ != nullptr; }
  const Shape& shape() const;
  int64_t dim(int axis) const { return shape().dim(axis); }
  WeightFormat format() const;
  bool is_packed() const { return !master().defined(); }
  WeightFormat forward_format() const;  // of forward()
  Precision precision() const;          // of the products that it was packed or is trained for

  // The precision is that of products that are recorded on a tape and of their gradients; others are in f32. Results
  // of any product are in the format. Not while another thread uses the weight.
  void train_in(const TrainingNumbers& numbers) const;

  const Variable& master() const;        // undefined if it is packed: on the tape, a constant
  kernel::PackedMatrix forward() const;  // W^T (K x N), for y = x W^T
  // The same in the precision of training, for a product of `rows` rows of x; W (N x K), for dx = dy W of as many; dw = dy^T x,
  // added to what dw holds if `accumulate`. The last two are errors if it is packed.
  //
  // The forms of many rows are not cached: packing is little work beside their product, the next update changes the
  // master, and until then the forms of all weights would take twice the memory of the parameters.
  //
  // Products of many rows may also be by unpacked(), W (N x K) as it is, if the weight is trained in f32: they have the same bits.
  kernel::PackedMatrix recorded_forward(int64_t rows) const;
  kernel::PackedMatrix backward(int64_t rows) const;
  std::optional<kernel::Matrix> unpacked() const;
  void gradient(kernel::Matrix dy, kernel::Matrix x, float* dw, bool accumulate = false) const;
  // Which columns of a product of `rows` rows by forward() have the largest numbers; null where the product is as fast, and
  // until it has been asked for often: making it takes the time that some searches save. It is kept as forward() is.
  std::shared_ptr<const MaximumInnerProduct> search(int64_t rows) const;
  Tensor values() const;        // f32, or bf16 if that is the format; a copy if it is packed or in place
  StoredValues stored() const;  // as a file holds it, without loss
  // Some rows, in this order, packed in the same format: products by them have the bits that they have by the whole
  // weight. Errors: no rows; an index that is not 0 to N - 1.
  Weight rows(std::span<const int32_t> indices) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// The format of a weight that is to be held in `format` and has rows of K numbers. If these are not whole blocks, it is one
// of blocks of 32 with as many bits or more, or else int8, whose rows have any length.
constexpr WeightFormat format_for_rows(WeightFormat format, int64_t K) {
  if (K % block_of(format).numbers == 0) return format;
  if (K % 32 != 0) return WeightFormat::int8;
  switch (format) {
    case WeightFormat::q4_k: return WeightFormat::q5_0;
    case WeightFormat::q5_k: return WeightFormat::q5_1;
    case WeightFormat::q6_k: return WeightFormat::q8_0;
    default: return WeightFormat::iq4_nl;
  }
}

constexpr DType element_type(WeightFormat format) {
  return format == WeightFormat::bf16 ? DType::bf16 : DType::f32;
}

}  // namespace qkv
