// Searches whose answers consist of candidates.
#include "qkv/decode/candidate_tokens.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/decode/model_test.h"
#include "qkv/decode/search.h"
#include "qkv/model/bahdanau.h"

namespace qkv::candidate_tokens_test {

using Ids = std::vector<int32_t>;
using Answers = std::vector<std::vector<Hypothesis>>;
constexpr int32_t vocabulary = 300, eos = Tokenizer::eos;

Transformer model_with(uint64_t seed, Tie tie = Tie::all) {
  return random_model(seed, [&](TransformerConfig& c) {
    c.source_vocabulary = c.target_vocabulary = vocabulary;
    c.d_model = 32;
    c.ffn = 32;
    c.tie = tie;
  });
}

// Some tokens of each sentence, sorted or not, and not eos.
std::vector<Ids> some_candidates(size_t count, uint64_t seed) {
  Random random(seed);
  std::vector<Ids> out(count);
  for (Ids& ids : out)
    for (uint64_t n = 5 + random.below(40); n > 0; --n)
      ids.push_back(3 + static_cast<int32_t>(random.below(vocabulary - 3)));
  return out;
}

std::vector<Ids> whole_vocabulary(size_t count) {
  Ids all(vocabulary);
  std::iota(all.begin(), all.end(), 0);
  return std::vector<Ids>(count, all);
}

Answers search_with(const EncoderDecoder& model, const std::vector<Ids>& sentences, const SearchOptions& options,
                    const AnswerConditions& conditions) {
  const PaddedBatch source = pad_batch(sentences);
  return search(model, source.ids, source.lengths, options, conditions);
}

void expect_equal(const Answers& a, const Answers& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].size(), b[i].size());
    for (size_t n = 0; n < a[i].size(); ++n) {
      EXPECT_EQ(a[i][n].ids, b[i][n].ids);
      EXPECT_EQ(a[i][n].score, b[i][n].score);
      EXPECT_EQ(a[i][n].log_probability, b[i][n].log_probability);
    }
  }
}

void expect_only(const Answers& answers, const std::vector<Ids>& candidates) {
  for (size_t b = 0; b < answers.size(); ++b)
    for (const Hypothesis& answer : answers[b])
      for (const int32_t id : answer.ids)
        EXPECT_NE(std::find(candidates[b].begin(), candidates[b].end(), id), candidates[b].end()) << id;
}

std::vector<WeightFormat> formats() {
  return {WeightFormat::f32, WeightFormat::bf16, WeightFormat::int8, WeightFormat::q4_0, WeightFormat::q5_1};
}

TEST(Candidates, TheWholeVocabularyChangesNothingInAnyFormat) {
  const std::vector<Ids> sentences = random_sentences(5, 9, 1), all = whole_vocabulary(5);
  for (const WeightFormat format : formats()) {
    SCOPED_TRACE(name_of(format));
    const Transformer model = model_with(1);
    if (format != WeightFormat::f32) model.pack_for_inference(format);
    for (const int64_t beam : {1, 4}) {
      const SearchOptions options = {.beam = beam, .n_best = beam, .max_length = 12};
      expect_equal(search_with(model, sentences, options, {.candidates = all}),
                   search_with(model, sentences, options, {}));
    }
  }
}

TEST(Candidates, AnswersConsistOfThemAndNoneDependsOnTheBatchOrTheThreads) {
  const int before = threads();
  const std::vector<Ids> sentences = random_sentences(37, 9, 2), candidates = some_candidates(37, 3);
  for (const WeightFormat format : formats()) {
    SCOPED_TRACE(name_of(format));
    const Transformer model = model_with(2, Tie::none);
    model.pack_for_inference(format);
    for (const int64_t beam : {1, 4}) {
      const SearchOptions options = {.beam = beam, .n_best = beam, .max_length = 12, .max_tokens = 400};
      set_threads(2);
      const Answers together = search_with(model, sentences, options, {.candidates = candidates});
      expect_only(together, candidates);
      set_threads(1);
      for (size_t b = 0; b < sentences.size(); ++b)
        expect_equal({together[b]},
                     search_with(model, {sentences[b]}, options, {.candidates = std::span(&candidates[b], 1)}));
    }
  }
  set_threads(before);
}

