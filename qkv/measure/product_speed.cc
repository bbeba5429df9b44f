#include "qkv/measure/product_speed.h"

#include <vector>

#include "qkv/base/random.h"
#include "qkv/measure/fastest_time.h"
#include "qkv/op/linear.h"

namespace qkv {
namespace {

constexpr int64_t N = 2048, K = 4096, many = 256, uncached_bytes = int64_t{1} << 28;

Tensor random_matrix(int64_t rows) {
  Random random(1, static_cast<uint64_t>(rows));
  Tensor out = Tensor::empty({rows, K});
  for (float& x : out.span<float>()) x = static_cast<float>(random.uniform() - 0.5);
  return out;
}

}  // namespace

ProductSpeed measure_products(WeightFormat format) {
  const NoGrad guard;
  const Weight first = Weight::packed(random_matrix(N), format);
  const StoredValues stored = first.stored();
  std::vector<Weight> weights = {first};
  const int64_t bytes = N * row_bytes(format, K);
  while (std::ssize(weights) * bytes < uncached_bytes) weights.push_back(Weight::packed(stored));
  const Variable row = random_matrix(1), rows = random_matrix(many);
  const double all = internal::fastest_time(0.3, [&] {
    for (const Weight& w : weights) linear(row, w);
  });
  const double one = internal::fastest_time(0.3, [&] { linear(rows, first); });
  return {.gb_per_s = 1e-9 * static_cast<double>(std::ssize(weights) * bytes) / all,
          .gflops = 2e-9 * static_cast<double>(many * N * K) / one};
}

}  // namespace qkv
