// Models in which the padding of a batch would change a row: their rows are batched by length.
#include <algorithm>
#include <span>

#include <gtest/gtest.h>

#include "qkv/decode/alignment.h"
#include "qkv/decode/model_test.h"
#include "qkv/pipeline/embedder.h"
#include "qkv/pipeline/generator.h"
#include "qkv/pipeline/mask_filler.h"
#include "qkv/pipeline/translator.h"
#include "qkv/published/published_folder_test.h"

namespace qkv::row_in_batch_test {

using test::PublishedFolder;

// "5 12 19 ...": ids of the number tokenizer.
std::string numbers(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}{}", i == 0 ? "" : " ", 5 + i * 7 % 90);
  return text;
}

std::vector<float> first_row(const Tensor& vectors) {
  const auto row = vectors.span<float>().subspan(0, static_cast<size_t>(vectors.dim(1)));
  return {row.begin(), row.end()};
}

TEST(ARowDoesNotDependOnItsBatch, InEmbeddings) {
  for (const char* name : {"big-bird", "llama-dynamic", "phi3"}) {
    const PublishedFolder folder(name);
    folder.give_number_tokenizer();
    const Embedder embedder(folder.path());
    for (const int length : {1, 5, 30}) {
      const std::vector<std::string> both = {numbers(length), numbers(45), numbers(length)};
      EXPECT_EQ(first_row(embedder.embed(both).vectors),
                first_row(embedder.embed(std::span(both).subspan(0, 1)).vectors))
          << name << " " << length;
    }
  }
}

TEST(ARowDoesNotDependOnItsBatch, InScores) {
  for (const char* name : {"llama-dynamic", "phi3"}) {
    const PublishedFolder folder(name);
    folder.give_number_tokenizer();
    const Generator generator(folder.path());
    const std::vector<std::string> both = {numbers(5), numbers(40)};
    EXPECT_EQ(generator.score(both)[0].token_log_probabilities,
              generator.score(std::span(both).subspan(0, 1))[0].token_log_probabilities)
        << name;
  }
}

TEST(ARowDoesNotDependOnItsBatch, InFilledMasks) {
  const PublishedFolder folder("big-bird");
  folder.give_number_tokenizer();
  const MaskFiller filler(folder.path());
  const std::vector<std::string> both = {"[MASK] " + numbers(30), numbers(20) + " [MASK] " + numbers(25)};
  const FilledText alone = filler.fill(both[0]), together = filler.fill(both)[0];
  ASSERT_EQ(alone.masks.size(), 1u);
  for (size_t i = 0; i < alone.masks[0].size(); ++i) {
    EXPECT_EQ(alone.masks[0][i].id, together.masks[0][i].id);
    EXPECT_EQ(alone.masks[0][i].probability, together.masks[0][i].probability);
  }
}

// Encoder-decoders whose encoder, decoder or both depend on the length.
std::vector<SelfAttention> that_depend_on_length() {
  const Rotary dynamic = {.scaling = {.type = RotaryScalingType::dynamic, .factor = 4, .original_positions = 4}};
  const Rotary longrope = {.scaling = {.type = RotaryScalingType::longrope,
                                       .factor = 4,
                                       .original_positions = 6,
                                       .short_factors = {1, 1.5},
                                       .long_factors = {2, 3}}};
  const BigBirdEvaluation blocks = {.block = 2, .random = 1};
  return {{dynamic, dynamic}, {dynamic, Full{}}, {Full{}, dynamic}, {longrope, Full{}}, {blocks, Full{}}};
}

Translator random_translator(const SelfAttention& self_attention) {
  const Tokenizer characters =
      Tokenizer::train(std::vector<std::string>{"the cat sat on the mat and saw a dog"},
                       {.type = TokenizerType::character, .vocabulary_size = 40, .character_coverage = 1});
  return {random_model(5,
                       [&](TransformerConfig& c) {
                         c.source_vocabulary = c.target_vocabulary = characters.size();
                         c.positions = Positions::none;
                         c.self_attention = self_attention;
                       }),
          characters, characters};
}

