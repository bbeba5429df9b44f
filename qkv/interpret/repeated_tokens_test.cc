#include "qkv/interpret/repeated_tokens.h"

#include <set>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/decode/language_model_test.h"

namespace qkv::repeated_tokens_test {

TEST(RepeatedTokens, AreReadTwiceWithTheWeightsOfEveryLayer) {
  const Tokenizer tokenizer = language_model_tokenizer();
  const Generator generator(random_language_model<CausalTransformer>(3, tokenizer), tokenizer);
  const AttentionMaps maps = repeated_tokens(generator, {.length = 9, .seed = 4});
  ASSERT_EQ(maps.columns.size(), 18u);  // the beginning of the text, and all tokens but the last
  EXPECT_EQ(maps.columns[0], tokenizer.token(tokenizer.special().bos));
  EXPECT_EQ(std::set<std::string>(maps.columns.begin() + 1, maps.columns.begin() + 10).size(), 9u);
  for (size_t i = 1; i < 9; ++i) EXPECT_EQ(maps.columns[i], maps.columns[i + 9]);
  for (size_t i = 0; i + 1 < 18; ++i) EXPECT_EQ(maps.rows[i], maps.columns[i + 1]);
  ASSERT_EQ(maps.layers.size(), 2u);
  for (const Tensor& layer : maps.layers) {
    ASSERT_EQ(layer.shape(), (Shape{4, 18, 18}));
    for (int64_t t = 0; t < 18; ++t) {
      double sum = 0;
      for (int64_t s = 0; s <= t; ++s) sum += layer.at<float>({1, t, s});
      EXPECT_NEAR(sum, 1, 1e-5);
    }
  }
  EXPECT_NE(repeated_tokens(generator, {.length = 9, .seed = 5}).columns, maps.columns);
  EXPECT_EQ(repeated_tokens(generator, {.length = 9, .seed = 4}).columns, maps.columns);
}

TEST(RepeatedTokens, FitIntoThePositionsOfTheModel) {
  const Tokenizer tokenizer = language_model_tokenizer();
  const Generator generator(random_language_model<CausalTransformer>(3, tokenizer), tokenizer);  // 60 positions
  EXPECT_EQ(repeated_tokens(generator).columns.size(), 58u);
  EXPECT_EQ(repeated_tokens(generator, {.length = 29}).columns.size(), 58u);
  EXPECT_THROW(repeated_tokens(generator, {.length = 30}), UsageError);
  EXPECT_THROW(repeated_tokens(generator, {.length = 1}), UsageError);
  EXPECT_THROW(repeated_tokens(generator, {.length = -3}), UsageError);
}

}  // namespace qkv::repeated_tokens_test
