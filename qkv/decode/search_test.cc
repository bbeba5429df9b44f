#include "qkv/decode/search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/decode/alignment.h"
#include "qkv/decode/all_translations_test.h"
#include "qkv/decode/model_test.h"
#include "qkv/decode/score.h"

namespace qkv::search_test {

using Ids = std::vector<int32_t>;

std::vector<std::vector<Hypothesis>> search(const Transformer& model, const std::vector<Ids>& sentences,
                                            const SearchOptions& options) {
  const PaddedBatch source = pad_batch(sentences);
  return search(model, source.ids, source.lengths, options);
}

void expect_same(const std::vector<Hypothesis>& a, const std::vector<Hypothesis>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].ids, b[i].ids);
    EXPECT_EQ(a[i].score, b[i].score);
    EXPECT_EQ(a[i].log_probability, b[i].log_probability);
  }
}

// Greedy search with a pass of the whole decoder for every token.
Ids plain_greedy(const Transformer& model, const Ids& sentence, size_t longest) {
  const NoGrad guard;
  Pass pass;
  const std::vector<Ids> one = {sentence};
  const PaddedBatch source = pad_batch(one);
  const Encoded encoded = model.encode(source.ids, source.lengths, pass);
  Ids ids;
  while (ids.size() < longest) {
    const std::vector<Ids> so_far = {ids};
    const Tensor hidden = model.decode(pad_batch(so_far, {.prepend = Tokenizer::bos}).ids, encoded, pass).value();
    const Tensor logits = model.logits(hidden.slice(1, hidden.dim(1) - 1, hidden.dim(1)).contiguous_copy()).value();
    const float* x = logits.data<float>();
    const auto best = static_cast<int32_t>(std::max_element(x + 2, x + logits.numel()) - x);
    if (best == Tokenizer::eos) break;
    ids.push_back(best);
  }
  return ids;
}

TEST(Search, GreedyTakesTheMostLikelyTokenAtEveryStep) {
  size_t longest = 0;
  for (const uint64_t seed : {1, 2, 3, 4}) {
    const Transformer model = random_model(seed);
    const std::vector<Ids> sentences = random_sentences(9, 8, seed);
    const auto found = search(model, sentences, {.beam = 1, .max_length = 20});
    for (size_t b = 0; b < sentences.size(); ++b) {
      EXPECT_EQ(found[b][0].ids, plain_greedy(model, sentences[b], 20));
      longest = std::max(longest, found[b][0].ids.size());
    }
  }
  EXPECT_GT(longest, 3u) << "the test needs translations of some length";
}

TEST(Search, WithoutScoresFindsTheSame) {
  for (const int64_t beam : {1, 3})
    for (const bool early_stopping : {true, false}) {
      const Transformer model = random_model(5);
      SearchOptions options = {.beam = beam, .early_stopping = early_stopping, .max_length = 12};
      const auto scored = search(model, random_sentences(9, 8, 5), options);
      options.scores = false;
      const auto found = search(model, random_sentences(9, 8, 5), options);
      ASSERT_EQ(found.size(), scored.size());
      for (size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i][0].ids, scored[i][0].ids) << beam << " " << early_stopping;
        EXPECT_LT(scored[i][0].log_probability, 0);
        EXPECT_EQ(found[i][0].score, 0);
        EXPECT_EQ(found[i][0].log_probability, 0);
      }
    }
}

TEST(Search, AWideBeamFindsTheBestTranslation) {
  for (const uint64_t seed : {5, 6}) {
    const Transformer model =
        random_model(seed, [](TransformerConfig& c) { c.target_vocabulary = 7, c.tie = Tie::none; });
    for (const auto normalization : {LengthNormalization::wu, LengthNormalization::power})
      for (const double alpha : {0.0, 0.6, 1.0}) {
        const SearchOptions options{.beam = 200,
                                    .length_penalty = alpha,
                                    .length_normalization = normalization,
                                    .n_best = 5,
                                    .max_length = 3};
        const Ids sentence = random_sentences(1, 6, seed)[0];
        const std::vector<Hypothesis> expected = all_translations(model, sentence, options);
        const auto found = search(model, {sentence}, options);
        ASSERT_EQ(found[0].size(), 5u);
        for (size_t i = 0; i < 5; ++i) {
          EXPECT_EQ(found[0][i].ids, expected[i].ids);
          EXPECT_NEAR(found[0][i].score, expected[i].score, 1e-5);
        }
      }
  }
}

struct Variant {
  const char* name;
  void (*change)(TransformerConfig&);
};
void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }

class SearchOf : public testing::TestWithParam<Variant> {};

