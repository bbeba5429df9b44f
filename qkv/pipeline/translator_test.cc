#include "qkv/pipeline/translator.h"

#include <filesystem>
#include <unistd.h>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/decode/length_batches.h"
#include "qkv/decode/model_test.h"
#include "qkv/model/model_file.h"
#include "qkv/pipeline/inspect.h"

namespace qkv::translator_test {

const std::vector<std::string>& lines() {
  static const std::vector<std::string> all = {
      "I am cold.", "a",  "",         "Where are the two old towers?",
      "   ",        "no", "I am old", "the rain is cold and the tower old"};
  return all;
}

Tokenizer characters(const std::vector<std::string>& sentences) {
  return Tokenizer::train(sentences,
                          {.type = TokenizerType::character, .vocabulary_size = 60, .character_coverage = 1});
}

Translator random_translator(uint64_t seed, int64_t positions = 60) {
  const Tokenizer source = characters(lines()), target = characters({"abcdefgh ijkl"});
  return {random_model(seed,
                       [&](TransformerConfig& c) {
                         c.source_vocabulary = source.size();
                         c.target_vocabulary = target.size();
                         c.tie = Tie::none;
                         c.max_positions = positions;
                       }),
          source, target};
}

TEST(Translator, KeepsTheOrderAndTranslatesEverySentenceIndependently) {
  const Translator translator = random_translator(1);
  for (const int64_t batch_tokens : {1, 100, 10000}) {
    const auto together = translator.translate(lines(), {.search = {.beam = 2}, .batch_tokens = batch_tokens});
    ASSERT_EQ(together.size(), lines().size());
    for (size_t i = 0; i < lines().size(); ++i) {
      const Translation alone =
          translator.translate(std::vector<std::string>{lines()[i]}, {.search = {.beam = 2}})[0];
      EXPECT_EQ(together[i].text, alone.text);
      EXPECT_EQ(together[i].score, alone.score);
      EXPECT_FALSE(together[i].truncated);
    }
  }
}

TEST(Translator, TextsBetweenBracesAreAList) {
  const Translator translator = random_translator(1);
  const TranslateOptions options = {.search = {.beam = 2}};
  const std::vector<Translation> two = translator.translate({"I am cold.", "Go on."}, options);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].text, translator.translate("I am cold.", options).text);
  EXPECT_EQ(two[1].text, translator.translate("Go on.", options).text);
  EXPECT_EQ(translator.translate({"I am cold.", "Go on."}).size(), 2u);
}

TEST(Translator, TermsHaveTheirTranslations) {
  const Translator translator = random_translator(1);
  const TranslateOptions options{.search = {.beam = 2, .max_length = 40},
                                 .terms = {{"cold", "fab"}, {"old", "lid jab"}}};
  const std::vector<Translation> plain = translator.translate(lines(), {.search = options.search}),
                                 found = translator.translate(lines(), options);
  for (size_t i = 0; i < lines().size(); ++i) {
    const bool cold = lines()[i].find(" cold") != std::string::npos,
               old = lines()[i].find(" old") != std::string::npos;
    EXPECT_TRUE(!cold || found[i].text.find("fab") != std::string::npos) << found[i].text;
    EXPECT_TRUE(!old || found[i].text.find("lid jab") != std::string::npos) << found[i].text;
    EXPECT_TRUE(cold || old || found[i].text == plain[i].text) << found[i].text;
  }
  EXPECT_THROW(translator.translate(lines(), {.terms = {{"cold", "\u4f60"}}}), UsageError);
}

TEST(Translator, CanBeStoppedBetweenBatches) {
  const Translator translator = random_translator(1);
  struct Stop {};
  int batches = 0;
  const auto stop = [&](int64_t) {
    if (++batches == 3) throw Stop();
  };
  EXPECT_THROW(translator.translate(lines(), {.search = {.beam = 1}, .batch_tokens = 1}, stop), Stop);
  EXPECT_EQ(batches, 3);
}

