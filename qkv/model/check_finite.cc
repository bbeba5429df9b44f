#include "qkv/model/check_finite.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <span>

#include "qkv/base/error.h"
#include "qkv/base/names.h"
#include "qkv/base/threads.h"

namespace qkv {
namespace {

// Infinities and NaN are the numbers whose exponent is all ones. Without a branch, so that it runs at the speed of reading.
template <class Bits>
bool all_finite(const Bits* numbers, int64_t count, Bits exponent) {
  Bits others = 0;
  for (int64_t i = 0; i < count; ++i) others = static_cast<Bits>(others | ((numbers[i] & exponent) == exponent));
  return others == 0;
}

template <class Number, class Bits>
void check(const Tensor& values, Bits exponent, const std::string& where, std::string_view name) {
  const std::span<const Number> numbers = values.span<Number>();
  std::atomic<bool> found = false;
  parallel_ranges(std::ssize(numbers), 1 << 18, [&](int64_t begin, int64_t end) {
    constexpr int64_t block = 4096;
    Bits bits[block];
    for (int64_t at = begin; at < end; at += block) {
      const int64_t count = std::min(block, end - at);
      std::memcpy(bits, numbers.data() + at, static_cast<size_t>(count) * sizeof(Bits));
      if (!all_finite(bits, count, exponent)) found = true;
    }
  });
  if (!found) return;
  for (const Number number : numbers)
    if (const auto x = static_cast<float>(number); !std::isfinite(x))
      fail<InputError>(where, "tensor {} holds {}", quoted_name(name), x);
}

}  // namespace

void check_finite(const StoredValues& values, const std::string& where, std::string_view name) {
  if (is_quantized(values.format()))
    require<InputError>(values.are_finite(), where, "tensor {} has a scale that is not finite", quoted_name(name));
  else if (values.format() == WeightFormat::bf16)
    check<bfloat16>(values.tensor(), uint16_t{0x7f80}, where, name);
  else
    check<float>(values.tensor(), uint32_t{0x7f800000}, where, name);
}

}  // namespace qkv
