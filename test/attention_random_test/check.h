// A call of attention() held against the plain computation.
//
//     const Drawn call = draw(17, DType::f32);
//     const std::vector<Tensor> got = results(call);
//     EXPECT_EQ(unfair_error(call, got), "");
#pragma once

#include <string>
#include <vector>

#include "test/attention_random_test/draw.h"

namespace qkv::test {

Tensor as_float(const Tensor& x);  // contiguous f32

struct Inputs {
  Tensor q, k, v, dout;
};

// What a call gives, forward and backward: as plain_attention() lists it, in f32.
std::vector<Tensor> results(const Drawn& call);
std::vector<Tensor> results(const Drawn& call, const Inputs& inputs, const AttentionOptions& options);

// out, weights and lse without a tape: few queries have a pass of their own then.
std::vector<Tensor> outputs(const Drawn& call);
std::vector<Tensor> outputs(const Inputs& inputs, const AttentionOptions& options);

// The first result whose error is more than twice that of the plain computation in the type of the inputs; or "".
std::string unfair_error(const Drawn& call, const std::vector<Tensor>& got);

// The first query that sees no key and has something else than zeros, and minus infinity for lse; or "".
std::string nonzero_empty_row(const Drawn& call, const std::vector<Tensor>& got);

}  // namespace qkv::test