const std::vector<std::string> sentences = {"the cat",
                                            "the cat sat on the mat and saw a dog",
                                            "a dog",
                                            "the mat",
                                            "the dog",
                                            "a",
                                            "saw the cat on the mat"};

void expect_same(const Translation& together, const Translation& alone, const std::string& name) {
  ASSERT_EQ(together.n_best.size(), alone.n_best.size()) << name;
  for (size_t i = 0; i < alone.n_best.size(); ++i) {
    const Candidate &a = together.n_best[i], &b = alone.n_best[i];
    EXPECT_EQ(a.text, b.text) << name;
    EXPECT_EQ(a.score, b.score) << name;
    ASSERT_EQ(a.alignment.shape(), b.alignment.shape()) << name;
    const auto weights = a.alignment.span<float>(), expected = b.alignment.span<float>();
    EXPECT_TRUE(std::equal(weights.begin(), weights.end(), expected.begin())) << name << ": " << a.text;
  }
}

TEST(ARowDoesNotDependOnItsBatch, InTranslationsAndTheirAlignments) {
  const std::vector<std::string> prefixes = {"a", "", "the mat", "the", "", "saw a dog", "on"};
  for (const SelfAttention& variant : that_depend_on_length()) {
    const Translator translator = random_translator(variant);
    ASSERT_TRUE(translator.model().config().depends_on_length());
    for (const bool begins : {false, true}) {
      TranslateOptions options = {.search = {.beam = 3, .n_best = 3, .max_length = 14, .alignment = true}};
      if (begins) options.prefixes = prefixes;
      const std::vector<Translation> together = translator.translate(sentences, options);
      for (size_t i = 0; i < sentences.size(); ++i) {
        if (begins) options.prefixes = {prefixes[i]};
        expect_same(together[i], translator.translate(sentences[i], options),
                    fmt::format("{}, '{}'", to_string(variant), sentences[i]));
      }
    }
  }
}

// Of translations of one source, of several lengths.
TEST(ARowDoesNotDependOnItsBatch, InAlignments) {
  const std::vector<std::vector<int32_t>> targets = {
      {5, 6, 7}, {8, 9, 10, 11, 4, 5, 6, 7, 8, 9, 10}, {}, {7, 8}, {6, 5, 4}};
  const std::vector<int64_t> sources(targets.size(), 0);
  const NoGrad guard;
  for (const SelfAttention& variant : that_depend_on_length()) {
    const Translator translator = random_translator(variant);
    Pass pass;
    const Encoded encoded =
        translator.model().encode(Tensor::from(std::vector<int32_t>{4, 5, 6, 7, 2}, {1, 5}), {5}, pass);
    const std::vector<Tensor> together = alignments(translator.model(), encoded, sources, targets);
    for (size_t i = 0; i < targets.size(); ++i) {
      const Tensor alone =
          alignments(translator.model(), encoded, std::span(sources).first(1), std::span(targets).subspan(i, 1))[0];
      ASSERT_EQ(together[i].shape(), alone.shape());
      const auto weights = together[i].span<float>(), expected = alone.span<float>();
      EXPECT_TRUE(std::equal(weights.begin(), weights.end(), expected.begin())) << to_string(variant) << ", " << i;
    }
  }
}

TEST(ARowDoesNotDependOnItsBatch, InScoresOfPairs) {
  std::vector<std::string> sources = sentences, targets = sentences;
  std::rotate(targets.begin(), targets.begin() + 2, targets.end());
  sources.insert(sources.end(), {"", "the cat", ""});
  targets.insert(targets.end(), {"the mat", "", ""});
  std::vector<SelfAttention> variants = that_depend_on_length();
  variants.emplace_back(Full{});
  for (const SelfAttention& variant : variants) {
    const Translator translator = random_translator(variant);
    const std::vector<PairScore> together = translator.score(sources, targets);
    for (size_t i = 0; i < sources.size(); ++i)
      EXPECT_EQ(together[i].token_log_probabilities,
                translator.score(std::span(sources).subspan(i, 1), std::span(targets).subspan(i, 1))[0]
                    .token_log_probabilities)
          << to_string(variant) << ", " << i;
  }
}

}  // namespace qkv::row_in_batch_test
