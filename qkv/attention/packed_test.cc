#include "qkv/attention/packed.h"

#include <gtest/gtest.h>

#include "qkv/attention/mask/causal.h"
#include "qkv/attention/normalize/softmax.h"
#include "qkv/attention/score/additive.h"
#include "qkv/base/error.h"
#include "qkv/test_support/tensors.h"

namespace qkv::packed_test {

using namespace test;

const Offsets q_offsets = {0, 3, 3, 90, 231}, k_offsets = {0, 7, 12, 99, 230};  // the second has no query

// Rows [begin, end) of a packed tensor as the input of a separate call: (1, H, rows, D).
Variable alone(const Tensor& x, int64_t begin, int64_t end) {
  return Variable(x.slice(0, begin, end).clone().reshape({1, end - begin, x.dim(1), x.dim(2)}).transpose(1, 2),
                  {.requires_grad = true});
}

void expect_separate_calls(DType dtype, const AttentionOptions& options) {
  const auto draw = [&](const Shape& shape, uint64_t stream) {
    return Variable(random_tensor(shape, stream).to(dtype), {.requires_grad = true});
  };
  const Variable q = draw({231, 4, 24}, 1), k = draw({230, 2, 24}, 2), v = draw({230, 2, 16}, 3);
  const Tensor dout = random_tensor({231, 4, 16}, 4).to(dtype);
  const Variable out = attention_packed(q, k, v, q_offsets, k_offsets, options);
  out.backward(dout);
  for (size_t n = 0; n + 1 < q_offsets.size(); ++n) {
    const int64_t a = q_offsets[n], b = q_offsets[n + 1], c = k_offsets[n], d = k_offsets[n + 1];
    if (a == b) continue;
    const Variable q1 = alone(q.value(), a, b), k1 = alone(k.value(), c, d), v1 = alone(v.value(), c, d);
    const Variable y = attention(q1, k1, v1, options);
    y.backward(alone(dout, a, b).value());
    const auto packed = [](const Tensor& x) {
      return x.transpose(1, 2).contiguous_copy().reshape({x.dim(2), x.dim(1), x.dim(3)});
    };
    EXPECT_TRUE(same_bits(out.value().slice(0, a, b), packed(y.value()))) << "sequence " << n;
    EXPECT_TRUE(same_bits(q.grad().slice(0, a, b), packed(q1.grad()))) << "sequence " << n;
    EXPECT_TRUE(same_bits(k.grad().slice(0, c, d), packed(k1.grad()))) << "sequence " << n;
    EXPECT_TRUE(same_bits(v.grad().slice(0, c, d), packed(v1.grad()))) << "sequence " << n;
  }
  const Tensor unseen =
      k.grad().slice(0, 7, 12).to(DType::f32).contiguous_copy();  // keys of a sequence without queries
  for (const float x : unseen.span<float>()) EXPECT_EQ(x, 0.0f);
}

TEST(AttentionPacked, EverySequenceHasTheBitsOfASeparateCall) {
  expect_separate_calls(DType::f32, {});
  expect_separate_calls(DType::f32, {.mask = causal()});
  expect_separate_calls(DType::bf16, {.mask = causal()});
}

TEST(AttentionPacked, ParametersGetTheGradientsOfAllSequences) {
  const Tensor q = random_tensor({231, 4, 24}, 1), k = random_tensor({230, 2, 24}, 2),
               v = random_tensor({230, 2, 16}, 3), dout = random_tensor({231, 4, 16}, 4),
               values = random_tensor({4}, 5);
  const Variable sink(values, {.requires_grad = true}), again(values, {.requires_grad = true});
  attention_packed(Variable(q), Variable(k), Variable(v), q_offsets, k_offsets,
                   {.normalize = softmax_with_sink(sink)})
      .backward(dout);
  for (size_t n = 0; n + 1 < q_offsets.size(); ++n) {
    const int64_t a = q_offsets[n], b = q_offsets[n + 1], c = k_offsets[n], d = k_offsets[n + 1];
    if (a == b) continue;
    attention(alone(q, a, b), alone(k, c, d), alone(v, c, d), {.normalize = softmax_with_sink(again)})
        .backward(alone(dout, a, b).value());
  }
  for (int64_t h = 0; h < 4; ++h) EXPECT_NEAR(sink.grad().at<float>({h}), again.grad().at<float>({h}), 1e-4);
}

TEST(AttentionPacked, NamesTheWrongOffset) {
  const Tensor x = Tensor::zeros({5, 1, 4});
  const auto message = [&](const Offsets& of_queries, const Offsets& of_keys) {
    try {
      attention_packed(x, x, x, of_queries, of_keys);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(message({0, 5}, {0, 4}),
            "attention_packed: k_offsets must begin with 0 and end with the number of rows, 5");
  EXPECT_EQ(message({0, 3, 2, 5}, {0, 1, 2, 5}),
            "attention_packed: offsets must not decrease: q_offsets[1] is 3 and q_offsets[2] is 2");
  EXPECT_EQ(message({0, 5}, {0, 1, 5}), "attention_packed: q_offsets has 2 numbers, k_offsets has 3");
}

}  // namespace qkv::packed_test
