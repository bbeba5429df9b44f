// Mechanisms of published Longformer and BigBird models, which see a whole sequence.
#include <cmath>

#include <gtest/gtest.h>

#include "qkv/attention/mask/padding.h"
#include "qkv/attention/mask/window.h"
#include "qkv/layer/attention_layer_test.h"
#include "qkv/layer/mechanism/bigbird_evaluation.h"
#include "qkv/layer/mechanism/falcon_alibi.h"
#include "qkv/layer/mechanism/global_tokens.h"
#include "qkv/layer/mechanism/longformer_separate.h"
#include "qkv/layer/mechanism/mask.h"
#include "qkv/test_support/tensors.h"

namespace qkv::encoder_mechanisms_test {

using namespace test;

Tensor tokens_of(const std::vector<std::vector<int32_t>>& rows) {
  std::vector<int32_t> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  return Tensor::from(all, {std::ssize(rows), std::ssize(rows.front())});
}

template <class Separate>
void expect_first_tokens_as_positions(const Separate& by_position, const Separate& by_token) {
  const MultiHeadAttention first = layer_of(options_of(by_position, AttentionUse::encoder)),
                           given = layer_of(options_of(by_token, AttentionUse::encoder));
  const Tensor x = random_tensor({2, 9, 16}, 1);
  const MaskPtr mask = padding({9, 6});
  Pass plain,
      with_tokens = {.input =
                         GlobalTokens{tokens_of(std::vector(2, std::vector<int32_t>{1, 1, 0, 0, 0, 0, 0, 0, 0}))}};
  EXPECT_LT(largest_difference(first.forward(x, mask, plain).value(), given.forward(x, mask, with_tokens).value()),
            1e-6);
  EXPECT_GT(largest_difference(first.forward(x, mask, plain).value(), given.forward(x, mask, plain).value()), 1e-3);
}

TEST(GlobalTokens, AreAsTheFirstPositionsWhereTheyAreThem) {
  expect_first_tokens_as_positions(LongformerSeparate{.radius = 1, .globals = 2}, LongformerSeparate{.radius = 1});
  expect_first_tokens_as_positions(Longformer{.radius = 1, .globals = 2}, Longformer{.radius = 1});
}

TEST(GlobalTokens, DifferFromRowToRow) {
  const MultiHeadAttention layer = layer_of(options_of(LongformerSeparate{.radius = 1}, AttentionUse::encoder));
  const Tensor x = random_tensor({2, 7, 16}, 1), tokens = tokens_of({{0, 0, 1, 0, 0, 1, 0}, {1, 0, 0, 0, 0, 0, 0}});
  Pass both = {.input = GlobalTokens{tokens}};
  const Tensor batch = layer.forward(x, padding({7, 5}), both).value();
  for (int64_t b = 0; b < 2; ++b) {
    const int32_t length = b == 0 ? 7 : 5;
    Pass alone = {.input = GlobalTokens{tokens.slice(0, b, b + 1).slice(1, 0, length).contiguous_copy()}};
    const Tensor row = x.slice(0, b, b + 1).slice(1, 0, length).contiguous_copy();
    EXPECT_LT(largest_difference(layer.forward(row, padding({length}), alone).value(),
                                 batch.slice(0, b, b + 1).slice(1, 0, length)),
              1e-6)
        << "row " << b;
  }
}

TEST(GlobalTokens, AreNotForDecoding) {
  const MultiHeadAttention layer = layer_of(options_of(LongformerSeparate{.radius = 1}, AttentionUse::decoder));
  AttentionCache cache;
  Pass pass = {.input = GlobalTokens{tokens_of({{1}})}};
  EXPECT_THROW(layer.extend(random_tensor({1, 1, 16}, 1), cache, pass), Error);
}

// The keys and values of global positions are projected from their sources, which a memory does not have.
TEST(LongformerSeparate, TakesThreeSourcesAndNoMemory) {
  const MultiHeadAttention layer =
      layer_of(options_of(LongformerSeparate{.radius = 1, .globals = 2}, AttentionUse::encoder));
  const Tensor x = random_tensor({2, 9, 16}, 1);
  Pass pass;
  EXPECT_TRUE(same_bits(layer.forward(x, x, x, padding({9, 6}), pass).value(),
                        layer.forward(x, padding({9, 6}), pass).value()));
  EXPECT_THROW(layer.project(x, x), Error);
}

// The weights of a layer, with the rule written out.
TEST(BigBirdEvaluation, CountsBlockZeroOnceMoreForEachRandomBlock) {
  constexpr int64_t T = 39, block = 4, random = 2, last = (T - 1) / block;
  const MultiHeadAttention full = layer_of(options_of({}, AttentionUse::encoder)),
                           layer = layer_of(options_of(BigBirdEvaluation{block, random}, AttentionUse::encoder));
  const Tensor x = random_tensor({1, T, 16}, 1);
  AttentionLog log, full_log;
  Pass pass = {.log = &log}, full_pass = {.log = &full_log};
  layer.forward(x, {}, pass);
  full.forward(x, {}, full_pass);
  const Tensor got = log.weights(AttentionUse::encoder, 0), all = full_log.weights(AttentionUse::encoder, 0);
  for (int64_t h = 0; h < 4; ++h)
    for (int64_t i = 0; i < T; ++i) {
      const int64_t I = i / block;
      std::vector<double> expected;
      double sum = 0;
      for (int64_t j = 0; j < T; ++j) {
        const int64_t J = j / block;
        const bool ends = I == 0 || I == last, visible = ends || J == 0 || J == last || std::abs(I - J) <= 1;
        const double times = !visible ? 0 : J == 0 && !ends ? 1 + random : 1;
        sum += expected.emplace_back(times * all.at<float>({0, h, i, j}));
      }
      for (int64_t j = 0; j < T; ++j)
        ASSERT_NEAR(got.at<float>({0, h, i, j}), expected[static_cast<size_t>(j)] / sum, 1e-6) << i << " " << j;
    }
}

TEST(BigBirdEvaluation, IsFullInShortSequences) {
  const MultiHeadAttention full = layer_of(options_of({}, AttentionUse::encoder)),
                           layer = layer_of(options_of(BigBirdEvaluation{4, 2}, AttentionUse::encoder));
  const Tensor x = random_tensor({1, 36, 16}, 1);  // 9 blocks of 4
  Pass pass;
  EXPECT_EQ(largest_difference(full.forward(x, {}, pass).value(), layer.forward(x, {}, pass).value()), 0);
}

// Exact in bf16 up to 256 where the slopes are powers of two: then it is ALiBi with slopes divided by sqrt(D).
TEST(FalconAlibi, IsAlibiOfSmallerSlopesWhereItIsNotRounded) {
  const MultiHeadAttention falcon = layer_of(options_of(FalconAlibi{}, AttentionUse::decoder));
  const Tensor x = random_tensor({1, 200, 16}, 1);
  AttentionLog log, plain_log;
  Pass pass = {.log = &log}, plain_pass = {.log = &plain_log};
  falcon.forward(x, window(-1, 0), pass);
  layer_of(options_of({}, AttentionUse::decoder)).forward(x, window(-1, 0), plain_pass);
  const Tensor got = log.weights(AttentionUse::decoder, 0), plain = plain_log.weights(AttentionUse::decoder, 0);
  for (int64_t h = 0; h < 4; ++h) {
    const double slope = std::exp2(-2.0 * static_cast<double>(h + 1)) / 2;  // sqrt(D) is 2
    for (const int64_t i : {5, 77, 199}) {
      double sum = 0;
      for (int64_t j = 0; j <= i; ++j)
        sum += plain.at<float>({0, h, i, j}) * std::exp(slope * static_cast<double>(j - i));
      for (int64_t j = 0; j <= i; ++j)
        ASSERT_NEAR(got.at<float>({0, h, i, j}),
                    plain.at<float>({0, h, i, j}) * std::exp(slope * static_cast<double>(j - i)) / sum, 1e-5);
    }
  }
}

}  // namespace qkv::encoder_mechanisms_test