TEST_P(SearchOf, StepsGiveTheLogitsOfTheWholeDecoder) {
  const NoGrad guard;
  const Transformer model = random_model(7, GetParam().change);
  const PaddedBatch source = pad_batch(random_sentences(5, 9, 1));
  std::vector<Ids> targets = random_sentences(5, 1, 2);
  for (Ids& target : targets) target.assign(12, target[0]);
  for (size_t b = 0; b < 5; ++b)
    for (size_t t = 0; t < 12; ++t) targets[b][t] = static_cast<int32_t>(1 + (t * 5 + b * 3) % 12);
  Pass pass;
  const Encoded encoded = model.encode(source.ids, source.lengths, pass);
  const PaddedBatch in = pad_batch(targets);
  const Tensor whole = model.logits(model.decode(in.ids, encoded, pass)).value();
  const std::unique_ptr<Decoding> rows = model.start(encoded);
  for (int64_t t = 0; t < 12; ++t) {
    const Tensor step = rows->extend(in.ids.slice(1, t, t + 1).contiguous_copy().span<int32_t>(), pass);
    for (int64_t b = 0; b < 5; ++b)
      for (int64_t v = 0; v < step.dim(1); ++v)
        ASSERT_NEAR(step.at<float>({b, v}), whole.at<float>({b, t, v}), 2e-5) << "position " << t;
  }
}

TEST_P(SearchOf, LogProbabilityIsThatOfScore) {
  const Transformer model = random_model(8, GetParam().change);
  const std::vector<Ids> sentences = random_sentences(6, 9, 3);
  const auto found = search(model, sentences, {.beam = 3, .n_best = 3, .max_length = 9});
  const PaddedBatch source = pad_batch(sentences);
  for (size_t rank = 0; rank < 3; ++rank) {
    std::vector<Ids> targets;
    for (const auto& of_sentence : found) targets.push_back(of_sentence.at(rank).ids);
    const std::vector<TargetScore> scores = score_targets(model, source.ids, source.lengths, targets);
    for (size_t b = 0; b < sentences.size(); ++b) {
      EXPECT_EQ(scores[b].token_log_probabilities.size(), targets[b].size() + 1);
      EXPECT_NEAR(found[b][rank].log_probability, scores[b].log_probability, 1e-4);
    }
  }
}

TEST_P(SearchOf, ResultsDoNotDependOnTheBatchBitForBit) {
  const int before = threads();
  const Transformer model = random_model(9, GetParam().change);
  const std::vector<Ids> sentences = random_sentences(11, 12, 4);
  for (const int64_t beam : {1, 4}) {
    const SearchOptions options = {.beam = beam, .n_best = beam, .max_length = 15};
    set_threads(2);
    const auto together = search(model, sentences, options);
    set_threads(1);
    for (size_t b = 0; b < sentences.size(); ++b) {
      const auto alone = search(model, {sentences[b]}, options);
      expect_same(together[b], alone[0]);
    }
    PaddedBatch wide = pad_batch(sentences);  // more padding, and not of zeros
    Tensor ids = Tensor::empty({11, 20}, DType::i32);
    std::fill(ids.span<int32_t>().begin(), ids.span<int32_t>().end(), 5);
    ids.slice(1, 0, wide.ids.dim(1)).copy_from(wide.ids);
    for (size_t b = 0; b < sentences.size(); ++b)
      for (int64_t t = wide.lengths[b]; t < 20; ++t) ids.data<int32_t>()[static_cast<int64_t>(b) * 20 + t] = 7;
    const auto apart = search(model, ids, wide.lengths, options);
    for (size_t b = 0; b < sentences.size(); ++b) expect_same(together[b], apart[b]);
  }
  set_threads(before);
}

INSTANTIATE_TEST_SUITE_P(
    Variants, SearchOf,
    testing::Values(
        Variant{"PostNorm", [](TransformerConfig& c) { c.norm_order = NormOrder::post; }},
        Variant{"PreNorm", [](TransformerConfig& c) { c.norm_order = NormOrder::pre; }},
        Variant{"GroupedHeads", [](TransformerConfig& c) { c.kv_heads = 2; }},
        Variant{"OneKeyHeadAndGelu", [](TransformerConfig& c) { c.kv_heads = 1, c.activation = Activation::gelu; }},
        Variant{"LearnedPositions", [](TransformerConfig& c) { c.positions = Positions::learned; }},
        Variant{"NothingTiedNoBias", [](TransformerConfig& c) { c.tie = Tie::none, c.attention_bias = false; }}),
    [](const testing::TestParamInfo<Variant>& variant) { return std::string(variant.param.name); });