TEST(Translator, ReportsHowManySentencesAreDone) {
  const Translator translator = random_translator(1);
  std::vector<int64_t> translated, scored;
  translator.translate(lines(), {.search = {.beam = 1}, .batch_tokens = 1},
                       [&](int64_t done) { translated.push_back(done); });
  translator.score(lines(), lines(), {.batch_tokens = 1}, [&](int64_t done) { scored.push_back(done); });
  for (const std::vector<int64_t>& counts : {translated, scored}) {
    EXPECT_TRUE(std::is_sorted(counts.begin(), counts.end()));
    EXPECT_GT(counts.size(), 1u);
    EXPECT_EQ(counts.back(), static_cast<int64_t>(lines().size()));
  }
}

TEST(Translator, ABlankSentenceHasABlankTranslation) {
  const auto t = random_translator(2).translate(lines(), {.search = {.beam = 1, .max_length = 5}});
  for (const size_t i : {2, 4}) {
    EXPECT_EQ(t[i].text, "");
    EXPECT_EQ(t[i].score, 0.0);
    ASSERT_EQ(t[i].n_best.size(), 1u);
    EXPECT_EQ(t[i].n_best[0].text, "");
  }
}

TEST(Translator, GivesScoresTokensAlignmentAndTheNBest) {
  const Translator translator = random_translator(3);
  const auto translations = translator.translate(
      lines(), {.search = {.beam = 3, .length_penalty = 0.5, .n_best = 3, .max_length = 12, .alignment = true}});
  std::vector<std::string> targets;
  for (const Translation& t : translations) {
    targets.push_back(t.text);
    EXPECT_EQ(t.source_tokens.back(), "</s>");
    EXPECT_EQ(t.text, t.n_best[0].text);
    if (t.source_tokens.size() == 1) continue;
    ASSERT_EQ(t.n_best.size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
      const Candidate& candidate = t.n_best[i];
      EXPECT_LE(candidate.score, t.n_best[i == 0 ? 0 : i - 1].score);
      EXPECT_EQ(candidate.score,
                candidate.log_probability / length_penalty(static_cast<int64_t>(candidate.tokens.size()) + 1, 0.5));
      EXPECT_EQ(candidate.alignment.dim(0), static_cast<int64_t>(candidate.tokens.size()));
      EXPECT_EQ(candidate.alignment.dim(1), static_cast<int64_t>(t.source_tokens.size()));
    }
  }
}

TEST(Translator, ASourceThatIsTooLongIsCutAndMarked) {
  const Translator translator = random_translator(4, 20);
  const std::vector<std::string> sentences = {"I am cold.", std::string(5000, 'a'), "no"};
  const auto t = translator.translate(sentences, {.search = {.beam = 2}});
  EXPECT_FALSE(t[0].truncated);
  EXPECT_TRUE(t[1].truncated);
  EXPECT_FALSE(t[2].truncated);
  EXPECT_EQ(t[1].source_tokens.size(), 20u);
  EXPECT_EQ(t[0].text, translator.translate(std::span(sentences).first(1), {.search = {.beam = 2}})[0].text);
}

