#include "qkv/text/encoded_corpus.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/text/holdout.h"

namespace qkv::encoded_corpus_test {

using Ids = std::vector<int32_t>;

Ids ids(std::span<const int32_t> span) { return {span.begin(), span.end()}; }

const Tokenizer& characters() {
  static const Tokenizer tokenizer =
      Tokenizer::train({"abcdefghijklmnopqrstuvwxyz 0123456789"}, {.type = TokenizerType::character});
  return tokenizer;
}

std::vector<SentencePair> pairs(int count) {
  std::vector<SentencePair> out;
  for (int i = 0; i < count; ++i) out.push_back({"source " + std::to_string(i), "target " + std::to_string(i * i)});
  return out;
}

TEST(EncodedCorpus, HoldsTheIdsOfEveryPair) {
  const auto text = pairs(10'000);  // more than a chunk of text, and more than a block of ids
  const EncodedCorpus corpus = encode_corpus(text, characters(), characters());
  ASSERT_EQ(corpus.size(), 10'000);
  int64_t sources = 0, targets = 0;
  for (int64_t i = 0; i < corpus.size(); ++i) {
    const auto& pair = text[static_cast<size_t>(i)];
    if (i % 37 == 0) {
      EXPECT_EQ(ids(corpus.source(i)), characters().encode(pair.source));
      EXPECT_EQ(ids(corpus.target(i)), characters().encode(pair.target));
    }
    sources += static_cast<int64_t>(corpus.source(i).size());
    targets += static_cast<int64_t>(corpus.target(i).size());
  }
  EXPECT_EQ(corpus.source_tokens(), sources);
  EXPECT_EQ(corpus.target_tokens(), targets);
}

TEST(EncodedCorpus, IsTheSameOnAnyNumberOfThreads) {
  const auto text = pairs(3000);
  const int before = threads();
  set_threads(1);
  const uint64_t one = encode_corpus(text, characters(), characters()).fingerprint();
  set_threads(4);
  EXPECT_EQ(encode_corpus(text, characters(), characters()).fingerprint(), one);
  set_threads(before);
}

TEST(EncodedCorpus, KeepsItsIdsWhenItMoves) {
  EncodedCorpus one;
  one.add(Ids{1, 2}, Ids{3});
  EncodedCorpus two = std::move(one);
  two.add(Ids(1'000'000, 7), Ids{4, 5});  // larger than a block
  two.add(Ids{6}, Ids{8});
  EXPECT_EQ(ids(two.source(0)), (Ids{1, 2}));
  EXPECT_EQ(ids(two.target(0)), Ids{3});
  EXPECT_EQ(two.source(1).size(), 1'000'000u);
  EXPECT_EQ(ids(two.target(1)), (Ids{4, 5}));
  EXPECT_EQ(ids(two.target(2)), Ids{8});
}

TEST(EncodedCorpus, FingerprintDistinguishesPairs) {
  const auto print = [](const Ids& source, const Ids& target) {
    EncodedCorpus corpus;
    corpus.add(source, target);
    return corpus.fingerprint();
  };
  EXPECT_EQ(print({1, 2}, {3}), print({1, 2}, {3}));
  EXPECT_NE(print({1, 2}, {3}), print({1}, {2, 3}));
  EXPECT_NE(print({1, 2}, {3}), print({2, 1}, {3}));
  EXPECT_NE(print({0}, {0}), print({0, 0}, {0}));
}

TEST(EncodedCorpus, SkipsAndCountsPairsThatAreTooLong) {
  // A sentence of n characters is n ids and one for the space before it; max_length counts the eos, too.
  const std::vector<SentencePair> text{{"abc", "abcd"}, {"abcde", "a"}, {"a", "abcde"}, {"", "a"}};
  const EncodedCorpus corpus = encode_corpus(text, characters(), characters(), {.max_length = 6});
  EXPECT_EQ(corpus.size(), 1);
  EXPECT_EQ(corpus.skipped().too_long, 2);
  EXPECT_EQ(corpus.skipped().blank, 1);
}

TEST(EncodedCorpus, ReportsWhyNothingIsLeft) {
  try {
    encode_corpus(pairs(3), characters(), characters(), {.max_length = 2});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "corpus: no sentence pairs to train on: 0 with a blank side, 3 longer than 2 tokens, 0 held out");
  }
}

TEST(EncodedCorpus, ReadsAFileWithoutWhatIsHeldOut) {
  const std::string path = testing::TempDir() + "/qkv_encoded_corpus_test_" + std::to_string(getpid());
  {
    std::ofstream file(path);
    for (const auto& [source, target] : pairs(100)) file << source << '\t' << target << '\n';
    file << "\tx\n";
  }
  const Holdout holdout(path, 10, 1);
  const EncodedCorpus corpus = encode_corpus(path, characters(), characters(), {.holdout = &holdout});
  EXPECT_EQ(corpus.size(), 90);
  EXPECT_EQ(corpus.skipped().held_out, 10);
  EXPECT_EQ(corpus.skipped().blank, 1);
  const EncodedCorpus same = encode_corpus(pairs(100), characters(), characters(), {.holdout = &holdout});
  EXPECT_EQ(same.fingerprint(), corpus.fingerprint());
  EXPECT_EQ(same.skipped().held_out, 10);
  std::filesystem::remove(path);
}

}  // namespace qkv::encoded_corpus_test
