// Search, scores, alignment and inspection with the recurrent encoder-decoders.
#include <filesystem>
#include <unistd.h>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/model/make_model.h"
#include "qkv/pipeline/embedder.h"
#include "qkv/pipeline/inspect.h"
#include "qkv/pipeline/translator.h"
#include "qkv/published/load_model.h"
#include "qkv/test_support/tensors.h"

namespace qkv::recurrent_translator_test {

const std::vector<std::string> lines = {"I am cold.", "a", "", "Where are the two old towers?", "the rain is cold"};

class RecurrentTranslator : public testing::TestWithParam<Architecture> {
 protected:
  RecurrentTranslator()
      : vocabulary_(Tokenizer::train(
            lines, {.type = TokenizerType::character, .vocabulary_size = 60, .character_coverage = 1})),
        translator_(model(), vocabulary_, vocabulary_) {}

  std::shared_ptr<const EncoderDecoder> model() const {
    std::shared_ptr<Model> model =
        make_model(RecurrentConfig{.architecture = GetParam(),
                                   .source_vocabulary = vocabulary_.size(),
                                   .target_vocabulary = vocabulary_.size(),
                                   .d_model = 16,
                                   .encoder_layers = 2,
                                   .decoder_layers = GetParam() == Architecture::bahdanau ? 1 : 2});
    uint64_t stream = 0;
    model->visit([&](const std::string&, Variable& p) {
      p.mutable_value().copy_from(test::random_tensor(p.shape(), ++stream, 0.6));
    });
    return std::dynamic_pointer_cast<const EncoderDecoder>(model);
  }

  Tokenizer vocabulary_;
  Translator translator_;
};

TEST_P(RecurrentTranslator, TranslatesEverySentenceIndependentlyOfTheOthers) {
  for (const int64_t beam : {1, 3}) {
    const TranslateOptions options = {.search = {.beam = beam, .n_best = beam, .alignment = true}};
    const std::vector<Translation> together = translator_.translate(lines, options);
    for (size_t i = 0; i < lines.size(); ++i) {
      const Translation alone = translator_.translate(std::span(&lines[i], 1), options)[0];
      EXPECT_EQ(together[i].text, alone.text);
      EXPECT_EQ(together[i].score, alone.score);
    }
  }
}

TEST_P(RecurrentTranslator, LogProbabilitiesOfSearchAreThoseOfScore) {
  const Encoded encoded = [&] {
    const NoGrad guard;
    Pass pass;
    return translator_.model().encode(Tensor::from(std::vector<int32_t>{5, 6, 7, 8, 9, 4}, {2, 3}), {3, 2}, pass);
  }();
  const auto found =
      search(translator_.model(), encoded, {.beam = 3, .n_best = 3, .max_length = 9, .alignment = true});
  for (size_t b = 0; b < 2; ++b)
    for (const Hypothesis& hypothesis : found[b]) {
      const std::vector<int64_t> row = {static_cast<int64_t>(b)};
      const std::vector<std::vector<int32_t>> targets = {hypothesis.ids};
      const TargetScore score = score_targets(translator_.model(), gather_rows(encoded, row), targets)[0];
      double sum = 0;
      for (const double log_probability : score.token_log_probabilities) sum += log_probability;
      if (hypothesis.ids.size() < 9) {  // with the end
        EXPECT_NEAR(hypothesis.log_probability, sum, 1e-4);
      }
      ASSERT_EQ(hypothesis.alignment.shape(), (Shape{std::ssize(hypothesis.ids), encoded.lengths[b]}));
      for (int64_t t = 0; t < hypothesis.alignment.dim(0); ++t) {
        double weights = 0;
        for (int64_t s = 0; s < encoded.lengths[b]; ++s) weights += hypothesis.alignment.at<float>({t, s});
        EXPECT_NEAR(weights, 1, 1e-5);
      }
    }
}

TEST_P(RecurrentTranslator, IsInspectedByItsCrossAttentionAlone) {
  const Inspection seen = inspect(translator_, lines[0]);
  ASSERT_EQ(seen.attention.size(), 1u);
  const AttentionMaps& maps = seen.attention[0];
  EXPECT_EQ(maps.use, AttentionUse::cross);
  ASSERT_EQ(maps.layers.size(), 1u);
  EXPECT_EQ(maps.layers[0].shape(), (Shape{1, std::ssize(maps.rows), std::ssize(maps.columns)}));
  EXPECT_EQ(maps.rows, seen.tokens);
}

TEST_P(RecurrentTranslator, ComesBackFromItsFolderAndEmbedsSentences) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) /
                                       fmt::format("recurrent-translator.{}.{}", name_of(GetParam()), ::getpid());
  std::filesystem::create_directories(folder);
  for (const char* file : {"source.model", "target.model"}) vocabulary_.save(folder / file);
  save_model(folder, translator_.model());
  const Translator back(folder);
  EXPECT_EQ(to_json(back.model().config()), to_json(translator_.model().config()));
  for (const std::string& line : lines)
    EXPECT_EQ(back.translate(std::span(&line, 1), {.search = {.beam = 2}})[0].score,
              translator_.translate(std::span(&line, 1), {.search = {.beam = 2}})[0].score);
  const Embedder embedder(folder);
  EXPECT_EQ(embedder.embed(lines).vectors.dim(1), GetParam() == Architecture::bahdanau ? 32 : 16);
  EXPECT_THROW(load_model(folder), InputError) << "not a Transformer";
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Models, RecurrentTranslator, testing::Values(Architecture::bahdanau, Architecture::luong),
                         [](const auto& of) { return std::string(name_of(of.param)); });

}  // namespace qkv::recurrent_translator_test