// Position encodings without a table have no limit: a setting says how much of a long source is read.
TEST(Translator, PositionsWithoutATableReadAnyLength) {
  const Tokenizer source = characters(lines()), target = characters({"abcdefgh ijkl"});
  for (const Positions positions :
       {Positions::rotary, Positions::alibi, Positions::relative_bias, Positions::none}) {
    const Translator translator = {random_model(4,
                                                [&](TransformerConfig& c) {
                                                  c.source_vocabulary = source.size();
                                                  c.target_vocabulary = target.size();
                                                  c.tie = Tie::none;
                                                  c.max_positions = 20;
                                                  c.positions = positions;
                                                }),
                                   source, target};
    const std::vector<std::string> sources = {std::string(300, 'a')}, targets = {std::string(50, 'b')};
    const Translation t = translator.translate(sources, {.search = {.beam = 1, .max_length = 30}})[0];
    EXPECT_FALSE(t.truncated);
    EXPECT_GT(t.source_tokens.size(), 300u);
    const PairScore score = translator.score(sources, targets)[0];
    EXPECT_FALSE(score.truncated);
    EXPECT_GT(score.tokens.size(), 50u);
    const Translation cut =
        translator.translate(sources, {.search = {.beam = 1, .max_length = 2}, .max_input_tokens = 9})[0];
    EXPECT_TRUE(cut.truncated);
    EXPECT_EQ(cut.source_tokens.size(), 9u);
    EXPECT_EQ(translator.score(sources, targets, {.max_input_tokens = 9})[0].tokens.size(), 9u);
    const std::vector<std::string> long_one = {std::string(900'000, 'a')};
    const Translation bounded = translator.translate(long_one, {.search = {.beam = 1, .max_length = 2}})[0];
    EXPECT_TRUE(bounded.truncated);
    EXPECT_EQ(bounded.source_tokens.size(), 4096u);
  }
}

TEST(Translator, NamesTheSentenceThatIsNotUtf8) {
  const Translator translator = random_translator(5);
  try {
    translator.translate(std::vector<std::string>{"fine", "b\xff"});
    FAIL();
  } catch (const InputError& e) {
    EXPECT_STREQ(e.what(), "sentence 2: invalid UTF-8 at byte 2");
  }
}

TEST(Translator, OptionsOutOfRangeAreUsageErrorsEvenWithoutSentences) {
  const Translator translator = random_translator(6);
  const std::vector<std::string> none;
  EXPECT_TRUE(translator.translate(none).empty());
  EXPECT_THROW(translator.translate(none, {.search = {.beam = 0}}), UsageError);
  EXPECT_THROW(translator.translate(none, {.search = {.beam = 2, .n_best = 3}}), UsageError);
  EXPECT_THROW(translator.translate(none, {.batch_tokens = 0}), UsageError);
}

TEST(Translator, ScoresGivenTranslations) {
  const Translator translator = random_translator(7);
  const std::vector<std::string> sources = {"I am cold.", "", "no", "a"}, targets = {"abc", "b", "", "hg fe"};
  const std::vector<PairScore> scores = translator.score(sources, targets);
  for (size_t i = 0; i < sources.size(); ++i) {
    const PairScore alone = translator.score(std::span(sources).subspan(i, 1), std::span(targets).subspan(i, 1))[0];
    EXPECT_EQ(alone.log_probability, scores[i].log_probability);
    EXPECT_EQ(scores[i].tokens.size(), scores[i].token_log_probabilities.size());
    EXPECT_EQ(scores[i].tokens.back(), "</s>");
    EXPECT_LT(scores[i].log_probability, 0.0);
  }
  EXPECT_THROW(translator.score(sources, std::span(targets).first(2)), InputError);
  EXPECT_TRUE(
      translator.score(std::vector<std::string>{"a"}, std::vector<std::string>{std::string(99, 'b')})[0].truncated);
}

TEST(Translator, OfAFolderEqualsThatOfItsParts) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / fmt::format("qkv-translator-{}", ::getpid());
  Translator translator = random_translator(8);
  const EncoderDecoder& model = translator.model();
  save_model(folder, model);
  EXPECT_THROW(Translator{folder}, InputError) << "no vocabularies";
  translator.source().save(folder / "source.model");
  translator.target().save(folder / "target.model");
  const auto expected = translator.translate(lines(), {}), got = Translator(folder).translate(lines(), {});
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(got[i].text, expected[i].text);
    EXPECT_EQ(got[i].score, expected[i].score);
  }
  translator.source().save(folder / "target.model");
  EXPECT_THROW(Translator{folder}, InputError) << "another vocabulary";
  std::filesystem::remove_all(folder);
  EXPECT_THROW(Translator{folder}, InputError) << "no folder";
}

