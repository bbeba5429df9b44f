// A call of attention(): the first eight bytes are its number, the others choose shapes, strides, score, mask,
// modifiers and so on. It is as exact as the plain computation, forward and backward, with and without a tape.
#include <algorithm>
#include <cstring>

#include "fuzz/input.h"
#include "test/attention_random_test/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace qkv;
  constexpr int64_t max_work = 60'000;
  uint64_t number = 0;
  if (size < sizeof number + 1) return 0;
  std::memcpy(&number, data, sizeof number);
  const DType dtype = data[sizeof number] % 2 ? DType::bf16 : DType::f32;
  const std::span<const uint8_t> choices(data + sizeof number + 1, size - sizeof number - 1);
  const test::Drawn call = test::draw(number, dtype, {.choices = choices, .max_work = max_work});
  std::vector<Tensor> got = test::results(call);
  const auto check = [&] {
    for (const std::string& wrong : {test::excess_error(call, got), test::nonzero_empty_row(call, got)})
      fuzz::expect(wrong.empty(), call.name() + ": " + wrong);
  };
  check();
  const std::vector<Tensor> without_tape = test::outputs(call);
  std::copy(without_tape.begin(), without_tape.end(), got.begin());
  check();
  return 0;
}
