// A sequence of 4,096 tokens over four ranks. Here they are threads; under `mpirun -n 4` they are the processes of world().
#include <cmath>
#include <mutex>

#include <fmt/format.h>

#include "qkv/attention.h"

using namespace qkv;

Tensor normal(const Shape& shape, uint64_t stream) {
  Random random(1, stream);
  Tensor x = Tensor::empty(shape);
  for (float& number : x.span<float>()) number = static_cast<float>(random.normal());
  return x;
}

int main() {
  const int64_t T = 4096;
  const int ranks = 4;
  const Tensor q = normal({1, 4, T, 32}, 1), k = normal({1, 2, T, 32}, 2), v = normal({1, 2, T, 32}, 3);
  for (const MaskPtr& mask : {window(100, 0), causal()}) {
    const AttentionOptions options = {.mask = mask};
    const SequenceLayout layout =
        mask->name() == "causal()" ? zigzag_layout(T, ranks) : contiguous_layout(T, ranks);
    Tensor out = Tensor::zeros(q.shape());  // of all ranks
    std::string plan;
    std::mutex mutex;
    run_ranks(ranks, [&](Communicator& c) {
      const auto mine = [&](const Tensor& x) { return layout.rows_of(x, /*axis=*/2, c.rank()); };
      const DistributedSequence sequence = {c, layout, layout};
      const Tensor y = distributed_attention(mine(q), mine(k), mine(v), sequence, options);
      const std::string text = distributed_plan(mine(q), mine(k), mine(v), sequence, options).text();
      const std::lock_guard lock(mutex);
      layout.put_rows(y, 2, c.rank(), out);
      plan = text;
    });
    const Tensor whole = attention(q, k, v, options);
    float difference = 0;
    for (int64_t i = 0; i < out.numel(); ++i)
      difference = std::max(difference, std::abs(out.data<float>()[i] - whole.data<float>()[i]));
    fmt::print("{}: {} attention in one process\n{}", mask->name(), difference < 1e-5f ? "equal to" : "not", plan);
  }
}
