#include "qkv/test_support/tensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "qkv/base/random.h"

namespace qkv::test {

Tensor random_tensor(const Shape& shape, uint64_t stream, double spread, DType dtype) {
  Random random(17, stream);
  Tensor x = Tensor::empty(shape);
  for (float& value : x.span<float>()) value = static_cast<float>(spread * random.normal());
  return dtype == DType::f32 ? x : x.to(dtype);
}

Tensor random_ids(const Shape& shape, int64_t count, uint64_t stream) {
  Random random(18, stream);
  Tensor x = Tensor::empty(shape, DType::i32);
  for (int32_t& id : x.span<int32_t>()) id = static_cast<int32_t>(random.below(static_cast<uint64_t>(count)));
  return x;
}

Tensor with_transposed_memory(const Tensor& x, int a, int b) { return x.transpose(a, b).clone().transpose(a, b); }

Tensor with_gaps_between_rows(const Tensor& x) {
  const int last = x.rank() - 1;
  Shape wide = x.shape();
  wide[last] += 3;
  Tensor y = Tensor::full(wide, -77.0f).to(x.dtype()).slice(last, 2, 2 + x.dim(last));
  y.copy_from(x);
  return y;
}

Tensor with_gaps_between_elements(const Tensor& x) {
  Shape wide = x.shape();
  wide.push_back(2);
  Tensor y = Tensor::full(wide, -77.0f).to(x.dtype()).select(x.rank(), 0);
  y.copy_from(x);
  return y;
}

Tensor as_float(const Tensor& x) { return (x.dtype() == DType::f32 ? x : x.to(DType::f32)).contiguous_copy(); }

std::vector<double> doubles(const Tensor& x) {
  const Tensor floats = as_float(x);
  return {floats.span<float>().begin(), floats.span<float>().end()};
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  const Tensor x = a.contiguous_copy(), y = b.contiguous_copy();
  const auto bytes = [](const Tensor& t) { return t.storage()->data() + t.offset() * size_of(t.dtype()); };
  return std::memcmp(bytes(x), bytes(y), static_cast<size_t>(x.numel() * size_of(x.dtype()))) == 0;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() ? largest_difference(doubles(a), doubles(b)) : INFINITY;
}

double largest_difference(const std::vector<double>& got, const std::vector<double>& wanted) {
  if (got.size() != wanted.size()) return INFINITY;
  double largest = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (got[i] == wanted[i]) continue;
    const double difference = std::abs(got[i] - wanted[i]);
    largest = std::max(largest, std::isfinite(difference) ? difference : INFINITY);
  }
  return largest;
}

void expect_close(const Tensor& got, const std::vector<double>& wanted, double tolerance, const std::string& what) {
  ASSERT_TRUE(got.defined()) << what;
  const std::vector<double> values = doubles(got);
  ASSERT_EQ(values.size(), wanted.size()) << what;
  double largest = 0.1;
  for (const double w : wanted) largest = std::max(largest, std::abs(w));
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double error = std::abs(values[i] - wanted[i]) / largest;
    EXPECT_TRUE(error <= tolerance) << what << ": number " << i << " is " << values[i] << ", expected " << wanted[i]
                                    << " (" << error << " of the largest)";
  }
}

}  // namespace qkv::test
