#include "qkv/layer/attention_cost.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "qkv/attention/mask/causal.h"
#include "qkv/base/error.h"
#include "qkv/layer/attention_part.h"
#include "qkv/layer/pass.h"

namespace qkv {
namespace {

// A mechanism is created to count its FLOPs. A mechanism with more parameters than this counts as scaled dot products
// instead, so that a configuration larger than the memory can be described, and soon: local_p computes its positions.
constexpr double max_parameters = 1 << 24;
constexpr int64_t max_size = int64_t{1} << 24;

double parameters_of(const AttentionMechanism& mechanism, const AttentionSize& size) {
  double sum = 0;
  for (const auto& [name, parameter] : mechanism.parameters(size)) {
    double count = 1;
    for (const int64_t n : parameter.shape()) count *= static_cast<double>(n);
    sum += count;
  }
  return sum;
}

void check(const AttentionWorkload& work) {
  double pairs = 1;
  for (const auto& [name, value] : {std::pair("batch", work.batch),
                                    {"heads", work.layer.heads},
                                    {"queries", work.queries},
                                    {"keys", work.keys}}) {
    require<UsageError>(value >= 1 && value <= max_size, "attention_cost", "{} must be 1 to {}, got {}", name,
                        max_size, value);
    pairs *= static_cast<double>(value);
  }
  const int64_t heads = work.layer.heads, kv_heads = work.layer.kv_heads;
  require<UsageError>(kv_heads >= 0 && (kv_heads == 0 || heads % kv_heads == 0), "attention_cost",
                      "kv-heads {} must divide heads {}", kv_heads, heads);
  require<UsageError>(pairs < 1e15, "attention_cost",
                      "batch {}, heads {}, queries {} and keys {} have more pairs than can be counted", work.batch,
                      work.layer.heads, work.queries, work.keys);
}

struct PlanOfVariant {
  AttentionPlan plan;
  double mechanism_flops = 0;  // of a pair, beside score and values
};

PlanOfVariant plan_of(const AttentionWorkload& work) {
  const AttentionSize size = work.layer.completed().size();
  std::vector<AttentionPart> parts;
  for (const AttentionMechanismPtr& mechanism : work.layer.variant.mechanisms())
    if (parameters_of(*mechanism, size) <= max_parameters) parts.emplace_back(mechanism, size);
  AttentionOptions options = attention_options(parts);
  if (size.use == AttentionUse::decoder) options.mask = options.mask & causal();
  const Tensor row = Tensor::zeros({1, 1, 1, size.head_width});
  const Tensor q = row.expand({work.batch, size.heads, work.queries, size.head_width}),
               k = row.expand({work.batch, size.kv_heads, work.keys, size.head_width});
  const std::vector<int32_t> lengths(static_cast<size_t>(work.batch), static_cast<int32_t>(work.keys));
  const NoGrad guard;
  PlanOfVariant out;
  for (const AttentionPart& p : parts) {
    p.mechanism().add_to_call(options, p,
                              {.q = q, .key_lengths = Tensor::from(lengths, {work.batch}), .pass = Pass()});
    out.mechanism_flops += p.mechanism().pair_flops(size);
  }
  out.plan = attention_plan(q, k, k, options);
  return out;
}

}  // namespace

AttentionCost attention_cost(const AttentionWorkload& work) {
  check(work);
  AttentionWorkload row = work;  // rows are alike
  row.batch = 1;
  const auto [plan, mechanism_flops] = plan_of(row);
  const AttentionShape& n = plan.shape;
  const auto B = static_cast<double>(work.batch), number = static_cast<double>(size_of(plan.dtype));
  AttentionCost cost = {.pairs = work.batch * plan.pairs, .visible_pairs = work.batch * plan.visible_pairs};
  cost.flops = B * (plan.flops + mechanism_flops * static_cast<double>(plan.visible_pairs));
  cost.operand_bytes = B * static_cast<double>(plan.bytes);
  cost.cache_bytes = B * number * static_cast<double>(plan.k.numel() + n.G * n.S * n.E);
  if (work.stores_weights) cost.weight_bytes = B * number * static_cast<double>(plan.pairs);
  cost.added_memory = work.stores_weights ? cost.weight_bytes : B * number * static_cast<double>(n.H * n.T);
  return cost;
}

AttentionWorkload attention_workload(const AttentionSizes& n, std::string_view where) {
  for (const auto& [name, value, smallest] : {std::tuple("batch", n.batch, 1),
                                              {"heads", n.heads, 1},
                                              {"kv-heads", n.kv_heads, 0},
                                              {"head-width", n.head_width, 1},
                                              {"queries", n.queries, 1},
                                              {"keys", n.keys, 0}})
    require<UsageError>(value >= smallest && value <= max_size, where, "{} must be {} to {}, got {}", name,
                        smallest, max_size, value);
  require<UsageError>(n.kv_heads == 0 || n.heads % n.kv_heads == 0, where, "kv-heads {} must divide heads {}",
                      n.kv_heads, n.heads);
  require<UsageError>(!n.causal || !n.cross, where, "causal and cross exclude each other");
  return {.layer = {.d_model = n.heads * n.head_width,
                    .heads = n.heads,
                    .kv_heads = n.kv_heads,
                    .head_width = n.head_width,
                    .use = n.cross    ? AttentionUse::cross
                           : n.causal ? AttentionUse::decoder
                                      : AttentionUse::encoder},
          .batch = n.batch,
          .queries = n.queries,
          .keys = n.keys == 0 ? n.queries : n.keys};
}

AttentionPlan attention_plan(const AttentionWorkload& work) {
  check(work);
  return plan_of(work).plan;
}

}  // namespace qkv
