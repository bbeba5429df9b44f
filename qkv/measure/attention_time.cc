#include "qkv/measure/attention_time.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "qkv/attention/mask/causal.h"
#include "qkv/base/error.h"
#include "qkv/base/random.h"
#include "qkv/layer/attention_core.h"

namespace qkv {
namespace {

constexpr int min_calls = 5;

Tensor normal_heads(const Shape& shape, uint64_t stream) {
  Random random(1, stream);
  Tensor out = Tensor::empty(shape);
  for (float& x : out.span<float>()) x = static_cast<float>(random.normal());
  return out;
}

}  // namespace

AttentionTime measure_attention(const AttentionWorkload& work, double seconds) {
  using Clock = std::chrono::steady_clock;
  attention_cost(work);  // reports what does not fit together
  const MultiHeadAttentionOptions layer = work.layer.completed();
  AttentionCore core(layer);
  require<UsageError>(!core.projects_globals(), "measure_attention",
                      "longformer-separate projects some positions by itself and cannot be measured without them");
  struct Parameters final : Module {
    explicit Parameters(AttentionCore& c) : core(c) {}
    void list(ModuleContents& contents) const override { core.list(contents); }
    AttentionCore& core;
  } parameters(core);
  parameters.initialise("", 1);
  const AttentionCore::Heads heads = {
      .q = normal_heads({work.batch, layer.heads, work.queries, layer.head_width}, 1),
      .k = normal_heads({work.batch, layer.kv_heads, work.keys, layer.head_width}, 2),
      .v = normal_heads({work.batch, layer.kv_heads, work.keys, layer.head_width}, 3)};
  const AttentionCore::Call call = {.mask = layer.use == AttentionUse::decoder ? causal() : MaskPtr()};
  const NoGrad guard;
  std::vector<double> times;
  for (double all = 0; std::ssize(times) <= min_calls || all < seconds;) {
    AttentionLog log;
    Pass pass{.log = work.stores_weights ? &log : nullptr};
    const auto start = Clock::now();
    core.attend(heads, call, pass);
    times.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    all += times.back();
  }
  times.erase(times.begin());  // masks make their block maps once
  std::ranges::sort(times);
  const size_t middle = times.size() / 2;
  return {.median = times.size() % 2 == 1 ? times[middle] : (times[middle - 1] + times[middle]) / 2,
          .fastest = times.front(),
          .slowest = times.back(),
          .calls = static_cast<int>(times.size())};
}

}  // namespace qkv
