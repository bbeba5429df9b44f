// A call of attention() compared with the reference.
//
//     const Drawn call = draw(17, DType::f32);
//     const std::vector<Tensor> got = results(call);
//     EXPECT_EQ(excess_error(call, got), "");
#pragma once

#include <string>
#include <vector>

#include "test/attention_random_test/draw.h"

namespace qkv::test {

struct Inputs {
  Tensor q, k, v, dout;
};

// out, weights, lse, dq, dk, dv, and the gradients of the parameters that ask for one, in f32.
std::vector<Tensor> results(const Drawn& call);
// Of these rows of the batch; `inputs` has them alone.
std::vector<Tensor> results(const Drawn& call, const Inputs& inputs, const BatchRows& rows);

// out, weights and lse without a tape: few queries have a pass of their own then.
std::vector<Tensor> outputs(const Drawn& call);
std::vector<Tensor> outputs(const Drawn& call, const Inputs& inputs, const BatchRows& rows);

// The first result whose error is above twice the error of the plain computation in the type of the inputs, plus two
// standard deviations of the error that rounding explains, and plus what underflow explains; "" if there is none.
std::string excess_error(const Drawn& call, const std::vector<Tensor>& got);

// The first query without weights that has anything but zeros, and -infinity for lse; "" if there is none.
std::string nonzero_empty_row(const Drawn& call, const std::vector<Tensor>& got);

}  // namespace qkv::test
