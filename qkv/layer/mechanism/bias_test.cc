#include "qkv/layer/mechanism/bias.h"

#include <gtest/gtest.h>

#include "qkv/attention/mask/causal.h"
#include "qkv/attention/modify/bias.h"
#include "qkv/layer/attention_part.h"
#include "qkv/layer/layer_test.h"

namespace qkv::bias_test {

using namespace test;

// As bias() of the whole (1,H,T,S), zero beyond the table: value, and gradients of the table and the queries.
TEST(Bias, IsABiasByPositionsThatEndsWithItsTable) {
  constexpr int64_t H = 2;
  for (const auto& [positions, length] :
       {std::pair<int64_t, int64_t>{6, 9}, {9, 9}, {20, 9}, {150, 200}, {70, 300}}) {
    SCOPED_TRACE(fmt::format("{} positions of {}", positions, length));
    AttentionPart part(mechanism_of(Bias{positions}), {.d_model = 16, .heads = H, .kv_heads = H, .head_width = 8});
    randomise(part, 5);
    const Variable table = part.parameter(0);
    ASSERT_EQ(table.shape(), (Shape{H, positions, positions}));
    Tensor padded = Tensor::zeros({1, H, length, length});
    const int64_t n = std::min(positions, length);
    for (int64_t h = 0; h < H; ++h)
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j)
          padded.data<float>()[(h * length + i) * length + j] = table.value().at<float>({h, i, j});
    const Variable whole(padded, {.requires_grad = true});

    const Tensor k = random_tensor({3, H, length, 8}, 2), v = random_tensor({3, H, length, 8}, 3);
    const Tensor upstream = random_tensor({3, H, length, 8}, 4);
    const auto run = [&](AttentionOptions options) {
      Variable q(random_tensor({3, H, length, 8}, 1), {.requires_grad = true});
      options.mask = causal();
      const Variable y = attention(q, k, v, options);
      y.backward(upstream);
      return std::pair(y.value(), q.grad());
    };
    const auto [y, dq] = run(attention_options(std::span(&part, 1)));
    const auto [expected, expected_dq] = run({.modify = {bias(whole)}});
    EXPECT_TRUE(same_bits(y, expected));
    EXPECT_TRUE(same_bits(dq, expected_dq));
    for (int64_t h = 0; h < H; ++h)
      for (int64_t i = 0; i < positions; ++i)
        for (int64_t j = 0; j < positions; ++j)
          ASSERT_EQ(table.grad().at<float>({h, i, j}), i < n && j < n ? whole.grad().at<float>({0, h, i, j}) : 0.0f)
              << i << " " << j;
  }
}

TEST(Bias, ADecodingStepHasTheBiasOfItsPosition) {
  AttentionPart part(mechanism_of(Bias{6}), {.d_model = 16, .heads = 2, .kv_heads = 2, .head_width = 8});
  randomise(part, 5);
  const AttentionOptions options = attention_options(std::span(&part, 1));
  const Tensor q = random_tensor({1, 2, 1, 8}, 1), k = random_tensor({1, 2, 9, 8}, 2);
  for (const int64_t length : {1, 5, 6, 7, 9}) {  // the query is at length - 1
    Tensor row = Tensor::zeros({1, 2, 1, length});
    for (int64_t h = 0; h < 2; ++h)
      for (int64_t j = 0; j < length && length <= 6; ++j)
        row.data<float>()[h * length + j] = part.parameter(0).value().at<float>({h, length - 1, j});
    const Tensor keys = k.slice(2, 0, length).contiguous_copy();
    EXPECT_LT(
        largest_difference(attention(q, keys, keys, options), attention(q, keys, keys, {.modify = {bias(row)}})),
        1e-6)
        << length;
  }
}

}  // namespace qkv::bias_test
