// A sublayer in its residual connection, post-LN or pre-LN:
//
//     post-LN   y = norm(x + dropout(sublayer(x)))      Vaswani et al., 2017, section 3.1
//     pre-LN    y = x + dropout(sublayer(norm(x)))      Xiong et al., "On Layer Normalization", 2020
#pragma once

#include "qkv/base/names.h"
#include "qkv/layer/norm.h"
#include "qkv/layer/pass.h"
#include "qkv/op/dropout.h"

namespace qkv {

enum class NormOrder { post, pre };
constexpr auto names_of(NormOrder) {
  return std::array{Named{NormOrder::post, "post"}, Named{NormOrder::pre, "pre"}};
}

struct Residual {
  NormOrder order = NormOrder::post;
  float dropout = 0.0f;

  template <class Sublayer>
  Variable operator()(const Variable& x, const LayerNorm& norm, Pass& pass, Sublayer sublayer) const {
    if (order == NormOrder::pre) {
      const Variable y = sublayer(norm.forward(x));
      return dropout_add(y, x, pass.dropout(dropout));
    }
    const Variable y = sublayer(x);
    return norm.forward(dropout_add(y, x, pass.dropout(dropout)));
  }
};

}  // namespace qkv
