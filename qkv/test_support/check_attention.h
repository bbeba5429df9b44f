// attention() compared with its reference, values and gradients.
//
//     const AttentionInputs x = random_inputs({.B = 2, .H = 2, .G = 1, .T = 70, .S = 140, .D = 4, .E = 3}, /*stream=*/1);
//     ReferenceCall wanted = x.reference();
//     wanted.modify = {reference::alibi(slopes)};
//     expect_attention(x, {.modify = {alibi(slopes)}}, wanted, {.parameters = {slopes}});
//
// As the formula of check_op():
//
//     [&](const Doubles& x) { return reference_attention(reference_call(n, x)).out.values; }
#pragma once

#include <string>
#include <vector>

#include "qkv/attention/attention.h"
#include "qkv/test_support/gradient_check.h"
#include "qkv/test_support/reference_attention.h"

namespace qkv::test {

struct AttentionInputs {
  Variable q, k, v;
  Tensor dout;

  ReferenceCall reference() const;
};
AttentionInputs random_inputs(const AttentionShape& n, uint64_t stream, DType dtype = DType::f32);

// A call of q, k, v = x[0], x[1], x[2], without dout. The width of the keys follows from the size of k.
ReferenceCall reference_call(const AttentionShape& n, const Doubles& x);

// Expects |got - wanted| <= tolerance * max(0.001, largest |wanted|), and the same infinities.
void expect_reference(const Tensor& got, const ReferenceTensor& wanted, double tolerance, const std::string& what);

struct AttentionCheck {
  Variables parameters = {};             // in the order of ReferenceResult::parameters; empty: not compared
  double value = 3e-6, gradient = 1e-5;  // tolerances
  double parameter_gradient = 1e-5;      // relative to at least 0.1, see expect_close()
};

// out, weights, lse, and the gradients of q, k, v and the parameters; the gradients accumulate in `x`.
void expect_attention(const AttentionInputs& x, const AttentionOptions& options, const ReferenceCall& wanted,
                      const AttentionCheck& check = {});

}  // namespace qkv::test
