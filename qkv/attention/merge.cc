#include "qkv/attention/merge.h"

#include <algorithm>
#include <cmath>

#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"

namespace qkv {
namespace {

void check(const std::vector<AttentionForward>& parts) {
  require(!parts.empty(), "merge", "there must be at least one part");
  const AttentionForward& first = parts.front();
  for (const AttentionForward& part : parts) {
    require(part.out.shape() == first.out.shape() && part.out.dtype() == first.out.dtype(), "merge",
            "all parts must have outputs of the same shape and type: {} {} and {} {}", name_of(first.out.dtype()),
            describe("BHTE", first.out.shape()), name_of(part.out.dtype()), describe("BHTE", part.out.shape()));
    const Shape& out = part.out.shape();
    const Shape queries = {out.dim(0), out.dim(1), out.dim(2)};
    require(part.maximum.shape() == queries && part.inverse_sum.shape() == queries, "merge",
            "the statistics must be {}, got {} and {}", describe("BHT", queries),
            describe("BHT", part.maximum.shape()), describe("BHT", part.inverse_sum.shape()));
  }
}

}  // namespace

AttentionForward merge(const std::vector<AttentionForward>& parts) {
  check(parts);
  const DType dtype = parts.front().out.dtype();
  const Shape queries = parts.front().maximum.shape();
  AttentionForward all = {Tensor::zeros(parts.front().out.shape()), Tensor::empty(queries), Tensor::zeros(queries)};
  std::vector<AttentionForward> in;
  for (const AttentionForward& part : parts)
    in.push_back({part.out.to(DType::f32).contiguous_copy(), part.maximum.contiguous_copy(),
                  part.inverse_sum.contiguous_copy()});
  const int64_t width = all.out.dim(3);
  parallel_ranges(queries.numel(), 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float maximum = -INFINITY, sum = 0;
      for (const AttentionForward& part : in) maximum = std::max(maximum, part.maximum.data<float>()[i]);
      const auto share = [&](const AttentionForward& part) {  // exp(m_p - m) l_p
        const float inverse = part.inverse_sum.data<float>()[i];
        return inverse > 0 ? std::exp(part.maximum.data<float>()[i] - maximum) / inverse : 0.0f;
      };
      for (const AttentionForward& part : in) sum += share(part);
      all.maximum.data<float>()[i] = maximum;
      if (!(sum > 0)) continue;
      all.inverse_sum.data<float>()[i] = 1.0f / sum;
      for (const AttentionForward& part : in)
        kernel::kernels().rows.add_scaled(part.out.data<float>() + i * width, share(part) / sum, width,
                                          all.out.data<float>() + i * width);
    }
  });
  all.out = all.out.to(dtype);
  return all;
}

}  // namespace qkv
