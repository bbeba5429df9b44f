// A weight matrix packed for the matrix product; cached until the weight changes.
//
//     kernel::PackedMatrix right = packed_transposed(w);     // x W^T is matmul(x, right, ...)
//     keep_packed(w);                                        // for inference: only the packed form of w remains
//
// A weight that is kept packed is a right-hand side of linear(), linear_cross_entropy() and recurrences and a table of
// embedding() as before, with the same results in half of the memory. Its value() has a shape but no numbers, and
// gradients that pass through it are an error.
#pragma once

#include "qkv/autograd/variable.h"
#include "qkv/kernel/matmul.h"

namespace qkv {

// w (N, K). transposed: the right-hand side W^T (K x N) of the forward; plain: W (N x K) of the backward.
kernel::PackedMatrix packed_transposed(const Variable& w);
kernel::PackedMatrix packed_plain(const Variable& w);

void keep_packed(Variable& w);  // not while another thread uses w
bool is_kept_packed(const Variable& w);
Tensor unpacked(const Variable& w);  // the value of any variable, a copy if it is kept packed

}  // namespace qkv
