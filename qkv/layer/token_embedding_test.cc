#include "qkv/layer/token_embedding.h"

#include <cmath>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/layer/layer_test.h"
#include "qkv/layer/sinusoidal_positions.h"
#include "qkv/op/arithmetic.h"
#include "qkv/op/position.h"

namespace qkv::token_embedding_test {

using namespace test;

const Tensor ids = Tensor::from(std::vector<int32_t>{3, 1, 0, 2, 2, 4}, {2, 3});

Parameter table_of(int64_t V, int64_t C) {
  Parameter table = embedding_table(V, C);
  table.mutable_value().copy_from(random_tensor({V, C}, 1));
  return table;
}

TEST(TokenEmbedding, AddsScaledRowsPositionsAndTypesThenNormalises) {
  TokenEmbedding embedding(table_of(5, 4), {.scale = 2.0f,
                                            .positions = PositionTable::learned,
                                            .max_positions = 9,
                                            .position_offset = 2,
                                            .types = 3,
                                            .norm = NormOptions{.eps = 1e-3f}});
  randomise(embedding, 3);
  const Tensor types = Tensor::from(std::vector<int32_t>{0, 1, 2, 2, 0, 1}, {2, 3});
  Pass pass;
  const Tensor y = embedding.forward(ids, {.first_position = 4, .types = types}, pass).value();
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t t = 0; t < 3; ++t) {
      double x[4], mean = 0, variance = 0;
      for (int64_t c = 0; c < 4; ++c) {
        x[c] = 2.0 * embedding.table.value().at<float>({ids.at<int32_t>({b, t}), c}) +
               embedding.positions.value().at<float>({4 + t + 2, c}) +
               embedding.types.value().at<float>({types.at<int32_t>({b, t}), c});
        mean += x[c] / 4;
      }
      for (const double v : x) variance += (v - mean) * (v - mean) / 4;
      for (int64_t c = 0; c < 4; ++c)
        EXPECT_NEAR(y.at<float>({b, t, c}),
                    (x[c] - mean) / std::sqrt(variance + 1e-3) * embedding.norm->weight.value().at<float>({c}) +
                        embedding.norm->bias.value().at<float>({c}),
                    1e-5);
    }
  EXPECT_EQ(names_of(embedding, ""), (std::vector<std::string>{"positions", "types", "norm.weight", "norm.bias"}));
}

TEST(TokenEmbedding, ATableOfAnotherWidthIsProjectedBeforePositionsAreAdded) {
  TokenEmbedding embedding(
      table_of(5, 4), {.width = 6, .positions = PositionTable::learned, .max_positions = 9, .position_offset = 2});
  randomise(embedding, 3);
  Pass pass;
  const Tensor y = embedding.forward(ids, {.first_position = 4}, pass).value();
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t t = 0; t < 3; ++t)
      for (int64_t c = 0; c < 6; ++c) {
        double x = embedding.positions.value().at<float>({4 + t + 2, c});
        for (int64_t e = 0; e < 4; ++e)
          x += embedding.projection->weight.value().at<float>({c, e}) *
               embedding.table.value().at<float>({ids.at<int32_t>({b, t}), e});
        EXPECT_NEAR(y.at<float>({b, t, c}), x, 1e-5);
      }
  EXPECT_EQ(names_of(embedding, ""), (std::vector<std::string>{"positions", "projection.weight"}));
}

TEST(TokenEmbedding, GradientsReachEveryTable) {
  TokenEmbedding embedding(table_of(5, 4), {.positions = PositionTable::learned, .max_positions = 9, .types = 2});
  Pass pass;
  const Variable y = embedding.forward(ids, {}, pass);
  sum(multiply(y, y)).backward();
  for (const Parameter* p : {&embedding.table, &embedding.positions, &embedding.types})
    EXPECT_GT(largest_difference(p->grad(), Tensor::zeros(p->shape())), 1e-3);
}

TEST(TokenEmbedding, SinusoidsAreTheTableOfTheirLayoutAtEveryPosition) {
  for (const SinusoidLayout layout :
       {SinusoidLayout::interleaved, SinusoidLayout::halves, SinusoidLayout::tensor2tensor}) {
    const Parameter table = table_of(5, 8);
    const TokenEmbedding formula(table, {.positions = PositionTable::sinusoidal,
                                         .sinusoids = layout,
                                         .max_positions = int64_t{1} << 24});  // as a table: 512 MB
    const TokenEmbedding learned(table, {.positions = PositionTable::learned, .max_positions = 4300});
    Tensor(learned.positions.value()).copy_from(sinusoidal(4300, 8, {.layout = layout}));
    Pass pass;
    for (const int64_t position : {0, 4093, 4094, 4095, 4096, 4200})
      EXPECT_TRUE(same_bits(formula.forward(ids, {.first_position = position}, pass).value(),
                            learned.forward(ids, {.first_position = position}, pass).value()))
          << name_of(layout) << " " << position;
  }
}

TEST(TokenEmbedding, RefusesPositionsBeyondItsTable) {
  const TokenEmbedding embedding(table_of(5, 4), {.positions = PositionTable::learned, .max_positions = 9});
  Pass pass;
  EXPECT_NO_THROW(embedding.forward(ids, {.first_position = 6}, pass));
  EXPECT_THROW(embedding.forward(ids, {.first_position = 7}, pass), Error);
}

TEST(SinusoidalPositions, StoresAsManyAsAreUsed) {
  const SinusoidalPositions positions(8, 1 << 20);
  const auto stored = [](const SinusoidalPositions& of, int64_t first, int64_t count) {
    return of.rows(first, count).first.dim(0);
  };
  EXPECT_EQ(stored(positions, 0, 256), 256);
  EXPECT_EQ(stored(positions, 200, 57), 1024);
  EXPECT_EQ(stored(positions, 0, 4096), 4096);
  EXPECT_EQ(stored(positions, 4000, 97), 97) << "of the call";
  EXPECT_EQ(stored(SinusoidalPositions(8, 100), 0, 100), 100);
  EXPECT_EQ(stored(SinusoidalPositions(8, 300), 0, 257), 300);
}

}  // namespace qkv::token_embedding_test