TEST(Search, AWiderBeamScoresBetterOnAverage) {
  const Transformer model = random_model(10);
  const std::vector<Ids> sentences = random_sentences(40, 9, 5);
  double of_one = 0, of_six = 0;
  const auto one = search(model, sentences, {.beam = 1, .max_length = 12});
  const auto six = search(model, sentences, {.beam = 6, .max_length = 12});
  for (size_t b = 0; b < sentences.size(); ++b) of_one += one[b][0].score, of_six += six[b][0].score;
  EXPECT_GT(of_six, of_one);
}

TEST(Search, ResultsDoNotDependOnMaxTokens) {
  for (const uint64_t seed : {1, 2, 3}) {
    const Transformer model = random_model(seed);
    const std::vector<Ids> sentences = random_sentences(13, 8, seed);
    SearchOptions options = {.beam = 3, .n_best = 2, .max_length = 20};
    const auto expected = search(model, sentences, options);
    for (const int64_t tokens : {1, 30, 200}) {
      options.max_tokens = tokens;
      const auto found = search(model, sentences, options);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t b = 0; b < expected.size(); ++b) {
        ASSERT_FALSE(found[b].empty());
        expect_same(found[b], expected[b]);
      }
    }
  }
}

TEST(Search, NBestAreDifferentAndSorted) {
  const Transformer model = random_model(11);
  for (const auto& found : search(model, random_sentences(8, 9, 6), {.beam = 5, .n_best = 5, .max_length = 10})) {
    ASSERT_EQ(found.size(), 5u);
    std::set<Ids> different;
    for (size_t i = 0; i < found.size(); ++i) {
      different.insert(found[i].ids);
      EXPECT_LE(found[i].score, found[i == 0 ? 0 : i - 1].score);
      for (const int32_t id : found[i].ids) EXPECT_GT(id, 2);
    }
    EXPECT_EQ(different.size(), 5u);
  }
}

TEST(Search, NoNGramOccursTwice) {
  const Transformer model = random_model(16);
  const auto repeats = [](const Ids& ids) {
    std::set<std::pair<int32_t, int32_t>> pairs;
    for (size_t i = 0; i + 1 < ids.size(); ++i)
      if (!pairs.emplace(ids[i], ids[i + 1]).second) return true;
    return false;
  };
  bool did = false;
  for (uint64_t seed = 1; seed < 4; ++seed) {
    const std::vector<Ids> sentences = random_sentences(5, 8, seed);
    const SearchOptions free{.beam = 3, .min_length = 9, .max_length = 12};
    SearchOptions strict = free;
    strict.no_repeat_ngram = 2;
    const auto with = search(model, sentences, strict), without = search(model, sentences, free);
    for (size_t b = 0; b < sentences.size(); ++b) {
      EXPECT_FALSE(repeats(with[b][0].ids));
      did = did || repeats(without[b][0].ids);
      const PaddedBatch one = pad_batch(std::span(&sentences[b], 1));
      const std::vector<Ids> target = {with[b][0].ids};
      EXPECT_NEAR(with[b][0].log_probability, score_targets(model, one.ids, one.lengths, target)[0].log_probability,
                  1e-4);
    }
  }
  EXPECT_TRUE(did) << "the test needs translations that repeat themselves";
}

TEST(Search, LengthsStayInTheirBounds) {
  const Transformer model = random_model(12);
  const std::vector<Ids> sentences = random_sentences(12, 9, 7);
  for (const auto& found : search(model, sentences, {.beam = 3, .min_length = 4, .max_length = 6})) {
    EXPECT_GE(found[0].ids.size(), 4u);
    EXPECT_LE(found[0].ids.size(), 6u);
  }
  // The model has 40 positions, one of them for bos.
  for (const auto& found : search(model, {sentences[0]}, {.beam = 2, .min_length = 1000, .max_length = 1000}))
    EXPECT_EQ(found[0].ids.size(), 39u);
  const SearchOptions by_source = {.min_length = 1000, .max_length_ratio = 1.5, .max_length_extra = 2};
  EXPECT_EQ(search(model, {Ids{3, 4, 5, 6}}, by_source)[0][0].ids.size(), 8u);
}

// Where positions have no limit.
TEST(Search, ALengthInProportionToTheSourceIsWithinWhatTheModelWasMadeFor) {
  const Transformer model =
      random_model(12, [](TransformerConfig& c) { c.positions = Positions::rotary, c.context_length = 7; });
  const std::vector<Ids> sentence = {{3, 4, 5, 6}};
  EXPECT_EQ(search(model, sentence, {.min_length = 1000})[0][0].ids.size(), 7u);
  EXPECT_EQ(search(model, sentence, {.min_length = 1000, .max_length = 9})[0][0].ids.size(), 9u);
}

