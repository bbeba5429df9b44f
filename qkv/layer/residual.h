// A sublayer in its residual connection:
//
//     post       y = norm(x + dropout(sublayer(x)))                     Vaswani et al., 2017, section 3.1
//     pre        y = x + dropout(sublayer(norm(x)))                     Xiong et al., "On Layer Normalization", 2020
//     pre-residual   z = norm(x),  y = z + dropout(sublayer(z))         BLOOM (2022), an option of it
//     sandwich   y = x + dropout(output_norm(sublayer(norm(x))))        Ding et al., "CogView", 2021; Gemma 2
//     parallel   every sublayer of a block reads the same x:            Wang and Komatsuzaki, "GPT-J", 2021
//                y = x + dropout(sublayer_1(norm_1(x))) + dropout(sublayer_2(norm_2(x))) + ...
//     parallel-shared                                                   as parallel, with one norm for all of them
//
//     Residual residual(NormOrder::pre, {512, "C"}, {}, /*dropout=*/0.1f);
//     Variable y = residual(x, pass, [&](const Variable& z) { return feed_forward.forward(z, pass); });
#pragma once

#include <optional>

#include "qkv/layer/norm.h"
#include "qkv/layer/pass.h"
#include "qkv/op/dropout.h"

namespace qkv {

enum class NormOrder { post, pre, pre_residual, sandwich, parallel, parallel_shared };
constexpr auto names_of(NormOrder) {
  return std::array{Named{NormOrder::post, "post"},
                    Named{NormOrder::pre, "pre"},
                    Named{NormOrder::pre_residual, "pre-residual"},
                    Named{NormOrder::sandwich, "sandwich"},
                    Named{NormOrder::parallel, "parallel"},
                    Named{NormOrder::parallel_shared, "parallel-shared"}};
}
constexpr bool is_parallel(NormOrder order) {
  return order == NormOrder::parallel || order == NormOrder::parallel_shared;
}
// Whether the sum of all sublayers leaves a stack of blocks without a norm, so that the stack needs one at its end.
constexpr bool needs_final_norm(NormOrder order) { return order != NormOrder::post; }

struct Residual {
  Residual(NormOrder norm_order, const Axis& width, const NormOptions& options, float dropout_rate)
      : order(norm_order), norm(width, options), dropout(dropout_rate) {
    if (order == NormOrder::sandwich) output_norm.emplace(width, options);
  }

  // For all orders but the parallel ones, whose sum is the block's.
  template <class Sublayer>
  Variable operator()(const Variable& x, Pass& pass, Sublayer sublayer) const {
    const Variable z = order == NormOrder::post ? x : norm.forward(x);
    const Variable y = sublayer(z);
    const Variable sum =
        add_to(order == NormOrder::pre_residual ? z : x, output_norm ? output_norm->forward(y) : y, pass);
    return order == NormOrder::post ? norm.forward(sum) : sum;
  }
  // x + dropout(y)
  Variable add_to(const Variable& x, const Variable& y, Pass& pass) const {
    return dropout_add(y, x, pass.dropout(dropout));
  }

  NormOrder order;
  Norm norm;
  std::optional<Norm> output_norm = {};
  float dropout;
};

}  // namespace qkv
