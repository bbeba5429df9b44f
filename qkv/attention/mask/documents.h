// Documents: several texts packed into one row; a query looks only at keys of its own text.
//
//     visible(b, i, j)  <=>  of_queries[b, i] == of_keys[b, j]      (B, T) and (B, S), i32; B may be 1
//
//     Tensor y = attention(q, k, v, {.mask = causal() & documents(ids)});
//
// Numbers need not be sorted, and a text may come in pieces. Tiles that no text shares are skipped, so texts that
// stand one after the other cost what they would cost alone.
#pragma once

#include "qkv/attention/mask/mask.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

MaskPtr documents(const Tensor& of_queries, const Tensor& of_keys);
inline MaskPtr documents(const Tensor& ids) { return documents(ids, ids); }

}  // namespace qkv
