// A weight matrix packed for the matrix product; cached until the weight changes.
#pragma once

#include "qkv/autograd/variable.h"
#include "qkv/kernel/matmul.h"

namespace qkv {

// w (N, K). transposed: the right-hand side W^T (K x N) of the forward; plain: W (N x K) of the backward.
kernel::PackedMatrix packed_transposed(const Variable& w);
kernel::PackedMatrix packed_plain(const Variable& w);

}  // namespace qkv
