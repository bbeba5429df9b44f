#include "qkv/measure/machine_speed.h"

#include <vector>

#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"
#include "qkv/kernel/peak.h"
#include "qkv/measure/fastest_time.h"

namespace qkv {
namespace {

// Larger than the caches of servers.
constexpr int64_t floats = int64_t{1} << 26;

double memory_rate() {
  const std::vector<float> numbers(static_cast<size_t>(floats), 1.0f);
  constexpr int64_t piece = 1 << 16;
  std::vector<double> sums(static_cast<size_t>(floats / piece));
  const auto read = [&] {
    parallel_for(floats / piece, [&](int64_t i) {
      const float* const x = numbers.data() + i * piece;
      sums[static_cast<size_t>(i)] = static_cast<double>(kernel::kernels().rows.first_above(x, piece, 2.0f));
    });
  };
  return 1e-9 * static_cast<double>(floats) * sizeof(float) / internal::fastest_time(0.5, read);
}

}  // namespace

MachineSpeed measure_machine() {
  return {
      .f32 = kernel::peak_f32(), .bf16 = kernel::peak_bf16(), .int8 = kernel::peak_int8(), .memory = memory_rate()};
}

}  // namespace qkv
