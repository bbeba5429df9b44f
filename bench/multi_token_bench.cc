// Speed of multi_token_attention() with all its parts under a causal mask: convolutions of 6 queries by 11 keys
// before the softmax and 6 by 11 behind it, mixing of all heads before, of pairs of heads behind. The same in
// PyTorch: multi_token_peers.py.

#include <benchmark/benchmark.h>

#include "qkv/attention/mask/causal.h"
#include "qkv/attention/multi_token_cache.h"
#include "qkv/base/random.h"

namespace {

using namespace qkv;

Tensor normal(const Shape& shape, uint64_t stream, double spread = 1.0) {
  Tensor x = Tensor::empty(shape);
  Random random(5, stream);
  for (float& v : x.span<float>()) v = static_cast<float>(spread * random.normal());
  return x;
}

struct Subject {
  Variable q, k, v;
  MultiTokenOptions options;
  Tensor upstream;

  Subject(int64_t B, int64_t H, int64_t T, int64_t D, bool gradients) {
    const auto leaf = [&](const Shape& shape, uint64_t stream, double spread) {
      return Variable(normal(shape, stream, spread), {.requires_grad = gradients});
    };
    q = leaf({B, H, T, D}, 0, 1.0), k = leaf({B, H, T, D}, 1, 1.0), v = leaf({B, H, T, D}, 2, 1.0);
    options = {.pre_conv = leaf({H, 1, 6, 11}, 3, 0.1),
               .pre_mix = leaf({H, H}, 4, 0.25),
               .post_conv = leaf({H, 1, 6, 11}, 5, 0.1),
               .post_head = leaf({H / 2, 2, 2}, 6, 0.5),
               .mask = causal()};
    upstream = normal({B, H, T, D}, 7);
  }
};

void forward(benchmark::State& state) {
  const Subject s(state.range(0), state.range(1), state.range(2), state.range(3), false);
  for (auto _ : state) benchmark::DoNotOptimize(multi_token_attention(s.q, s.k, s.v, s.options));
}

void forward_and_backward(benchmark::State& state) {
  const Subject s(state.range(0), state.range(1), state.range(2), state.range(3), true);
  for (auto _ : state) multi_token_attention(s.q, s.k, s.v, s.options).backward(s.upstream);
}

void decode_step(benchmark::State& state) {
  const Subject s(state.range(0), state.range(1), state.range(2), state.range(3), false);
  MultiTokenCache cache(s.options);
  cache.attend(s.q.value(), s.k.value(), s.v.value());
  const auto last = [](const Variable& x) { return x.value().slice(2, x.dim(2) - 1, x.dim(2)); };
  for (auto _ : state) benchmark::DoNotOptimize(cache.attend(last(s.q), last(s.k), last(s.v)));
}

void shapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"B", "H", "T", "D"})->Unit(benchmark::kMillisecond)->UseRealTime();
  b->Args({1, 16, 512, 64})->Args({16, 8, 128, 64});
}

BENCHMARK(forward)->Apply(shapes);
BENCHMARK(forward_and_backward)->Apply(shapes);
BENCHMARK(decode_step)->Apply(shapes)->Iterations(64);

}  // namespace
