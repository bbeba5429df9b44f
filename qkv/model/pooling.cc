#include "qkv/model/pooling.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "qkv/base/error.h"
#include "qkv/base/threads.h"

namespace qkv {
namespace {

// The mean of rows [begin, end) of width C. The sums are in double precision, in the order of the rows.
std::vector<double> mean(const float* rows, int64_t begin, int64_t end, int64_t C) {
  std::vector<double> sums(static_cast<size_t>(C));
  for (int64_t t = begin; t < end; ++t)
    for (size_t c = 0; c < sums.size(); ++c) sums[c] += rows[t * C + static_cast<int64_t>(c)];
  for (double& sum : sums) sum /= static_cast<double>(end - begin);
  return sums;
}

std::vector<double> maximum(const float* rows, int64_t count, int64_t C) {
  std::vector<double> largest(rows, rows + C);
  for (int64_t t = 1; t < count; ++t)
    for (int64_t c = 0; c < C; ++c)
      largest[static_cast<size_t>(c)] = std::max<double>(largest[static_cast<size_t>(c)], rows[t * C + c]);
  return largest;
}

void normalize(std::vector<double>& vector) {
  double squares = 0;
  for (const double x : vector) squares += x * x;
  if (squares == 0) return;
  for (double& x : vector) x /= std::sqrt(squares);
}

}  // namespace

Tensor pool(const Tensor& hidden, std::span<const int32_t> lengths, const PoolingOptions& options) {
  require(hidden.rank() == 3 && (hidden.dtype() == DType::f32 || hidden.dtype() == DType::bf16) &&
              hidden.dim(0) == static_cast<int64_t>(lengths.size()),
          "pool", "hidden states must be f32 or bf16 (B,T,C) with B lengths, got {} {} and {} lengths",
          name_of(hidden.dtype()), hidden.shape(), lengths.size());
  const int64_t B = hidden.dim(0), T = hidden.dim(1), C = hidden.dim(2);
  const Tensor states = hidden.to(DType::f32).contiguous_copy();
  Tensor out = Tensor::empty({B, C});
  float* const pooled = out.data<float>();
  parallel_for(B, [&](int64_t b) {
    const int64_t length = lengths[static_cast<size_t>(b)];
    require(length >= 1 && length <= T, "pool", "the length of row {} must be 1 to T {}, got {}", b, T, length);
    const int64_t begin = options.pooling == Pooling::last ? length - 1 : 0;
    const int64_t end = options.pooling == Pooling::first ? 1 : length;
    std::vector<double> row = options.pooling == Pooling::max
                                  ? maximum(states.data<float>() + b * T * C, length, C)
                                  : mean(states.data<float>() + b * T * C, begin, end, C);
    if (options.pooling == Pooling::mean_sqrt_length)
      for (double& x : row) x *= std::sqrt(static_cast<double>(length));
    if (options.normalize) normalize(row);
    for (int64_t c = 0; c < C; ++c) pooled[b * C + c] = static_cast<float>(row[static_cast<size_t>(c)]);
  });
  return out;
}

Tensor normalized_rows(const Tensor& rows) {
  const int64_t C = rows.dim(1);
  Tensor out = rows.contiguous_copy();
  for (int64_t b = 0; b < rows.dim(0); ++b) {
    float* row = out.data<float>() + b * C;
    std::vector<double> vector(row, row + C);
    normalize(vector);
    for (int64_t c = 0; c < C; ++c) row[c] = static_cast<float>(vector[static_cast<size_t>(c)]);
  }
  return out;
}

}  // namespace qkv
