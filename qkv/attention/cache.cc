#include "qkv/attention/cache.h"

#include <algorithm>
#include <utility>

#include "qkv/base/error.h"
#include "qkv/base/threads.h"

namespace qkv {
namespace {

// A quarter more than is needed: a prompt, which may be most of what the cache will hold, has little memory in vain, and what is
// copied when the cache grows, four rows for each new one, is little beside the rows that a step reads.
int64_t capacity_for(int64_t length) { return length + std::max<int64_t>(16, length / 4); }

Tensor resized(const Tensor& old, const Tensor& like, int64_t length, int64_t capacity) {
  Tensor out = Tensor::empty({like.dim(0), like.dim(1), capacity, like.dim(3)}, like.dtype());
  if (old.defined()) out.slice(2, 0, length).copy_from(old.slice(2, 0, length));
  return out;
}

// out[b] = x[source[b]], in parallel pieces of about 16384 elements.
void gather(std::span<const int64_t> source, const Tensor& out, const Tensor& x) {
  const auto rows = static_cast<int64_t>(source.size());
  if (rows == 0) return;
  const int64_t row_size = std::max<int64_t>(1, out.numel() / rows);
  parallel_ranges(rows, std::max<int64_t>(1, 16384 / row_size), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) out.select(0, b).copy_from(x.select(0, source[static_cast<size_t>(b)]));
  });
}

bool continues(const Tensor& x, const Tensor& cached) {
  return x.dtype() == cached.dtype() && x.dim(0) == cached.dim(0) && x.dim(1) == cached.dim(1) &&
         x.dim(3) == cached.dim(3);
}

std::string describe_typed(const Tensor& x) { return fmt::format("{} {}", name_of(x.dtype()), x.shape()); }

void check_added(const Tensor& k, const Tensor& v) {
  if (k.rank() != 4 || v.rank() != 4 || k.dim(2) != v.dim(2) || k.dtype() != v.dtype() ||
      (k.dtype() != DType::f32 && k.dtype() != DType::bf16))
    fail("KeyValueCache", "expected k (B,G,t,D) and v (B,G,t,E), both f32 or both bf16; k is {}, v is {}",
         describe_typed(k), describe_typed(v));
}

}  // namespace

void KeyValueCache::reserve(int64_t length, const Tensor& k, const Tensor& v) {
  if (k_.defined() && length <= k_.dim(2)) return;
  set_capacity(capacity_for(length), k, v);
}

void KeyValueCache::set_capacity(int64_t capacity, const Tensor& k, const Tensor& v) {
  k_ = resized(k_, k, length_, capacity);
  v_ = resized(v_, v, length_, capacity);
}

void KeyValueCache::truncate(int64_t length) {
  require(length >= 0 && length <= length_, "KeyValueCache", "it has {} positions, and cannot be cut to {}",
          length_, length);
  length_ = length;
  const int64_t capacity = capacity_for(length);
  if (k_.defined() && 2 * capacity < k_.dim(2)) set_capacity(capacity, k_, v_);
}

KeyValueCache::KeyValueCache(CacheFormat format, const Tensor& k, const Tensor& v) : format_(format) {
  check_added(k, v);
  k_ = stored(k);
  v_ = stored(v);
  length_ = k.dim(2);
}

Tensor KeyValueCache::stored(const Tensor& x) const {
  if (!format_) return x;
  if (*format_ == CacheFormat::int8) return internal::int8_rows(x);
  return x.to(*format_ == CacheFormat::bf16 ? DType::bf16 : DType::f32);
}

void KeyValueCache::append(const Tensor& given_k, const Tensor& given_v) {
  check_added(given_k, given_v);
  const Tensor k = stored(given_k), v = stored(given_v);
  if (k_.defined() && !(continues(k, k_) && continues(v, v_)))
    fail("KeyValueCache", "k {} and v {} do not continue keys {} and values {}", describe_typed(given_k),
         describe_typed(given_v), describe_typed(keys()), describe_typed(values()));
  const int64_t after = length_ + k.dim(2);
  reserve(after, k, v);
  k_.slice(2, length_, after).copy_from(k);
  v_.slice(2, length_, after).copy_from(v);
  length_ = after;
}

namespace {

// Whether each row can be copied over another in place: rows that are copied stay where they are.
bool is_in_place(std::span<const int64_t> source, int64_t rows) {
  if (std::ssize(source) != rows) return false;
  return std::all_of(source.begin(), source.end(), [&](int64_t row) {
    return row >= 0 && row < rows && source[static_cast<size_t>(row)] == row;
  });
}

}  // namespace

// In beam search most rows stay (Beam::keep_rows).
void KeyValueCache::reorder(std::span<const int64_t> source) {
  if (!k_.defined()) return;
  const bool is_shared = k_.storage().use_count() > 1 || v_.storage().use_count() > 1;  // with a copy of this cache
  if (!is_shared && is_in_place(source, k_.dim(0))) {
    parallel_for(std::ssize(source), [&](int64_t b) {
      const int64_t from = source[static_cast<size_t>(b)];
      if (from == b) return;
      for (const Tensor& x : {k_, v_}) {
        const Tensor rows = x.slice(2, 0, length_);
        rows.select(0, b).copy_from(rows.select(0, from));
      }
    });
    return;
  }
  const auto gathered = [&](const Tensor& x) {
    Tensor out = Tensor::empty({static_cast<int64_t>(source.size()), x.dim(1), x.dim(2), x.dim(3)}, x.dtype());
    gather(source, out.slice(2, 0, length_), x.slice(2, 0, length_));
    return out;
  };
  k_ = gathered(k_);
  v_ = gathered(v_);
}

namespace {

Tensor numbers(Tensor stored) {
  return stored.dtype() == DType::u8 ? internal::numbers_of_int8_rows(stored) : std::move(stored);
}

Tensor without_scales(Tensor rows) {
  return rows.dtype() == DType::u8 ? rows.slice(3, 0, rows.dim(3) - int64_t{sizeof(float)}) : std::move(rows);
}

}  // namespace

Tensor KeyValueCache::keys() const { return numbers(stored_keys()); }
Tensor KeyValueCache::values() const { return numbers(stored_values()); }
Tensor KeyValueCache::stored_keys() const { return without_scales(k_.slice(2, 0, length_)); }
Tensor KeyValueCache::stored_values() const { return without_scales(v_.slice(2, 0, length_)); }

Tensor gather_rows(const Tensor& x, std::span<const int64_t> source) {
  Shape shape = x.shape();
  shape[0] = static_cast<int64_t>(source.size());
  Tensor out = Tensor::empty(shape, x.dtype());
  gather(source, out, x);
  return out;
}

}  // namespace qkv
