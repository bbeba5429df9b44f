// distributed_attention() between processes, against attention() of the whole sequence in each of them.
#include <cmath>
#include <cstdio>
#include <cstring>

#include "qkv/attention/attention.h"
#include "qkv/attention/distributed.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/window.h"
#include "qkv/base/collectives.h"
#include "qkv/base/error.h"
#include "qkv/base/random.h"
#include "qkv/base/world.h"

namespace {

using namespace qkv;

constexpr int64_t B = 1, H = 6, G = 6, T = 300, D = 16;

Tensor random_tensor(const Shape& shape, uint64_t stream) {
  Random random(7, stream);
  Tensor x = Tensor::empty(shape);
  for (float& value : x.span<float>()) value = static_cast<float>(random.normal());
  return x;
}

double difference(const Tensor& a, const Tensor& b) {
  double largest = 0;
  const Tensor x = a.contiguous_copy(), y = b.contiguous_copy();
  require(x.shape() == y.shape(), "difference", "{} and {}", x.shape(), y.shape());
  for (size_t i = 0; i < x.span<float>().size(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(x.span<float>()[i] - y.span<float>()[i])));
  return largest;
}

void check(Communicator& c, const AttentionOptions& options, Distribution distribution) {
  const Tensor q = random_tensor({B, H, T, D}, 1), k = random_tensor({B, G, T, D}, 2),
               v = random_tensor({B, G, T, D}, 3), dout = random_tensor({B, H, T, D}, 4);
  const auto leaf = [](const Tensor& x) { return Variable(x, {.requires_grad = true}); };
  const Variable whole[] = {leaf(q), leaf(k), leaf(v)};
  const Variable y = attention(whole[0], whole[1], whole[2], options);
  y.backward(dout);
  const SequenceLayout layout = zigzag_layout(T, c.size());
  const auto rows = [&](const Tensor& x) { return layout.rows_of(x, 2, c.rank()); };
  const Variable mine[] = {leaf(rows(q)), leaf(rows(k)), leaf(rows(v))};
  const Variable z = distributed_attention(mine[0], mine[1], mine[2], {c, layout, layout, distribution}, options);
  z.backward(rows(dout));
  double largest = difference(z.value(), rows(y.value()));
  for (int i = 0; i < 3; ++i) largest = std::max(largest, difference(mine[i].grad(), rows(whole[i].grad())));
  require(largest < 3e-6, "attention_program", "the largest difference from one process is {}", largest);
}

}  // namespace

int main() {
  try {
    Communicator& c = world();
    for (const MaskPtr& mask : {MaskPtr(), causal(), window(70, 30)}) {
      check(c, {.mask = mask}, Distribution::ring);
      if (G % c.size() == 0) check(c, {.mask = mask}, Distribution::heads);
    }
    c.barrier();
    if (c.rank() == 0) std::printf("attention is the same on %d ranks\n", c.size());
    leave_world();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
