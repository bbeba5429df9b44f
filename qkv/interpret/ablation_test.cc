// Losses and translations without some heads, compared with those of a model whose output projections do not read them.
#include "qkv/interpret/ablation.h"

#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/decode/language_model_test.h"
#include "qkv/decode/model_test.h"
#include "qkv/metric/bleu.h"
#include "qkv/model/make_model.h"
#include "qkv/test_support/tensors.h"

namespace qkv::ablation_test {

const std::vector<std::string> sources = {"I am cold.", "Where are the two old towers?", "no"},
                               references = {"abcd efgh", "l", "kkk"};

Tokenizer characters(const std::vector<std::string>& lines) {
  return Tokenizer::train(lines,
                          {.type = TokenizerType::character, .vocabulary_size = 60, .character_coverage = 1});
}

// In the columns of these heads the matrix `name` has zeros.
void do_not_read(Module& model, const std::string& name, const std::vector<int64_t>& heads) {
  int found = 0;
  model.visit([&](const std::string& parameter, Variable& p) {
    if (parameter != name) return;
    ++found;
    for (const int64_t head : heads) p.mutable_value().slice(1, 4 * head, 4 * head + 4).fill(0);
  });
  EXPECT_EQ(found, 1) << name;
}

Translator translator(const std::string& name = "", const std::vector<int64_t>& heads = {}) {
  const Tokenizer source = characters(sources), target = characters(references);
  Transformer model = random_model(3, [&](TransformerConfig& c) {
    c.source_vocabulary = source.size();
    c.target_vocabulary = target.size();
    c.tie = Tie::none;
  });
  if (!heads.empty()) do_not_read(model, name, heads);
  return {std::move(model), source, target};
}

struct Loss {
  double mean;
  int64_t tokens;
};

Loss loss_of(const Translator& translator) {
  double sum = 0;
  int64_t tokens = 0;
  for (const PairScore& score : translator.score(sources, references)) {
    sum -= score.log_probability;
    tokens += std::ssize(score.token_log_probabilities);
  }
  return {sum / static_cast<double>(tokens), tokens};
}

double bleu_of(const Translator& translator) {
  std::vector<std::string> lines;
  for (const Translation& t : translator.translate(sources)) lines.push_back(t.text);
  return bleu(lines, references).score;
}

TEST(Ablation, OfATranslatorIsALossAndABleuWithoutTheHeads) {
  const Translator whole = translator();
  const ModelConfig& config = whole.model().config();
  std::vector<NamedHeads> groups;
  for (const char* text : {"decoder.1.cross.2", "decoder.0.self.1,decoder.0.self.3", "encoder.1.self"})
    groups.push_back(heads_named(text, config, "test")[0]);
  int64_t done = 0;
  const Ablation found = ablate(whole, sources, references, groups, {}, [&](int64_t n) { EXPECT_EQ(n, ++done); });
  EXPECT_EQ(done, 4);
  EXPECT_EQ(found.texts, 3);
  EXPECT_EQ(found.tokens, loss_of(whole).tokens);
  EXPECT_EQ(found.whole.loss, loss_of(whole).mean);
  EXPECT_EQ(found.whole.bleu, bleu_of(whole));
  const std::vector<Translator> without = {translator("decoder.layers.1.cross_attention.out.weight", {2}),
                                           translator("decoder.layers.0.self_attention.out.weight", {1, 3}),
                                           translator("encoder.layers.1.self_attention.out.weight", {0, 1, 2, 3})};
  for (size_t i = 0; i < groups.size(); ++i) {
    EXPECT_EQ(found.ablated[i].name, groups[i].name);
    EXPECT_NEAR(found.ablated[i].loss, loss_of(without[i]).mean, 1e-9) << groups[i].name;
    EXPECT_NE(found.ablated[i].loss, found.whole.loss);
    EXPECT_NEAR(*found.ablated[i].bleu, bleu_of(without[i]), 1e-9) << groups[i].name;
  }
  EXPECT_FALSE(ablate(whole, sources, references, groups, {.bleu = false}).whole.bleu.has_value());
}

TEST(Ablation, OfAGeneratorIsItsPerplexityWithoutTheHeads) {
  const Tokenizer tokenizer = language_model_tokenizer();
  const Generator whole(random_language_model<CausalTransformer>(3, tokenizer), tokenizer);
  auto changed = random_language_model<CausalTransformer>(3, tokenizer);
  do_not_read(changed, "layers.1.self_attention.out.weight", {2});
  const Generator without(std::move(changed), tokenizer);
  const Ablation found = ablate(whole, sources, heads_named("decoder.1.self.2", whole.model().config(), "test"));
  const Ablation wanted = ablate(without, sources, {});
  EXPECT_NEAR(found.ablated[0].loss, wanted.whole.loss, 1e-9);
  EXPECT_NEAR(found.ablated[0].perplexity(), std::exp(wanted.whole.loss), 1e-9);
  EXPECT_NE(found.ablated[0].loss, found.whole.loss);
}

TEST(Ablation, OfAMaskFillerIsTheLossOfItsMaskedTokensWithoutTheHeads) {
  const Tokenizer tokenizer = language_model_tokenizer();
  const MaskFiller whole(random_language_model<MaskedTransformer>(3, tokenizer), tokenizer);
  auto changed = random_language_model<MaskedTransformer>(3, tokenizer);
  do_not_read(changed, "layers.1.self_attention.out.weight", {2});
  const MaskFiller without(std::move(changed), tokenizer);
  const Ablation found = ablate(whole, sources, heads_named("encoder.1.self.2", whole.model().config(), "test"));
  const Ablation wanted = ablate(without, sources, {});
  double sum = 0;
  int64_t tokens = 0;
  for (const MaskedTextScore& score : whole.score(sources)) {
    sum -= score.log_probability;
    tokens += std::ssize(score.tokens);
  }
  EXPECT_EQ(found.tokens, tokens);
  EXPECT_NEAR(found.whole.loss, sum / static_cast<double>(tokens), 1e-9);
  EXPECT_NEAR(found.ablated[0].loss, wanted.whole.loss, 1e-9);
  EXPECT_NE(found.ablated[0].loss, found.whole.loss);
}

TEST(Ablation, OfARecurrentModelHasOneHead) {
  const Tokenizer tokenizer = characters(sources);
  std::shared_ptr<Model> model = make_model(RecurrentConfig{.architecture = Architecture::luong,
                                                            .source_vocabulary = tokenizer.size(),
                                                            .target_vocabulary = tokenizer.size(),
                                                            .d_model = 16,
                                                            .encoder_layers = 1,
                                                            .decoder_layers = 1});
  uint64_t stream = 0;
  model->visit([&](const std::string&, Variable& p) {
    p.mutable_value().copy_from(test::random_tensor(p.shape(), ++stream, 0.6));
  });
  const Translator recurrent(std::dynamic_pointer_cast<const EncoderDecoder>(model), tokenizer, tokenizer);
  const Ablation found =
      ablate(recurrent, sources, sources, heads_named("all", recurrent.model().config(), "test"), {.bleu = false});
  ASSERT_EQ(found.ablated.size(), 1u);
  EXPECT_GT(std::abs(found.ablated[0].loss - found.whole.loss), 1e-3);
}

TEST(Ablation, ATableHasTheLargestLossFirst) {
  const Ablation found = {.whole = {"none", 1.0, 30.0},
                          .ablated = {{"a", 1.1, 29.5}, {"b", 1.5, 20.25}, {"c", 0.9, 30.5}},
                          .texts = 1,
                          .tokens = 2};
  const std::string text = ablation_table(found.sorted());
  EXPECT_LT(text.find("b  "), text.find("a  ")) << text;
  EXPECT_LT(text.find("a  "), text.find("c  ")) << text;
  for (const char* part : {"+0.5000", "-9.75", "4.482", "20.25"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Ablation, NeedsTextsAndAReferenceForEach) {
  const Translator whole = translator();
  EXPECT_THROW(ablate(whole, {}, {}, {}), InputError);
  EXPECT_THROW(ablate(whole, sources, std::span(references).first(2), {}), InputError);
}

}  // namespace qkv::ablation_test