TEST(Inspect, HasTheWeightsOfEveryLayerWithTheirTokens) {
  const Translator translator = random_translator(9);
  for (const std::optional<std::string>& target :
       {std::optional<std::string>(), std::optional<std::string>("ab c")}) {
    const Inspection e = inspect(translator, "I am cold.", {.target = target});
    const auto S = static_cast<int64_t>(translator.source().encode("I am cold.").size()) + 1;
    const auto T = static_cast<int64_t>(e.tokens.size());
    EXPECT_EQ(e.text, target.value_or(e.text));
    EXPECT_EQ(e.token_log_probabilities.size(), e.tokens.size());
    ASSERT_EQ(e.attention.size(), 3u);
    const Shape shapes[] = {{4, S, S}, {4, T, T}, {4, T, S}};
    for (size_t i = 0; i < 3; ++i) {
      ASSERT_EQ(e.attention[i].layers.size(), 2u);
      EXPECT_EQ(static_cast<int64_t>(e.attention[i].rows.size()), shapes[i][1]);
      EXPECT_EQ(static_cast<int64_t>(e.attention[i].columns.size()), shapes[i][2]);
      for (const Tensor& weights : e.attention[i].layers) {
        EXPECT_EQ(weights.shape(), shapes[i]);
        double sum = 0;
        for (const float w : weights.span<float>()) sum += w;
        EXPECT_NEAR(sum, static_cast<double>(4 * shapes[i][1]), 1e-3) << "rows sum to one";
      }
    }
    EXPECT_EQ(e.attention[1].columns.front(), "<s>");
    EXPECT_EQ(e.attention[1].rows.back(), "</s>");
    EXPECT_EQ(e.attention[1].layers[0].at<float>({0, 0, 1}), 0.0f) << "causal";
  }
}

TEST(Inspect, MatchesTheTranslationAndItsAlignment) {
  const Translator translator = random_translator(10);
  const TranslateOptions options = {.search = {.beam = 3, .max_length = 8, .alignment = true}};
  const std::string sentence = "the old tower";
  const Translation t = translator.translate(std::vector<std::string>{sentence}, options)[0];
  const Inspection e = inspect(translator, sentence, {.translate = options});
  EXPECT_EQ(e.text, t.text);
  EXPECT_NEAR(e.log_probability, t.log_probability, 1e-4);
  const Tensor& last = e.attention[2].layers.back();
  for (int64_t i = 0; i < t.alignment.dim(0); ++i)
    for (int64_t s = 0; s < t.alignment.dim(1); ++s) {
      float mean = 0;
      for (int64_t h = 0; h < 4; ++h) mean += last.at<float>({h, i, s}) / 4;
      EXPECT_NEAR(t.alignment.at<float>({i, s}), mean, 1e-6);
    }
}

TEST(Inspect, ABlankSentenceIsNotAnError) {
  const Inspection e = inspect(random_translator(11), "");
  EXPECT_EQ(e.text, "");
  EXPECT_EQ(e.tokens.size(), 1u);
}

TEST(LengthBatches, PutTheLongestFirstWithinTheTokensAndLoseNothing) {
  const std::vector<int64_t> lengths = {3, 9, 0, 4, 4, 100, 1};
  const auto batches = length_batches(lengths, {.tokens = 12});
  const std::vector<std::vector<size_t>> expected = {{5}, {1}, {3, 4, 0}, {6}};
  EXPECT_EQ(batches, expected);
  EXPECT_TRUE(length_batches({}, {.tokens = 12}).empty());
}

TEST(LengthBatches, TakeLittlePaddingOnceTheyHaveEnoughTokens) {
  const std::vector<int64_t> lengths = {16, 15, 9, 14, 13, 16, 8, 1};
  const auto batches = length_batches(lengths, {.tokens = 1000, .enough = 40});
  const std::vector<std::vector<size_t>> expected = {{0, 5, 1, 3}, {4, 2, 6}, {7}};
  EXPECT_EQ(batches, expected);
}

}  // namespace qkv::translator_test
