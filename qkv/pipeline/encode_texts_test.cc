#include "qkv/pipeline/encode_texts.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace qkv::encode_texts_test {

TEST(EncodeTexts, NamesEveryTextThatIsRefusedAndEncodesTheOthers) {
  std::vector<int> encoded(100);
  const auto encode = [&](size_t i) {
    require<InputError>(i != 17 && i != 60, "tokenizer", "no {}", i);
    encoded[i] = 1;
  };
  try {
    encode_texts(100, "line", encode);
    FAIL();
  } catch (const RefusedTexts& e) {
    EXPECT_STREQ(e.what(), "line 18: no 17");
    ASSERT_EQ(e.texts().size(), 2u);
    EXPECT_EQ(e.texts()[1].index, 60u);
    EXPECT_EQ(e.texts()[1].reason, "no 60");
  }
  EXPECT_EQ(std::count(encoded.begin(), encoded.end(), 1), 98);
  EXPECT_THROW(encode_texts(2, "line", [](size_t) { fail<UsageError>("tokenizer", "an option"); }), UsageError);
  encode_texts(0, "line", encode);
}

TEST(InputLimit, IsTheLimitOfTheModelUnlessGiven) {
  TransformerConfig config;
  config.max_positions = 60;
  EXPECT_EQ(input_limit(config, 0), 60);
  EXPECT_EQ(input_limit(config, 7), 7);
  EXPECT_THROW(input_limit(config, 61), UsageError);
  EXPECT_THROW(input_limit(config, -1), UsageError);
  config.positions = Positions::rotary;
  EXPECT_EQ(input_limit(config, 0), 4096);
  config.context_length = 128;
  EXPECT_EQ(input_limit(config, 0), 128);
  EXPECT_EQ(input_limit(config, 10'000), 10'000);
}

}  // namespace qkv::encode_texts_test
