#include "qkv/decode/required_phrases.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/decode/all_translations_test.h"
#include "qkv/decode/model_test.h"
#include "qkv/decode/search.h"

namespace qkv::required_phrases_test {

using Ids = std::vector<int32_t>;

PhraseProgress after(const RequiredPhrases& phrases, const Ids& ids) {
  PhraseProgress progress;
  for (const int32_t id : ids) progress = phrases.after(progress, id);
  return progress;
}

TEST(RequiredPhrases, AreMetInAnyOrder) {
  const RequiredPhrases phrases({{17, 4}, {9}});
  EXPECT_EQ(phrases.tokens(), 3);
  EXPECT_EQ(phrases.next_tokens({}), (Ids{17, 9}));
  EXPECT_EQ(phrases.next_tokens(after(phrases, {17})), (Ids{4}));
  EXPECT_EQ(phrases.next_tokens(after(phrases, {5, 9})), (Ids{17}));
  for (const Ids& ids : {Ids{17, 4, 9}, Ids{9, 17, 4}, Ids{1, 9, 2, 17, 4, 3}, Ids{17, 17, 4, 9, 9}})
    EXPECT_TRUE(phrases.complete(after(phrases, ids)));
  for (const Ids& ids : {Ids{}, Ids{17, 9, 4}, Ids{17, 4}, Ids{4, 17, 9}})
    EXPECT_FALSE(phrases.complete(after(phrases, ids)));
}

TEST(RequiredPhrases, APhraseThatDoesNotContinueIsNotMet) {
  const RequiredPhrases phrases({{1, 2, 3}});
  EXPECT_EQ(after(phrases, {1, 2}).tokens, 2);
  EXPECT_EQ(after(phrases, {1, 2, 7}).tokens, 0);
  EXPECT_EQ(after(phrases, {1, 1, 2}).tokens, 2) << "the second token begins it";
  EXPECT_TRUE(phrases.complete(after(phrases, {1, 2, 1, 2, 3})));
}

TEST(RequiredPhrases, MayHaveTheSameBeginning) {
  const RequiredPhrases phrases({{1, 2}, {1, 3}, {1, 3}});
  EXPECT_TRUE(phrases.complete(after(phrases, {1, 3, 1, 2, 1, 3})));
  EXPECT_FALSE(phrases.complete(after(phrases, {1, 3, 1, 2}))) << "a phrase given twice is there twice";
}

TEST(RequiredPhrases, MustNotBeEmpty) { EXPECT_THROW(RequiredPhrases(std::vector<Ids>(1)), Error); }

void expect_equal(const std::vector<Hypothesis>& a, const std::vector<Hypothesis>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].ids, b[i].ids);
    EXPECT_EQ(a[i].score, b[i].score);
  }
}

bool contains(const Ids& ids, const Ids& phrase) {
  return std::search(ids.begin(), ids.end(), phrase.begin(), phrase.end()) != ids.end();
}

std::vector<Hypothesis> search_with(const Transformer& model, const Ids& sentence, const SearchOptions& options,
                                    const std::vector<Ids>& phrases, const std::vector<Ids>& prefixes = {}) {
  const std::vector<Ids> one = {sentence};
  const PaddedBatch source = pad_batch(one);
  const std::vector<std::vector<Ids>> required = {phrases};
  return qkv::search(model, source.ids, source.lengths, options, {.prefixes = prefixes, .phrases = required})[0];
}

TEST(SearchWithPhrases, AWideBeamFindsTheBestTranslation) {
  for (const uint64_t seed : {5, 6, 7}) {
    const Transformer model =
        random_model(seed, [](TransformerConfig& c) { c.target_vocabulary = 7, c.tie = Tie::none; });
    const SearchOptions options{.beam = 200, .max_length = 3};
    const Ids sentence = random_sentences(1, 6, seed)[0];
    const std::vector<Hypothesis> all = all_translations(model, sentence, options);
    for (const std::vector<Ids>& phrases : {std::vector<Ids>{{5}}, {{4, 6}}, {{3}, {6}}, {{6, 5, 3}}}) {
      const auto expected = std::find_if(all.begin(), all.end(), [&](const Hypothesis& h) {
        return std::all_of(phrases.begin(), phrases.end(), [&](const Ids& p) { return contains(h.ids, p); });
      });
      const Hypothesis found = search_with(model, sentence, options, phrases)[0];
      EXPECT_EQ(found.ids, expected->ids);
      EXPECT_NEAR(found.score, expected->score, 1e-5);
    }
  }
}

TEST(SearchWithPhrases, EveryAnswerHasItsPhrases) {
  const Transformer model = random_model(3);
  const std::vector<Ids> phrases = {{5, 9, 7}, {4}, {5, 6}};
  for (const int64_t beam : {1, 4})
    for (const Ids& sentence : random_sentences(6, 8, 2)) {
      const SearchOptions options{.beam = beam, .n_best = beam, .max_length = 20};
      for (const Hypothesis& answer : search_with(model, sentence, options, phrases))
        for (const Ids& phrase : phrases) EXPECT_TRUE(contains(answer.ids, phrase));
    }
}

TEST(SearchWithPhrases, PhrasesOfASentenceChangeNoOtherSentence) {
  const Transformer model = random_model(3);
  const std::vector<Ids> sentences = random_sentences(4, 8, 2);
  const PaddedBatch source = pad_batch(sentences);
  const std::vector<std::vector<Ids>> phrases = {{}, {{5, 9, 7}, {4}}, {}, {{8}}};
  const auto alone = qkv::search(model, source.ids, source.lengths, {.max_length = 20});
  const auto found = qkv::search(model, source.ids, source.lengths, {.max_length = 20}, {.phrases = phrases});
  for (const size_t i : {0, 2}) expect_equal(found[i], alone[i]);
  expect_equal(found[1], search_with(model, sentences[1], {.max_length = 20}, phrases[1]));
}

TEST(SearchWithPhrases, APhraseOfThePrefixIsThere) {
  const Transformer model = random_model(3);
  const Ids sentence = random_sentences(1, 8, 2)[0];
  const std::vector<Ids> prefixes = {{5, 9, 7}};
  const SearchOptions options{.max_length = 20};
  const std::vector<Hypothesis> with_prefix = search_with(model, sentence, options, {}, prefixes);
  expect_equal(search_with(model, sentence, {.beam = 4, .max_length = 20}, {{9, 7}}, prefixes), with_prefix);
}

TEST(SearchWithPhrases, APhraseThatDoesNotFitIsLeftOut) {
  const Transformer model = random_model(3);
  const std::vector<Hypothesis> found =
      search_with(model, random_sentences(1, 8, 2)[0], {.max_length = 3}, {{5, 9, 7, 4, 6}});
  ASSERT_FALSE(found.empty());
  EXPECT_LE(found[0].ids.size(), 3u);
}

}  // namespace qkv::required_phrases_test
