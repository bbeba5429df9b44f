// Attention weights of texts of language models.
#include "qkv/pipeline/inspect.h"

#include <cmath>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/decode/language_model_test.h"

namespace qkv::inspect_test {

void expect_rows_of_weights(const Tensor& weights, bool causal) {
  for (int64_t h = 0; h < weights.dim(0); ++h)
    for (int64_t t = 0; t < weights.dim(1); ++t) {
      double sum = 0;
      for (int64_t s = 0; s < weights.dim(2); ++s) {
        const float w = weights.at<float>({h, t, s});
        EXPECT_TRUE(w >= 0 && (!causal || s <= t || w == 0)) << h << " " << t << " " << s << ": " << w;
        sum += w;
      }
      EXPECT_NEAR(sum, 1, 1e-5);
    }
}

TEST(InspectText, OfACausalModelHasTheWeightsAndProbabilitiesOfEveryToken) {
  const Tokenizer tokenizer = language_model_tokenizer();
  const Generator generator(random_language_model<CausalTransformer>(3, tokenizer), tokenizer);
  for (const std::string text : {"I am cold.", ""}) {
    const Inspection e = inspect(generator, text);
    EXPECT_EQ(e.text, text);
    EXPECT_FALSE(e.truncated);
    ASSERT_EQ(e.attention.size(), 1u);
    const AttentionMaps& maps = e.attention[0];
    EXPECT_EQ(maps.title, "self-attention");
    EXPECT_EQ(maps.rows, e.tokens);
    EXPECT_EQ(maps.rows.back(), tokenizer.token(Tokenizer::eos));
    EXPECT_EQ(maps.columns.front(), tokenizer.token(Tokenizer::bos));
    ASSERT_EQ(maps.layers.size(), 2u);
    for (const Tensor& layer : maps.layers) {
      EXPECT_EQ(layer.shape(), (Shape{4, std::ssize(maps.rows), std::ssize(maps.columns)}));
      expect_rows_of_weights(layer, true);
    }
    if (text.empty()) continue;
    const TextScore score = generator.score(std::span(&text, 1))[0];
    EXPECT_EQ(e.tokens, score.tokens);
    EXPECT_EQ(e.token_log_probabilities, score.token_log_probabilities);
  }
}

TEST(InspectText, OfAMaskedModelFillsTheMasks) {
  const Tokenizer tokenizer = language_model_tokenizer();
  const MaskFiller filler(random_language_model<MaskedTransformer>(3, tokenizer), tokenizer);
  const std::string text = "I am [MASK] and [MASK].";
  const Inspection e = inspect(filler, text);
  const FilledText filled = filler.fill(text);
  EXPECT_EQ(e.text, filled.texts[0].text);
  EXPECT_NEAR(std::exp(e.log_probability), filled.texts[0].probability, 1e-9);
  const AttentionMaps& maps = e.attention.at(0);
  EXPECT_EQ(maps.rows, maps.columns);
  EXPECT_EQ(std::count(maps.rows.begin(), maps.rows.end(), "[MASK]"), 2);
  ASSERT_EQ(maps.layers.size(), 2u);
  for (const Tensor& layer : maps.layers) expect_rows_of_weights(layer, false);
}

TEST(InspectText, LongerThanTheModelIsCutAndMarked) {
  const Tokenizer tokenizer = language_model_tokenizer();
  std::string text;
  for (int i = 0; i < 100; ++i) text += "old ";
  const Inspection e = inspect(Generator(random_language_model<CausalTransformer>(3, tokenizer), tokenizer), text);
  EXPECT_TRUE(e.truncated);
  EXPECT_EQ(e.attention[0].columns.size(), 60u);
  const Inspection f = inspect(MaskFiller(random_language_model<MaskedTransformer>(3, tokenizer), tokenizer), text);
  EXPECT_TRUE(f.truncated);
  EXPECT_EQ(f.attention[0].columns.size(), 60u);
}

TEST(InspectText, ThatIsNotUtf8IsRefused) {
  const Tokenizer tokenizer = language_model_tokenizer();
  const Generator generator(random_language_model<CausalTransformer>(3, tokenizer), tokenizer);
  EXPECT_THROW(inspect(generator, "\xff"), InputError);
}

TEST(Inspect, ALongTextIsCutToWhatItsWeightsLeaveRoomFor) {
  TransformerConfig config;
  config.architecture = Architecture::causal;
  config.decoder_layers = config.heads = 12;
  config.positions = Positions::rotary;
  EXPECT_EQ(inspection_limit(config), 482);  // 144 heads of 482 * 482 weights
  config.positions = Positions::learned;
  config.max_positions = 100;
  EXPECT_EQ(inspection_limit(config), 100);
  EXPECT_EQ(inspection_limit(RecurrentConfig()), 4096);  // one map: 5792 * 5792 weights would fit

  const Tokenizer tokenizer = language_model_tokenizer();
  const Generator generator(random_language_model<CausalTransformer>(3, tokenizer), tokenizer);
  const Inspection e = inspect(generator, "I am here and it is cold.", 4);
  EXPECT_TRUE(e.truncated);
  EXPECT_EQ(e.tokens.size(), 4u);
  EXPECT_EQ(e.attention.at(0).layers.at(0).dim(2), 4);
  EXPECT_FALSE(inspect(generator, "I", 40).truncated);
  const MaskFiller filler(random_language_model<MaskedTransformer>(3, tokenizer), tokenizer);
  const Inspection f = inspect(filler, "[MASK] am here and it is cold.", "[MASK]", 5);
  EXPECT_TRUE(f.truncated);
  EXPECT_EQ(f.attention.at(0).rows.size(), 5u);
}

}  // namespace qkv::inspect_test
