#include "qkv/attention/cache_format.h"

#include <algorithm>
#include <cstring>

#include "qkv/base/integers.h"
#include "qkv/base/scratch.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"

namespace qkv::internal {
namespace {

// Calls visit(row, b, g, t) for every row of (B,G,T,...), in parallel.
template <class Visit>
void for_each_row_of(const Tensor& x, Visit visit) {
  const int64_t G = x.dim(1), T = x.dim(2);
  parallel_ranges(x.dim(0) * G * T, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, x.dim(3))),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t n = begin; n < end; ++n) visit(n / (G * T), n / T % G, n % T);
                  });
}

template <class T, class X>
auto* row_at(X& x, int64_t b, int64_t g, int64_t t) {
  return x.template data<T>() + b * x.stride(0) + g * x.stride(1) + t * x.stride(2);
}

}  // namespace

Tensor int8_rows(const Tensor& x) {
  const Tensor numbers = x.to(DType::f32).contiguous_copy();
  const int64_t D = x.dim(3), padded = rounded_up(D, 32);
  Tensor rows = Tensor::empty({x.dim(0), x.dim(1), x.dim(2), D + int64_t{sizeof(float)}}, DType::u8);
  for_each_row_of(numbers, [&](int64_t b, int64_t g, int64_t t) {
    Scratch scratch;
    auto* const out = reinterpret_cast<int8_t*>(scratch.floats(padded / 4));
    float scale = 0, sum = 0;
    int32_t offset = 0;
    kernel::kernels().quantized.quantize(row_at<float>(numbers, b, g, t), D, padded, static_cast<int>(padded), 0,
                                         out, &scale, &offset, &sum, 1);
    uint8_t* const row = row_at<uint8_t>(rows, b, g, t);
    std::memcpy(row, out, static_cast<size_t>(D));
    std::memcpy(row + D, &scale, sizeof(scale));
  });
  return rows;
}

Tensor numbers_of_int8_rows(const Tensor& rows) {
  Tensor out = Tensor::empty(rows.shape());
  const int64_t D = rows.dim(3);
  for_each_row_of(rows, [&](int64_t b, int64_t g, int64_t t) {
    const auto* const row = reinterpret_cast<const int8_t*>(row_at<uint8_t>(rows, b, g, t));
    const float scale = scale_of_int8_row(row, D);
    float* const to = row_at<float>(out, b, g, t);
    for (int64_t d = 0; d < D; ++d) to[d] = scale * static_cast<float>(row[d]);
  });
  return out;
}

}  // namespace qkv::internal
