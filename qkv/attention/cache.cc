#include "qkv/attention/cache.h"

#include <algorithm>

#include "qkv/base/error.h"
#include "qkv/base/threads.h"

namespace qkv {
namespace {

Tensor grown(const Tensor& old, const Tensor& like, int64_t length, int64_t capacity) {
  Tensor out = Tensor::empty({like.dim(0), like.dim(1), capacity, like.dim(3)});
  if (old.defined()) out.slice(2, 0, length).copy_from(old.slice(2, 0, length));
  return out;
}

// out[b] = x[source[b]], the rows shared out among the threads in pieces of about 64 KiB.
void gather(std::span<const int64_t> source, const Tensor& out, const Tensor& x) {
  const auto rows = static_cast<int64_t>(source.size());
  if (rows == 0) return;
  const int64_t row_numbers = std::max<int64_t>(1, out.numel() / rows);
  parallel_ranges(rows, std::max<int64_t>(1, 16384 / row_numbers), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) out.select(0, b).copy_from(x.select(0, source[static_cast<size_t>(b)]));
  });
}

}  // namespace

void KeyValueCache::reserve(int64_t length, const Tensor& k, const Tensor& v) {
  if (k_.defined() && length <= k_.dim(2)) return;
  const int64_t capacity = std::max<int64_t>(16, 2 * length);
  k_ = grown(k_, k, length_, capacity);
  v_ = grown(v_, v, length_, capacity);
}

void KeyValueCache::append(const Tensor& k, const Tensor& v) {
  require(k.rank() == 4 && v.rank() == 4 && k.dim(2) == v.dim(2), "KeyValueCache",
          "k (B,G,t,D) is {}, v (B,G,t,E) is {}", k.shape(), v.shape());
  require(!k_.defined() ||
              (k.dim(0) == k_.dim(0) && k.dim(1) == k_.dim(1) && k.dim(3) == k_.dim(3) && v.dim(3) == v_.dim(3)),
          "KeyValueCache", "k {} and v {} do not continue keys {} and values {}", k.shape(), v.shape(),
          k_.defined() ? keys().shape() : Shape{}, v_.defined() ? values().shape() : Shape{});
  const int64_t after = length_ + k.dim(2);
  reserve(after, k, v);
  k_.slice(2, length_, after).copy_from(k);
  v_.slice(2, length_, after).copy_from(v);
  length_ = after;
}

void KeyValueCache::reorder(std::span<const int64_t> source) {
  if (!k_.defined()) return;
  const auto gathered = [&](const Tensor& x) {
    Tensor out = Tensor::empty({static_cast<int64_t>(source.size()), x.dim(1), x.dim(2), x.dim(3)});
    gather(source, out.slice(2, 0, length_), x.slice(2, 0, length_));
    return out;
  };
  k_ = gathered(k_);
  v_ = gathered(v_);
}

Tensor KeyValueCache::keys() const { return k_.slice(2, 0, length_); }
Tensor KeyValueCache::values() const { return v_.slice(2, 0, length_); }

Tensor gather_rows(const Tensor& x, std::span<const int64_t> source) {
  Shape shape = x.shape();
  shape[0] = static_cast<int64_t>(source.size());
  Tensor out = Tensor::empty(shape, x.dtype());
  gather(source, out, x);
  return out;
}

}  // namespace qkv
