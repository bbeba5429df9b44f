// What calls of attention() compute and move, for profiles (autograd/profile.h): nothing is counted without one.
//
//     count_work(forward_work(std::span(&call, 1)));
//
// Operations are those of the visible pairs: a score and 2 E each, 2.5 times as many in a backward.
#pragma once

#include <span>

#include "qkv/attention/engine/call.h"
#include "qkv/autograd/profile.h"

namespace qkv::internal {

OpWork forward_work(std::span<const AttentionCall> calls);
OpWork backward_work(OpWork forward);

}  // namespace qkv::internal
