// Attention as its formulas say, forward and backward, one pair after the other, with nothing fused and nothing
// clever: in float64 it is the truth, in the type of the inputs the measure of how much error is fair.
#pragma once

#include <string>
#include <vector>

#include "test/attention_random_test/draw.h"

namespace qkv::test {

enum class Precision {
  exact,   // float64
  single,  // float32
  bf16,    // float32 within a sum, and every number that is kept between two steps rounded to bfloat16
};

// One tensor: its numbers, and how large an error is that rounding every number on the way explains, in units of
// the rounding of 1. It is at least the largest number; where large terms cancel it is of their size. (Exact
// alone.)
struct Numbers {
  std::string name;
  std::vector<double> values;
  double size = 0;
};

// out, weights, lse, dq, dk, dv, then the gradients of call.learnt_parameters().
std::vector<Numbers> plain_attention(const Drawn& call, Precision precision);

}  // namespace qkv::test
