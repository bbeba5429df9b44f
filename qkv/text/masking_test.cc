#include "qkv/text/masking.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/random.h"
#include "qkv/base/threads.h"

namespace qkv::masking_test {

using Ids = std::vector<int32_t>;
constexpr int32_t mask_id = 4;

MaskingOptions options_of(uint64_t seed = 1) { return {.mask = mask_id, .vocabulary = 1000, .seed = seed}; }

// bos, n random tokens, eos.
Ids sentence_of(size_t n, uint64_t stream = 1) {
  Random random(9, stream);
  Ids ids = {Tokenizer::bos};
  for (size_t i = 0; i < n; ++i) ids.push_back(static_cast<int32_t>(5 + random.below(995)));
  ids.push_back(Tokenizer::eos);
  return ids;
}

TEST(TokenMasking, ChoosesTheRateOfEverySentenceAndAtLeastOneToken) {
  const TokenMasking masking(options_of());
  for (size_t n = 1; n < 200; ++n) {
    const Ids ids = sentence_of(n);
    const MaskedTokens masked = masking.mask(ids, static_cast<int64_t>(n), 0);
    int64_t chosen = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      if (masked.targets[i] < 0) {
        EXPECT_EQ(masked.targets[i], -1);
        EXPECT_EQ(masked.inputs[i], ids[i]) << "a token that is not chosen stays";
      } else {
        EXPECT_EQ(masked.targets[i], ids[i]);
        ++chosen;
      }
    }
    EXPECT_EQ(chosen, std::max<int64_t>(1, std::llround(0.15 * static_cast<double>(n))));
    EXPECT_EQ(masked.chosen, chosen);
  }
}

TEST(TokenMasking, NeverTouchesOrDrawsSpecialTokens) {
  MaskingOptions options = {.rate = 0.9,
                            .mask_fraction = 0,
                            .random_fraction = 1,
                            .mask = mask_id,
                            .vocabulary = 8,
                            .special = {Tokenizer::pad, Tokenizer::bos, Tokenizer::eos, 6}};
  const TokenMasking masking(options);
  const Ids ids = {0, 1, 2, 3, 4, 5, 6, 7, 3, 5, 7};
  std::set<int32_t> drawn;
  for (int64_t epoch = 0; epoch < 200; ++epoch) {
    const MaskedTokens masked = masking.mask(ids, 0, epoch);
    for (const size_t special : {0, 1, 2, 4, 6}) {
      ASSERT_EQ(masked.inputs[special], ids[special]);
      ASSERT_EQ(masked.targets[special], -1);
    }
    for (size_t i = 0; i < ids.size(); ++i)
      if (masked.targets[i] >= 0) drawn.insert(masked.inputs[i]);
  }
  EXPECT_EQ(drawn, (std::set<int32_t>{3, 5, 7}));
  const MaskedTokens nothing = masking.mask(Ids{1, 2}, 0, 0);
  EXPECT_EQ(nothing.chosen, 0);
  EXPECT_EQ(nothing.inputs, (Ids{1, 2}));
}

// 20,000 sentences of 40 tokens, 6 of which are chosen: bounds of four standard deviations.
TEST(TokenMasking, ChoosesUniformlyAndReplacesByTheFractions) {
  const TokenMasking masking(options_of(3));
  const Ids ids = sentence_of(40);
  const int sentences = 20'000;
  double masks = 0, kept = 0, random = 0;
  std::vector<double> counts(ids.size());
  for (int64_t sentence = 0; sentence < sentences; ++sentence) {
    const MaskedTokens masked = masking.mask(ids, sentence, 0);
    for (size_t i = 0; i < ids.size(); ++i) {
      if (masked.targets[i] < 0) continue;
      ++counts[i];
      ++(masked.inputs[i] == mask_id ? masks : masked.inputs[i] == ids[i] ? kept : random);
    }
  }
  const double all = 6.0 * sentences;
  const auto expect_fraction = [&](double count, double n, double p) {
    EXPECT_NEAR(count, n * p, 4 * std::sqrt(n * p * (1 - p)));
  };
  expect_fraction(masks, all, 0.8);
  expect_fraction(random, all, 0.1 * 994 / 995);  // a random token may be the same
  expect_fraction(kept, all, 0.1 + 0.1 / 995);
  for (size_t i = 1; i + 1 < ids.size(); ++i) expect_fraction(counts[i], sentences, 0.15);
}

TEST(TokenMasking, IsAFunctionOfSeedSentenceAndEpoch) {
  const Ids ids = sentence_of(50);
  const auto masked = [&](uint64_t seed, int64_t sentence, int64_t epoch) {
    return TokenMasking(options_of(seed)).mask(ids, sentence, epoch).inputs;
  };
  EXPECT_EQ(masked(1, 7, 2), masked(1, 7, 2));
  EXPECT_NE(masked(1, 7, 2), masked(2, 7, 2));
  EXPECT_NE(masked(1, 7, 2), masked(1, 8, 2));
  EXPECT_NE(masked(1, 7, 2), masked(1, 7, 3));
  EXPECT_NE(masked(1, 7, 2), masked(1, 2, 7));
}

