#include "qkv/layer/flop_count.h"

#include <algorithm>
#include <cmath>

#include "qkv/attention/explain.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/layer/linear.h"
#include "qkv/layer/pass.h"

namespace qkv {
namespace {

// A mechanism is created to count its FLOPs. A mechanism with more parameters than this counts as scaled dot products
// instead, so that a configuration larger than the memory can be described, and soon: local_p computes its positions.
constexpr double max_parameters = 1 << 24;

double parameters_of(const AttentionMechanism& mechanism, const AttentionSize& size) {
  double sum = 0;
  for (const auto& [name, parameter] : mechanism.parameters(size)) {
    double count = 1;
    for (const int64_t n : parameter.shape()) count *= static_cast<double>(n);
    sum += count;
  }
  return sum;
}

}  // namespace

double FlopCount::intensity(int64_t tokens) const {
  const auto n = static_cast<double>(tokens);
  const double bytes = static_cast<double>(weight_bytes()) + n * token_bytes;
  return bytes > 0 ? n * static_cast<double>(flops) / bytes : 0;
}

FlopCount sum_of(const std::vector<FlopCount>& parts) {
  FlopCount sum;
  sum.part = "all";
  for (const FlopCount& part : parts) {
    sum.flops += part.flops;
    sum.weights += part.weights;
    sum.format = part.format;
    sum.token_bytes += part.token_bytes;
  }
  return sum;
}

void MatrixFlops::add(const Module& module, int64_t times) {
  const auto* linear = dynamic_cast<const Linear*>(&module);
  if (!linear) return module.list(*this);
  if (!linear->weight.defined() || linear->weight.shape().numel() == 0) return;
  const int64_t elements = linear->weight.shape().numel();
  flops_ += 2 * times * elements;
  weights_ += elements;
  token_bytes_ += 4 * times * (linear->weight.dim(0) + linear->weight.dim(1));
  const std::string& product = linear->weight.formula();
  auto term = std::find_if(terms_.begin(), terms_.end(), [&](const auto& t) { return t.first == product; });
  if (term == terms_.end()) term = terms_.insert(terms_.end(), {product, 0});
  term->second += 2 * times;
}

FlopCount MatrixFlops::count(const std::string& part, int64_t layers) const {
  std::string sum;
  for (const auto& [product, factor] : terms_)
    sum += fmt::format("{}{} {}", sum.empty() ? "" : " + ", factor, product);
  const bool one = terms_.size() == 1;
  return {.part = part,
          .formula = one ? fmt::format("{} * {}", layers, sum) : fmt::format("{} ({})", layers, sum),
          .flops = layers * flops_,
          .weights = layers * weights_,
          .token_bytes = static_cast<double>(layers * token_bytes_)};
}

FlopCount attention_flops(const std::string& title, const MultiHeadAttentionOptions& layer, int64_t layers,
                          int64_t T, int64_t S) {
  const AttentionSize size = layer.size();
  std::vector<AttentionPart> parts;
  for (const AttentionMechanismPtr& mechanism : layer.variant.mechanisms())
    if (parameters_of(*mechanism, size) <= max_parameters) parts.emplace_back(mechanism, size);
  AttentionOptions options = attention_options(parts);
  if (size.use == AttentionUse::decoder) options.mask = options.mask & causal();
  const int64_t H = size.heads, D = size.head_width;
  const Tensor row = Tensor::zeros({1, 1, 1, D});
  const Tensor q = row.expand({1, H, T, D}), k = row.expand({1, size.kv_heads, S, D});
  const Tensor lengths = Tensor::from(std::vector<int32_t>{static_cast<int32_t>(S)}, {1});
  const NoGrad guard;
  double pair_flops = 0;
  for (const AttentionPart& p : parts) {
    p.mechanism().add_to_call(options, p, {.q = q, .key_lengths = lengths, .pass = Pass()});
    pair_flops += p.mechanism().pair_flops(size);
  }
  const AttentionPlan plan = attention_plan(q, k, k, options);
  const auto pairs = static_cast<double>(plan.visible_pairs);
  if (pairs > 0) pair_flops += plan.flops / pairs;
  const double keys = pairs / static_cast<double>(H * T);
  const std::string formula = std::lround(pair_flops) == 4 * D && H * D == size.d_model
                                  ? fmt::format("{} * 4 C keys", layers)
                                  : fmt::format("{} * {:.0f} H keys", layers, pair_flops);
  const double queries = static_cast<double>(T), times = static_cast<double>(layers);
  return {.part = fmt::format("{}, {:.4g} of {} keys", title, keys, S),
          .formula = formula,
          .flops = std::llround(times * pair_flops * pairs / queries),
          .token_bytes = times * static_cast<double>(plan.bytes) / queries};
}

}  // namespace qkv
