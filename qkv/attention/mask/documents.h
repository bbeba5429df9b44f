// Document mask: several documents packed into one sequence; a query attends to the keys of its own document.
//
//     visible(b, i, j)  <=>  of_queries[b, i] == of_keys[b, j]      (B, T) and (B, S), i32; B may be 1
//
//     Tensor y = attention(q, k, v, {.mask = causal() & documents(ids)});
//
// Ids need not be sorted or contiguous. Tiles without a common document are skipped, so contiguous documents cost
// as much as separate calls. Errors: ids of another shape or type.
#pragma once

#include "qkv/attention/mask/mask.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

MaskPtr documents(const Tensor& of_queries, const Tensor& of_keys);
inline MaskPtr documents(const Tensor& ids) { return documents(ids, ids); }

}  // namespace qkv