TEST(Candidates, ProbabilitiesAreOfTheCandidates) {
  const Transformer model = model_with(4);
  const std::vector<Ids> sentences = random_sentences(1, 9, 1), candidates = {{7, 9, 11}};
  // All answers of one token, and eos: their probabilities and that of longer answers sum to 1.
  const Answers found = search_with(
      model, sentences, {.beam = 4, .length_penalty = 0, .eos_at_max_length = false, .n_best = 4, .max_length = 1},
      {.candidates = candidates});
  double sum = 0;
  for (const Hypothesis& answer : found[0]) sum += std::exp(answer.log_probability);
  EXPECT_EQ(found[0].size(), 4u);
  EXPECT_NEAR(sum, 1, 1e-5);
}

TEST(Candidates, PhrasesPrefixesAndTheForcedTokenAreAmongThem) {
  const Transformer model = model_with(5);
  const std::vector<Ids> sentences = random_sentences(3, 9, 1), candidates = some_candidates(3, 4);
  const std::vector<std::vector<Ids>> phrases(3, {{290, 291}, {292}});
  const Answers with_phrases =
      search_with(model, sentences, {.max_length = 20}, {.phrases = phrases, .candidates = candidates});
  for (const Hypothesis& answer : with_phrases[1]) {
    const Ids& ids = answer.ids;
    EXPECT_NE(std::search(ids.begin(), ids.end(), phrases[1][0].begin(), phrases[1][0].end()), ids.end());
    EXPECT_NE(std::find(ids.begin(), ids.end(), 292), ids.end());
  }
  const std::vector<Ids> prefixes(3, {295, 296});
  for (const auto& answers :
       search_with(model, sentences, {.max_length = 20}, {.prefixes = prefixes, .candidates = candidates})) {
    ASSERT_GE(answers[0].ids.size(), 2u);
    EXPECT_TRUE(std::equal(prefixes[0].begin(), prefixes[0].end(), answers[0].ids.begin()));
  }
  const Answers forced =
      search_with(model, sentences, {.max_length = 20, .forced_first_token = 298}, {.candidates = candidates});
  for (const auto& answers : forced) EXPECT_EQ(answers[0].ids.front(), 298);
}

TEST(Candidates, AlternativesConsistOfThemToo) {
  const Transformer model = model_with(6);
  const std::vector<Ids> sentences = random_sentences(3, 9, 1), candidates = some_candidates(3, 4);
  const SearchOptions options = {.beam = 2, .n_best = 3, .alternatives = true, .max_length = 9};
  const Answers found = search_with(model, sentences, options, {.candidates = candidates});
  expect_only(found, candidates);
  for (const auto& answers : found) EXPECT_EQ(answers.size(), 3u);
  expect_equal(search_with(model, sentences, options, {.candidates = whole_vocabulary(3)}),
               search_with(model, sentences, options, {}));
}

TEST(Candidates, RecurrentModelsHaveThemToo) {
  const Bahdanau model({.architecture = Architecture::bahdanau,
                        .source_vocabulary = vocabulary,
                        .target_vocabulary = vocabulary,
                        .d_model = 16},
                       /*seed=*/3);
  const std::vector<Ids> sentences = random_sentences(3, 9, 1), candidates = some_candidates(3, 4);
  expect_only(search_with(model, sentences, {.max_length = 9}, {.candidates = candidates}), candidates);
  expect_equal(search_with(model, sentences, {.max_length = 9}, {.candidates = whole_vocabulary(3)}),
               search_with(model, sentences, {.max_length = 9}, {}));
}

TEST(Candidates, OnlyEosMakesEmptyAnswers) {
  const std::vector<Ids> sentences = random_sentences(2, 9, 1), none(2, Ids{eos});
  for (const auto& answers :
       search_with(model_with(7), sentences, {.min_length = 3, .max_length = 9}, {.candidates = none}))
    EXPECT_EQ(answers[0].ids, Ids{});
}

TEST(Candidates, RefusesIdsOutsideTheVocabularyAndAnotherNumberOfLists) {
  const Transformer model = model_with(8);
  const std::vector<Ids> sentences = random_sentences(2, 9, 1);
  for (const int32_t id : {-1, vocabulary}) {
    const std::vector<Ids> wrong = {{5}, {id}};
    EXPECT_THROW(search_with(model, sentences, {}, {.candidates = wrong}), Error);
  }
  const std::vector<Ids> one = {{5}};
  EXPECT_THROW(search_with(model, sentences, {}, {.candidates = one}), Error);
  const std::vector<Ids> unsorted = {{5, 4}};
  const std::vector<int64_t> first = {0};
  EXPECT_THROW(CandidateTokens(unsorted, first), Error);
}

}  // namespace qkv::candidate_tokens_test
