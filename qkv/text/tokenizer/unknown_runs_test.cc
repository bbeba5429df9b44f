#include "qkv/text/tokenizer/unknown_runs.h"

#include <gtest/gtest.h>
#include <sentencepiece_processor.h>

#include "qkv/text/sentencepiece_check.h"
#include "qkv/text/tokenizer.h"

namespace qkv::unknown_runs_test {

std::string many(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

class UnknownRunsOf : public testing::TestWithParam<TokenizerType> {};
INSTANTIATE_TEST_SUITE_P(EveryType, UnknownRunsOf,
                         testing::Values(TokenizerType::unigram, TokenizerType::bpe, TokenizerType::character));

TEST_P(UnknownRunsOf, AreCutAndTheIdsStay) {
  const std::vector<std::string> sentences(20, "the cat sat on the mat");
  const Tokenizer tokenizer = Tokenizer::train(sentences, {.type = GetParam(), .vocabulary_size = 25});
  sentencepiece::SentencePieceProcessor processor;
  ASSERT_TRUE(processor.LoadFromSerializedProto(tokenizer.serialized()).ok());
  const UnknownRuns runs(processor, sentencepiece_rules(tokenizer.serialized()), 5);
  // \u4e2d stays as it is, \uff43 becomes c, \uff22 and \u3000 are changed, \xff is not a character.
  for (const std::string& text :
       {"the " + many("\u4e2d", 100) + " cat", many("\u4e2d\u6587", 30) + "\uff43\uff22" + many("\u4e2d", 40),
        "cat" + many("\u4e2d", 10) + "cat" + many("\u4e2d", 11) + "\u3000" + many("\u4e2d", 50),
        many("the \u4e2d ", 30), many("\u4e2d", 20) + "\xff" + many("\u4e2d", 20), many("A", 50) + "\u0300",
        many("A", 10) + "\u0300" + many("<", 30), many("\xff", 50), many("\xe4\xb8", 50)}) {
    const std::string shortened = runs.shortened(text);
    std::vector<int> expected, ids;
    ASSERT_TRUE(processor.Encode(text, &expected).ok());
    ASSERT_TRUE(processor.Encode(shortened, &ids).ok());
    EXPECT_EQ(ids, expected) << text;
    EXPECT_EQ(tokenizer.encode(text), std::vector<int32_t>(expected.begin(), expected.end()));
  }
  EXPECT_EQ(runs.shortened(many("\u4e2d", 100)), many("\u4e2d", 10));
  EXPECT_EQ(runs.shortened(many("\u4e2d", 10)), many("\u4e2d", 10));
  EXPECT_EQ(runs.shortened(many("Z", 100) + " "), many("Z", 10) + " ")
      << "though a Z with a mark is another letter";
  EXPECT_EQ(runs.shortened(many("\uff43", 100)), many("\uff43", 100)) << "normalisation makes it a c";
}

TEST(UnknownRuns, AModelWithByteFallbackKnowsAllCharacters) {
  const std::vector<std::string> sentences(20, "the cat sat on the mat");
  const Tokenizer tokenizer = Tokenizer::train(sentences, {.vocabulary_size = 300, .lossless = true});
  const std::string text = many("\u4e2d", 1000);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
}

}  // namespace qkv::unknown_runs_test
