// Tensors for tests: random numbers, memory layouts, comparison.
//
//     const Tensor q = random_tensor({2, 4, 70, 16}, /*stream=*/1);
//     EXPECT_TRUE(same_bits(f(q), f(with_gaps_between_rows(q))));
//     expect_close(f(q), {0.5, 1.5}, 1e-6, "f");
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qkv/tensor/tensor.h"

namespace qkv::test {

// Normally distributed numbers, a function of the stream.
Tensor random_tensor(const Shape& shape, uint64_t stream, double spread = 1.0, DType dtype = DType::f32);
Tensor random_ids(const Shape& shape, int64_t count, uint64_t stream);  // i32, 0 to count - 1

// The same numbers in other memory: the axes `a` and `b` in the other order; rows with gaps between them; elements
// of a row with gaps between them.
Tensor with_transposed_memory(const Tensor& x, int a, int b);
Tensor with_gaps_between_rows(const Tensor& x);
Tensor with_gaps_between_elements(const Tensor& x);

Tensor as_float(const Tensor& x);  // contiguous f32
std::vector<double> doubles(const Tensor& x);

// The same shape, type and bits; strides may differ.
bool same_bits(const Tensor& a, const Tensor& b);
// The largest |a - b|; infinite for different shapes and for NaN.
double largest_difference(const Tensor& a, const Tensor& b);
// The largest |got - wanted|; infinite where one is infinite or NaN and the other is not.
double largest_difference(const std::vector<double>& got, const std::vector<double>& wanted);

// Expects |got - wanted| <= tolerance * max(0.1, largest |wanted|): what remains when large numbers cancel has their
// rounding errors.
void expect_close(const Tensor& got, const std::vector<double>& wanted, double tolerance, const std::string& what);

}  // namespace qkv::test