TEST(Search, AVocabularySmallerThanTheBeamIsNotAnError) {
  const Transformer model =
      random_model(13, [](TransformerConfig& c) { c.target_vocabulary = 5, c.tie = Tie::none; });
  const auto found = search(model, random_sentences(3, 5, 8), {.beam = 10, .n_best = 10, .max_length = 2});
  for (const auto& of_sentence : found) EXPECT_EQ(of_sentence.size(), 7u);  // 1 + 2 + 4: all there are
}

TEST(Search, OfAnEncodedBatchEqualsTheSearchOfItsSources) {
  const Transformer model = random_model(17);
  const PaddedBatch source = pad_batch(random_sentences(5, 9, 12));
  const SearchOptions options = {.beam = 2, .n_best = 2, .max_length = 9};
  const NoGrad guard;
  Pass pass;
  const auto encoded = search(model, model.encode(source.ids, source.lengths, pass), options);
  const auto expected = search(model, source.ids, source.lengths, options);
  for (size_t b = 0; b < 5; ++b) expect_same(encoded[b], expected[b]);
}

// A target token for which the masks of a variant leave no source position has no link. The first source
// position is still a link of others.
TEST(Search, ATokenThatSeesNoSourceIsLinkedToNone) {
  const Transformer model = random_model(18, [](TransformerConfig& c) { c.cross_attention = LocalM{1}; });
  const PaddedBatch source = pad_batch(std::vector<Ids>{{4, 5}});
  const NoGrad guard;
  Pass pass;
  const std::vector<Ids> targets = {{4, 5, 6, 7, 8}};
  const Tensor a =
      alignments(model, model.encode(source.ids, source.lengths, pass), std::vector<int64_t>{0}, targets)[0];
  const auto links = alignment_links(a);
  ASSERT_EQ(links.size(), 5u);
  EXPECT_TRUE(links[0] && links[1]);
  EXPECT_EQ(links[2], 1);  // sees position 1 alone
  EXPECT_FALSE(links[3] || links[4]);
}

TEST(Search, AlignmentRowsAreTheWeightsOfEveryToken) {
  const Transformer model = random_model(14);
  const std::vector<Ids> sentences = random_sentences(5, 9, 9);
  const auto found = search(model, sentences, {.beam = 2, .n_best = 2, .max_length = 9, .alignment = true});
  for (size_t b = 0; b < sentences.size(); ++b)
    for (const Hypothesis& hypothesis : found[b]) {
      const auto T = static_cast<int64_t>(hypothesis.ids.size()), S = static_cast<int64_t>(sentences[b].size());
      ASSERT_EQ(hypothesis.alignment.shape(), (Shape{T, S}));
      for (int64_t t = 0; t < T; ++t) {
        double sum = 0;
        for (int64_t s = 0; s < S; ++s) sum += hypothesis.alignment.at<float>({t, s});
        EXPECT_NEAR(sum, 1.0, 1e-5);
      }
    }
}

TEST(Search, ErrorsSayWhatIsWrong) {
  const Transformer model = random_model(15);
  const std::vector<Ids> one = {{3, 4}};
  EXPECT_THROW(search(model, one, {.beam = 0}), UsageError);
  EXPECT_THROW(search(model, one, {.beam = 2, .n_best = 3}), UsageError);
  EXPECT_THROW(search(model, one, {.length_penalty = std::nan("")}), UsageError);
  EXPECT_THROW(search(model, one, {.max_length = -1}), UsageError);
  EXPECT_THROW(search(model, one, {.eos = 13}), UsageError);
  EXPECT_THROW(search(model, {Ids{99}}, {}), Error);
  EXPECT_THROW(search(model, {Ids(41, 3)}, {}), Error);
  EXPECT_THROW(search(model, Tensor::zeros({2, 3}, DType::i32), std::vector<int32_t>{3}), Error);
  EXPECT_TRUE(search(model, Tensor::zeros({0, 3}, DType::i32), std::vector<int32_t>{}).empty());
}

TEST(Score, TokensAddUpAndDoNotDependOnTheBatch) {
  const Transformer model = random_model(16);
  const std::vector<Ids> sentences = random_sentences(7, 9, 10), targets = random_sentences(7, 11, 11);
  const PaddedBatch source = pad_batch(sentences);
  const std::vector<TargetScore> together = score_targets(model, source.ids, source.lengths, targets);
  for (size_t b = 0; b < 7; ++b) {
    const PaddedBatch alone = pad_batch(std::span(&sentences[b], 1));
    const TargetScore one = score_targets(model, alone.ids, alone.lengths, std::span(&targets[b], 1))[0];
    EXPECT_EQ(one.token_log_probabilities, together[b].token_log_probabilities);
    EXPECT_EQ(one.log_probability, together[b].log_probability);
    double sum = 0;
    for (const float token : one.token_log_probabilities) sum += token;
    EXPECT_DOUBLE_EQ(sum, one.log_probability);
  }
}

}  // namespace qkv::search_test
