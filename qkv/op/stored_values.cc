#include <atomic>
#include <cmath>
#include <cstring>

#include "qkv/base/error.h"
#include "qkv/kernel/format/stored_format.h"
#include "qkv/op/rows.h"
#include "qkv/op/weight.h"

namespace qkv {

StoredValues::StoredValues(Tensor numbers)
    : tensor_(std::move(numbers)),
      format_(tensor_.dtype() == DType::bf16 ? WeightFormat::bf16 : WeightFormat::f32),
      shape_(tensor_.shape()) {}

StoredValues::StoredValues(Tensor rows, WeightFormat format, int64_t K)
    : tensor_(std::move(rows)), format_(format), shape_{tensor_.rank() > 0 ? tensor_.dim(0) : 0, K} {
  const bool fits = is_quantized(format) && K > 0 && K % block_of(format).numbers == 0;
  require<InputError>(
      fits && tensor_.rank() == 2 && tensor_.dtype() == DType::u8 && tensor_.dim(1) == row_bytes(format, K),
      "weight", "{} numbers of {} in a row must be u8 (N, {}), got {} {}", K, name_of(format),
      fits ? row_bytes(format, K) : 0, name_of(tensor_.dtype()), tensor_.shape());
}

Tensor StoredValues::numbers() const {
  if (!is_quantized(format_)) return tensor_;
  const Tensor rows = tensor_.contiguous_copy();
  Tensor out = Tensor::empty(shape_);
  const int64_t K = shape_[1], bytes = rows.dim(1);
  for_each_row(shape_[0], K, [&](int64_t n) {
    const uint8_t* const row = rows.data<uint8_t>() + n * bytes;
    float* const to = out.data<float>() + n * K;
    if (format_ != WeightFormat::int8) return decode_row(stored_format(format_), row, K, to);
    float scale = 0;
    std::memcpy(&scale, row + K, sizeof(scale));
    for (int64_t k = 0; k < K; ++k) to[k] = scale * static_cast<float>(static_cast<int8_t>(row[k]));
  });
  return out;
}

// The scales of quantised rows decide, since the numbers are integers.
bool StoredValues::are_finite() const {
  const Tensor values = tensor_.contiguous_copy();
  std::atomic<bool> found = false;
  const int64_t K = shape_[1], bytes = values.dim(1);
  for_each_row(shape_[0], K, [&](int64_t n) {
    const uint8_t* const row = values.data<uint8_t>() + n * bytes;
    if (format_ == WeightFormat::int8) {
      float scale = 0;
      std::memcpy(&scale, row + K, sizeof(scale));
      if (!std::isfinite(scale)) found = true;
      return;
    }
    const StoredFormat& format = stored_format(format_);
    BlockNumbers block;
    for (const uint8_t* at = row; at != row + bytes; at += format.block_bytes) {
      format.take_apart(at, block);
      if (!std::isfinite(block.d.value()) || !std::isfinite(block.minimum.value())) found = true;
    }
  });
  return !found;
}

}  // namespace qkv
