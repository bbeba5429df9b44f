// Attention over keys that come in parts: the outputs over each part, merged into the output over all of them.
//
//     AttentionForward f = merge({attention_forward(q, k1, v1), attention_forward(q, k2, v2)});     // f.out over both
//     AttentionGradients g = attention_backward(f, q, k1, v1, dout);       // g.dk, g.dv of the first part; g.dq is its share
//
//     m = max_p m_p,   l = sum_p exp(m_p - m) l_p,   out = sum_p exp(m_p - m) l_p / l out_p
//
// for the maximum m_p and the sum l_p of the exponentials of part p, in the order of the parts. A query that sees no key of a
// part takes nothing from it; one that sees none at all has zeros, as ever. Sums are f32.
// Not for softmax_with_sink(), whose sink each part would count. distributed_attention() does all of this by itself.
// Errors   Error: no parts, or parts of different shapes or types.
#pragma once

#include <vector>

#include "qkv/attention/forward_backward.h"

namespace qkv {

AttentionForward merge(const std::vector<AttentionForward>& parts);

}  // namespace qkv
