// A running average that an optimizer keeps for each number of a parameter, in f32 or in bf16.
//
//     Moment first(parameter.shape(), options.state);
//     Scratch scratch;
//     float* const m = first.read(begin, end, scratch);       // as floats, to be changed
//     first.write(begin, end, m, /*update=*/n);
//
// bf16 has 8 bits of precision: rounded to nearest, an average would stand still as soon as a step changes it by less than one
// part in 512. So it is rounded up or down at random, with the exact number as expected value (Gupta et al., "Deep Learning
// with Limited Numerical Precision", 2015). What is random is a hash of the number and of the update, so results are the
// same for any division of the numbers over threads and ranks, and in a training that is resumed.
#pragma once

#include <array>
#include <cstdint>

#include "qkv/base/names.h"
#include "qkv/base/scratch.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

enum class OptimizerStateFormat { f32, bf16 };
constexpr auto names_of(OptimizerStateFormat) {
  return std::array{Named{OptimizerStateFormat::f32, "f32"}, Named{OptimizerStateFormat::bf16, "bf16"}};
}

class Moment {
 public:
  // Zeros.
  Moment(const Shape& shape, OptimizerStateFormat format);

  // Numbers [begin, end) of all: in place, or a copy of them in scratch memory.
  float* read(int64_t begin, int64_t end, Scratch& scratch);
  // Keeps what read() returned, of update number `update`.
  void write(int64_t begin, int64_t end, const float* numbers, int64_t update);

  // A copy of all of them as f32, and what becomes of it.
  Tensor numbers() const;
  void replace(const Tensor& numbers, int64_t update);

  const Tensor& tensor() const { return tensor_; }

 private:
  Tensor tensor_;
};

}  // namespace qkv
