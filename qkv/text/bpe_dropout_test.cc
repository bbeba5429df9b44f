#include "qkv/text/bpe_dropout.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/text/utf8.h"

namespace qkv::bpe_dropout_test {

using Ids = std::vector<int32_t>;

std::vector<std::string> corpus() {
  Random random(1);
  std::vector<std::string> words, out;
  for (int i = 0; i < 100; ++i) {
    std::string word;
    for (uint64_t n = 1 + random.below(5); n > 0; --n)
      word += {"bdfgklmnprst"[random.below(12)], "aeiou"[random.below(5)]};
    words.push_back(word + (i % 7 == 0 ? "\u00e9" : ""));
  }
  for (int i = 0; i < 400; ++i) {
    std::string sentence;
    for (uint64_t n = 2 + random.below(8); n > 0; --n)
      sentence += words[random.below(1 + random.below(words.size()))] + (n > 1 ? " " : ".");
    out.push_back(sentence);
  }
  return out;
}

const Tokenizer& bpe() {
  static const Tokenizer tokenizer =
      Tokenizer::train(corpus(), {.type = TokenizerType::bpe, .vocabulary_size = 300});
  return tokenizer;
}

TEST(BpeDropout, AtRateZeroGivesTheIdsOfTheTokenizer) {
  const BpeDropout none(bpe(), 0);
  Random random(1);
  for (const std::string& sentence : corpus()) {
    const Ids ids = bpe().encode(sentence);
    EXPECT_EQ(none.sample(ids, random), ids) << sentence;
  }
}

TEST(BpeDropout, AtRateOneGivesSingleCharacters) {
  const BpeDropout all(bpe(), 1);
  Random random(1);
  const Ids ids = all.sample(bpe().encode(corpus().front()), random);
  for (const int32_t id : ids) EXPECT_EQ(utf8_length(bpe().token(id)), 1) << bpe().token(id);
  EXPECT_EQ(bpe().decode(ids), corpus().front());
}

TEST(BpeDropout, ChangesTheTokensButNotTheText) {
  const BpeDropout some(bpe(), 0.1);
  Random random(1);
  int64_t before = 0, after = 0, same = 0;
  for (const std::string& sentence : corpus()) {
    const Ids ids = bpe().encode(sentence), other = some.sample(ids, random);
    EXPECT_EQ(bpe().decode(other), sentence);
    before += static_cast<int64_t>(ids.size());
    after += static_cast<int64_t>(other.size());
    same += ids == other ? 1 : 0;
  }
  EXPECT_GT(after, before * 11 / 10);
  EXPECT_LT(after, before * 3 / 2);
  EXPECT_LT(same, 200);  // of 400
}

TEST(BpeDropout, IsAFunctionOfTheRandomNumbers) {
  const BpeDropout some(bpe(), 0.2);
  const Ids ids = bpe().encode(corpus()[3] + " " + corpus()[4] + " " + corpus()[5]);
  Random first(1, 7), again(1, 7), other(1, 8);
  const Ids sampled = some.sample(ids, first);
  EXPECT_EQ(some.sample(ids, again), sampled);
  EXPECT_NE(some.sample(ids, other), sampled);
}

TEST(BpeDropout, KeepsUnknownCharactersAndBytes) {
  const std::string text = corpus()[3] + " \u4e2d\u6587 " + corpus()[4];
  Random random(1);
  const Ids ids = bpe().encode(text), other = BpeDropout(bpe(), 0.5).sample(ids, random);
  EXPECT_EQ(std::ranges::count(other, Tokenizer::unk), std::ranges::count(ids, Tokenizer::unk));
  EXPECT_GT(std::ranges::count(other, Tokenizer::unk), 0);
  const Tokenizer lossless =
      Tokenizer::train(corpus(), {.type = TokenizerType::bpe, .vocabulary_size = 500, .lossless = true});
  EXPECT_EQ(lossless.decode(BpeDropout(lossless, 0.5).sample(lossless.encode(text), random)), text);
}

TEST(BpeDropout, TakesTextWithoutSpacesInLinearTime) {
  std::string word;
  for (int i = 0; i < 100; ++i) word += corpus()[3].substr(0, corpus()[3].find(' '));
  const Ids ids = bpe().encode(word);
  Random random(1);
  EXPECT_EQ(BpeDropout(bpe(), 0).sample(ids, random), ids);
  EXPECT_EQ(bpe().decode(BpeDropout(bpe(), 0.1).sample(ids, random)), word);
}

TEST(BpeDropout, RejectsARateThatIsNotAProbability) {
  EXPECT_THROW(BpeDropout(bpe(), -0.1), UsageError);
  EXPECT_THROW(BpeDropout(bpe(), 1.1), UsageError);
}

}  // namespace qkv::bpe_dropout_test
