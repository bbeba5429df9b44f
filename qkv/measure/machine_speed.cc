#include "qkv/measure/machine_speed.h"

#include <vector>

#include "qkv/base/threads.h"
#include "qkv/kernel/block_layout.h"
#include "qkv/kernel/kernels.h"
#include "qkv/kernel/peak.h"
#include "qkv/measure/fastest_time.h"
#include "qkv/tensor/tensor.h"

namespace qkv {
namespace {

// Larger than the caches of servers.
constexpr int64_t floats = int64_t{1} << 26;

// Left to itself, hardware prefetching may reach little more than half of the rate that products reach, which fetch weights
// ahead of time.
double memory_rate() {
  const Tensor numbers = Tensor::full({floats}, 1.0f);  // in memory as that of weights
  constexpr int64_t piece = 1 << 16, part = 256, ahead = 2048, line = 16;
  std::vector<int64_t> found(static_cast<size_t>(floats / piece));
  const auto read = [&] {
    parallel_for(floats / piece, [&](int64_t i) {
      const float* const end = numbers.data<float>() + (i + 1) * piece;
      for (const float* x = end - piece; x != end; x += part) {
        for (int64_t at = 0; at < part; at += line) __builtin_prefetch(x + ahead + at);
        found[static_cast<size_t>(i)] += kernel::kernels().rows.first_above(x, part, 2.0f);
      }
    });
  };
  return 1e-9 * static_cast<double>(floats) * sizeof(float) / internal::fastest_time(1.5, read);
}

}  // namespace

double MachineSpeed::gflops_of(WeightFormat format) const {
  if (!is_quantized(format)) return f32;
  return format == WeightFormat::int8 || kernel::layout_of(format).is_wide() ? int8 : narrow;
}

MachineSpeed measure_machine() {
  return {.f32 = kernel::peak_f32(),
          .bf16 = kernel::peak_bf16(),
          .int8 = kernel::peak_int8(),
          .narrow = kernel::peak_narrow(),
          .memory = memory_rate()};
}

}  // namespace qkv
