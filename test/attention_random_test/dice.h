// Choices of a random call: the first are made by bytes of the caller, if there are any, the others are a function of a
// number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "qkv/autograd/variable.h"
#include "qkv/base/random.h"

namespace qkv::test {

class Dice {
 public:
  explicit Dice(uint64_t number, std::span<const uint8_t> choices = {}) : random_(41, number), choices_(choices) {}

  int64_t between(int64_t low, int64_t high) {
    const auto count = static_cast<uint64_t>(high - low + 1);
    return low + static_cast<int64_t>(choices_.empty() ? random_.below(count) : chosen() % count);
  }
  bool one_in(int64_t n) { return between(1, n) == 1; }
  float normal(double spread) { return static_cast<float>(spread * random_.normal()); }

  // 1 to 300, often small, often at the edge of a block.
  int64_t length() {
    switch (between(0, 3)) {
      case 0: return between(1, 12);
      case 1: return std::max<int64_t>(1, 64 * between(0, 4) + between(-2, 2));
      default: return between(1, 300);
    }
  }
  int64_t width() { return one_in(8) ? between(100, 512) : one_in(3) ? 8 * between(1, 16) : between(1, 70); }

  Tensor normals(const Shape& shape, double spread) {
    Tensor x = Tensor::empty(shape);
    for (float& value : x.span<float>()) value = normal(spread);
    return x;
  }
  Tensor integers(const Shape& shape, int64_t low, int64_t high) {
    Tensor x = Tensor::empty(shape, DType::i32);
    for (int32_t& value : x.span<int32_t>()) value = static_cast<int32_t>(between(low, high));
    return x;
  }
  // With a gradient, mostly.
  Variable parameter(const Tensor& values) { return {values, {.requires_grad = !one_in(4)}}; }

 private:
  uint64_t chosen() {  // of two bytes, so that every length can be chosen
    uint64_t value = 0;
    for (int i = 0; i < 2 && !choices_.empty(); ++i) {
      value = value << 8 | choices_.front();
      choices_ = choices_.subspan(1);
    }
    return value;
  }

  Random random_;
  std::span<const uint8_t> choices_;
};

}  // namespace qkv::test
