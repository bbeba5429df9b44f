#include "qkv/layer/attention_pattern.h"

#include <functional>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/layer/attention_variant_text.h"

namespace qkv::attention_pattern_test {

std::string error(const std::string& text) {
  try {
    attention_pattern(text, "--self-attention");
    return "";
  } catch (const UsageError& e) {
    return e.what();
  }
}

TEST(AttentionPattern, IsRepeatedOverTheLayers) {
  const AttentionPattern pattern = {{Full{}, 1}, {SlidingWindow{64} + Softcap{}, 3}};
  for (int64_t n = 0; n < 20; ++n)
    EXPECT_EQ(pattern.of_layer(n), n % 4 == 0 ? AttentionVariant() : SlidingWindow{64} + Softcap{}) << n;
  EXPECT_THROW(pattern.of_layer(-1), Error);
}

TEST(AttentionPattern, AVariantAppliesToEveryLayer) {
  const AttentionPattern none, window = SlidingWindow{64}, both = SlidingWindow{64} + Softcap{};
  for (const int64_t n : {0, 1, 999}) {
    EXPECT_EQ(none.of_layer(n), Full{});
    EXPECT_EQ(window.of_layer(n), SlidingWindow{64});
    EXPECT_EQ(both.of_layer(n), SlidingWindow{64} + Softcap{});
  }
}

TEST(AttentionPattern, IsReadAndWritten) {
  for (const char* text : {"full", "window=64", "full,window=64*3", "window=64*5,full",
                           "additive=10*2,bilinear+alibi*7", "full,window=1,full,window=2"}) {
    const AttentionPattern pattern = attention_pattern(text);
    EXPECT_EQ(to_string(pattern), text);
    EXPECT_EQ(attention_pattern(to_string(pattern)), pattern);
  }
  EXPECT_EQ(to_string(attention_pattern("full*1,window=64*3")), "full,window=64*3");
  EXPECT_EQ(attention_pattern("full*1,window=64*3"), (AttentionPattern{{Full{}, 1}, {SlidingWindow{64}, 3}}));
}

TEST(AttentionPattern, JoinsAdjacentGroupsOfTheSameVariant) {
  EXPECT_EQ(to_string(attention_pattern("window=64*2,window=64,full")), "window=64*3,full");
  EXPECT_EQ(attention_pattern("softcap,softcap=50"), Softcap{}) << "every layer";
  EXPECT_EQ(attention_pattern("window=64*3"), SlidingWindow{64}) << "repeated anyway";
  EXPECT_NE(attention_pattern("full,window=64*3"), attention_pattern("window=64*3,full"));
  EXPECT_NE(attention_pattern("full,window=64*3"), attention_pattern("full,window=64*2"));
}

TEST(AttentionPattern, ErrorsSayWhereAndWhat) {
  EXPECT_EQ(error("window"), "--self-attention: 'window': radius is missing: window=radius");
  EXPECT_EQ(error("full,window"), "--self-attention: group 2: 'window': radius is missing: window=radius");
  EXPECT_NE(error("full,widow=3*2").find("--self-attention: group 2: unknown mechanism 'widow', must be one of"),
            std::string::npos);
  EXPECT_NE(error("").find("--self-attention: unknown mechanism ''"), std::string::npos);
  EXPECT_NE(error("full,").find("--self-attention: group 2: unknown mechanism ''"), std::string::npos);
  EXPECT_NE(error("full,,full").find("--self-attention: group 2: unknown mechanism ''"), std::string::npos);
  EXPECT_NE(error("*3").find("--self-attention: unknown mechanism ''"), std::string::npos);
  for (const char* count : {"", "0", "-1", "x", "1.5", "1001", "99999999999999999999", " 2"})
    EXPECT_EQ(
        error(std::string("full,window=3*") + count),
        fmt::format("--self-attention: group 2: 'window=3*{}': the number of layers after * must be an integer "
                    "from 1 to 1000, got '{}'",
                    count, count));
  EXPECT_NE(error("window=3*2*2").find("radius must be an integer from 0 to 16777216, got '3*2'"),
            std::string::npos);
  EXPECT_EQ(error("full*999,full*2,alibi"),
            "--self-attention: 'full' must have 1 to 1000 adjacent layers, got 1001");
  EXPECT_THROW((AttentionPattern{{Full{}, 0}}), UsageError);
  EXPECT_THROW(AttentionPattern(std::vector<AttentionPattern::Group>()), UsageError);
}

}  // namespace qkv::attention_pattern_test
