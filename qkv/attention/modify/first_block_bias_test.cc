#include "qkv/attention/modify/first_block_bias.h"

#include "qkv/attention/modify/modifier_test.h"
#include "qkv/base/error.h"

namespace qkv::first_block_bias_test {

using namespace test;

TEST(FirstBlockBias, EqualsItsFormulaInEveryInput) {
  const AttentionShape n{.B = 2, .H = 2, .G = 1, .T = 6, .S = 8, .D = 3, .E = 2};
  for (const bool is_causal : {false, true})
    check_op("first_block_bias",
             {random_tensor({2, 2, 6, 3}, 1), random_tensor({2, 1, 8, 3}, 2), random_tensor({2, 1, 8, 2}, 3)},
             [&](const Variables& x) {
               return attention(x[0], x[1], x[2],
                                {.modify = {first_block_bias(3, 2)}, .mask = is_causal ? causal() : MaskPtr()});
             },
             modified(n, is_causal, [](const Doubles&) { return reference::first_block_bias(3, 2); }),
             {.value = 2e-6, .gradient = 1e-5, .strided = false});
}

TEST(FirstBlockBias, AddsToItsPartOfEveryTile) {
  uint64_t stream = 0;
  for (const AttentionShape& n : modifier_shapes())
    for (const int64_t block : {1, 16, 50, 130, 1000})
      check_modifier(n, first_block_bias(block, 3), reference::first_block_bias(block, 3),
                     {.is_causal = block % 3 == 0, .stream = stream += 10});
}

// 4 blocks of 5: with 3 more copies of block 0 among the keys, the queries of blocks 1 and 2 get the same output.
TEST(FirstBlockBias, CountsTheKeysOfBlockZeroOnceMoreForEachCopy) {
  const Tensor q = random_tensor({1, 2, 20, 4}, 1), k = random_tensor({1, 2, 20, 4}, 2),
               v = random_tensor({1, 2, 20, 3}, 3);
  const auto with_copies = [](const Tensor& x) {
    Tensor all = Tensor::empty({1, 2, 35, x.dim(3)});
    all.slice(2, 0, 20).copy_from(x);
    for (int64_t copy = 0; copy < 3; ++copy) all.slice(2, 20 + 5 * copy, 25 + 5 * copy).copy_from(x.slice(2, 0, 5));
    return all;
  };
  const auto inner = [](const Tensor& x) { return x.slice(2, 5, 15); };
  const Tensor biased = attention(q, k, v, {.modify = {first_block_bias(5, 3)}}),
               copied = attention(q, with_copies(k), with_copies(v)), plain = attention(q, k, v);
  EXPECT_LT(largest_difference(inner(biased), inner(copied)), 1e-6);
  EXPECT_TRUE(same_bits(biased.slice(2, 0, 5), plain.slice(2, 0, 5)));
  EXPECT_TRUE(same_bits(biased.slice(2, 15, 20), plain.slice(2, 15, 20)));
}

TEST(FirstBlockBias, HasANameAndRejectsInvalidNumbers) {
  EXPECT_EQ(first_block_bias(64, 3)->name(), "first_block_bias(64, 3)");
  EXPECT_EQ(error_of([] { first_block_bias(0, 3); }), "first_block_bias: the block must be positive, got 0");
  EXPECT_EQ(error_of([] { first_block_bias(4, -1); }),
            "first_block_bias: the number of copies must not be negative, got -1");
}

}  // namespace qkv::first_block_bias_test
