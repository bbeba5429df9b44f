#include "qkv/layer/flop_count.h"

#include <algorithm>
#include <cmath>

#include "qkv/layer/attention_cost.h"
#include "qkv/layer/linear.h"

namespace qkv {

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
  const AttentionCost cost = attention_cost({.layer = layer, .queries = T, .keys = S});
  const AttentionSize size = layer.size();
  const int64_t H = size.heads, D = size.head_width;
  const auto pairs = static_cast<double>(cost.visible_pairs);
  const double pair_flops = pairs > 0 ? cost.flops / pairs : 0, keys = pairs / static_cast<double>(H * T);
  const std::string formula = std::lround(pair_flops) == 4 * D && H * D == size.d_model
                                  ? fmt::format("{} * 4 C keys", layers)
                                  : fmt::format("{} * {:.0f} H keys", layers, pair_flops);
  const double queries = static_cast<double>(T), times = static_cast<double>(layers);
  return {.part = fmt::format("{}, {:.4g} of {} keys", title, keys, S),
          .formula = formula,
          .flops = std::llround(times * cost.flops / queries),
          .token_bytes = times * cost.operand_bytes / queries};
}

}  // namespace qkv