TEST(TokenMasking, WholeWordsAreChosenTogether) {
  MaskingOptions options = options_of();
  options.rate = 0.3;
  options.begins_word.assign(1000, false);
  for (size_t id = 500; id < 1000; ++id) options.begins_word[id] = true;
  const TokenMasking masking(options);
  // bos, words of 2, 1, 3 and 1 tokens, eos, a word of 1 without a beginning.
  const Ids ids = {1, 600, 10, 601, 602, 11, 12, 603, 2, 13};
  const std::vector<std::vector<size_t>> words = {{1, 2}, {3}, {4, 5, 6}, {7}, {9}};
  std::set<size_t> seen;
  for (int64_t sentence = 0; sentence < 300; ++sentence) {
    const MaskedTokens masked = masking.mask(ids, sentence, 0);
    int64_t chosen_words = 0;
    for (size_t w = 0; w < words.size(); ++w) {
      const bool chosen = masked.targets[words[w][0]] >= 0;
      for (const size_t i : words[w]) ASSERT_EQ(masked.targets[i] >= 0, chosen);
      if (chosen) seen.insert(w);
      chosen_words += chosen;
    }
    EXPECT_GE(masked.chosen, 1);
    EXPECT_TRUE(masked.chosen <= 2 || chosen_words == 1) << "0.3 of 8 tokens, or one long word";
  }
  EXPECT_EQ(seen.size(), words.size());
}

TEST(TokenMasking, WordsBeginWithASpace) {
  const std::vector<std::string> sentences(20, "abab abba cdcd dcab");
  const Tokenizer tokenizer = Tokenizer::train(sentences, {.type = TokenizerType::bpe, .vocabulary_size = 16});
  const std::vector<bool> flags = begins_word(tokenizer);
  ASSERT_EQ(static_cast<int64_t>(flags.size()), tokenizer.size());
  int64_t words = 0;
  for (const int32_t id : tokenizer.encode("abab abba cdcd dcab")) words += flags[static_cast<size_t>(id)];
  EXPECT_EQ(words, 4);
  for (const int32_t id : {Tokenizer::pad, Tokenizer::bos, Tokenizer::eos, Tokenizer::unk})
    EXPECT_FALSE(flags[static_cast<size_t>(id)]);
}

TEST(TokenMasking, ARowOfABatchIsThatOfTheSentenceAlone) {
  const TokenMasking masking(options_of());
  std::vector<Ids> rows;
  std::vector<int32_t> lengths, ids;
  std::vector<int64_t> sentences;
  const size_t T = 60;
  for (size_t b = 0; b < 40; ++b) {
    rows.push_back(sentence_of(1 + 7 * b % 57, b));
    lengths.push_back(static_cast<int32_t>(rows[b].size()));
    sentences.push_back(static_cast<int64_t>(100 - b));
    ids.insert(ids.end(), rows[b].begin(), rows[b].end());
    ids.resize((b + 1) * T, Tokenizer::pad);
  }
  const Tensor batch = Tensor::from(ids, {40, static_cast<int64_t>(T)});
  const int before = threads();
  for (const int count : {1, 2}) {
    set_threads(count);
    const MaskedBatch masked = masking.mask(batch, lengths, sentences, 5);
    int64_t chosen = 0;
    for (size_t b = 0; b < rows.size(); ++b) {
      MaskedTokens alone = masking.mask(rows[b], sentences[b], 5);
      alone.inputs.resize(T, Tokenizer::pad);
      alone.targets.resize(T, -1);
      EXPECT_TRUE(std::ranges::equal(masked.inputs.span<int32_t>().subspan(b * T, T), alone.inputs));
      EXPECT_TRUE(std::ranges::equal(masked.targets.span<int32_t>().subspan(b * T, T), alone.targets));
      chosen += alone.chosen;
    }
    EXPECT_EQ(masked.chosen, chosen);
  }
  set_threads(before);
  EXPECT_TRUE(std::ranges::equal(batch.span<int32_t>(), ids)) << "the given ids stay";
}

TEST(TokenMasking, ErrorsNameTheArgument) {
  const auto with = [](auto change) {
    MaskingOptions options = options_of();
    change(options);
    return options;
  };
  EXPECT_THROW(TokenMasking(with([](auto& o) { o.rate = 0; })), UsageError);
  EXPECT_THROW(TokenMasking(with([](auto& o) { o.rate = std::nan(""); })), UsageError);
  EXPECT_THROW(TokenMasking(with([](auto& o) { o.mask_fraction = 0.95; })), UsageError);
  EXPECT_THROW(TokenMasking(with([](auto& o) { o.mask = 1000; })), UsageError);
  EXPECT_THROW(TokenMasking({}), UsageError);
  EXPECT_THROW(TokenMasking(with([](auto& o) { o.special = {-1}; })), UsageError);
  EXPECT_THROW(TokenMasking(with([](auto& o) { o.begins_word = {true}; })), UsageError);
  const TokenMasking masking(options_of());
  EXPECT_THROW(masking.mask(Ids{5, 1000}, 0, 0), Error);
  const Tensor ids = Tensor::zeros({2, 3}, DType::i32);
  const std::vector<int32_t> lengths = {3, 4};
  const std::vector<int64_t> sentences = {0, 1};
  EXPECT_THROW(masking.mask(ids, lengths, sentences, 0), Error);
  EXPECT_THROW(masking.mask(ids, lengths, std::span(sentences).first(1), 0), Error);
}

}  // namespace qkv::masking_test
