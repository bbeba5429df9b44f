#include "qkv/pipeline/mask_filler.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <unistd.h>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/decode/language_model_test.h"
#include "qkv/model/model_file.h"
#include "qkv/pipeline/marked_text.h"
#include "qkv/published/published_folder_test.h"

namespace qkv::mask_filler_test {

const std::vector<std::string> texts = {"I am [MASK].", "[MASK] a [MASK]", "no mask", "",
                                        "the [MASK] tower is old"};

MaskFiller random_filler(uint64_t seed) {
  const Tokenizer tokenizer = language_model_tokenizer();
  return {random_language_model<MaskedTransformer>(seed, tokenizer), tokenizer};
}

TEST(MaskFiller, GivesTheMostLikelyTokensOfTheWholeVocabulary) {
  const MaskFiller filler = random_filler(1);
  const std::string text = "I am [MASK].";
  const FilledText filled = filler.fill(text, {.top_k = 1000});
  std::vector<int32_t> ids = encode_marked(text, filler.tokenizer(), {.marker = "[MASK]", .id = filler.mask()});
  ids.insert(ids.begin(), Tokenizer::bos);
  ids.push_back(Tokenizer::eos);
  const int64_t at = std::find(ids.begin(), ids.end(), filler.mask()) - ids.begin();
  const NoGrad guard;
  Pass pass;
  const auto T = static_cast<int32_t>(ids.size());
  const Tensor logits = filler.model().logits(filler.model().encode(Tensor::from(ids, {1, T}), {T}, pass)).value();
  double sum = 0;
  for (int64_t v = 0; v < logits.dim(2); ++v) sum += std::exp(double{logits.at<float>({0, at, v})});
  ASSERT_EQ(filled.masks.size(), 1u);
  EXPECT_EQ(std::ssize(filled.masks[0]), filler.tokenizer().size() - 4) << "all but the special tokens";
  double before = 1;
  for (const MaskCandidate& c : filled.masks[0]) {
    EXPECT_NEAR(c.probability, std::exp(double{logits.at<float>({0, at, c.id})}) / sum, 1e-6);
    EXPECT_EQ(c.token, filler.tokenizer().token(c.id));
    EXPECT_LE(c.probability, before);
    before = c.probability;
  }
  ids[static_cast<size_t>(at)] = filled.masks[0][0].id;
  EXPECT_EQ(filled.texts[0].text, filler.tokenizer().decode(ids));
  EXPECT_EQ(filled.texts[0].probability, filled.masks[0][0].probability);
}

TEST(MaskFiller, TheMaskIsATokenOfTheVocabularyOrTheNextId) {
  for (const TokenizerType type : {TokenizerType::word_piece, TokenizerType::bpe}) {
    const Tokenizer tokenizer = language_model_tokenizer(type);
    const bool is_inside = type == TokenizerType::word_piece;
    const auto rows = [&](TransformerConfig& c) {
      c.source_vocabulary = c.target_vocabulary = tokenizer.rows(/*is_masked=*/true);
    };
    const MaskFiller filler(random_language_model<MaskedTransformer>(1, tokenizer, rows), tokenizer);
    EXPECT_EQ(filler.mask(), is_inside ? 4 : tokenizer.size());
    EXPECT_EQ(filler.model().config().source_vocabulary(), tokenizer.size() + (is_inside ? 0 : 1));
    EXPECT_EQ(filler.fill("I am [MASK].").masks.size(), 1u);
    EXPECT_EQ(filler.fill({"I am [MASK].", "Go on."}).size(), 2u);
  }
}

TEST(MaskFiller, AModelWithoutAHeadIsRefused) {
  const Tokenizer tokenizer = language_model_tokenizer();
  const auto headless = [](TransformerConfig& c) { c.head = false; };
  try {
    MaskFiller(random_language_model<MaskedTransformer>(1, tokenizer, headless), tokenizer, "words");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("words: this model has no head")) << error.what();
  }
}

// Its first token is one like the others.
TEST(MaskFiller, OfAVocabularyWithoutAnEndEveryTokenIsAnAnswer) {
  const test::PublishedFolder folder("bert");
  folder.give_number_tokenizer();
  auto tokenizer = test::PublishedFolder::Json::parse(read_file(folder.path() / "tokenizer.json"));
  tokenizer["model"].erase("unk_token");
  folder.write("tokenizer.json", tokenizer.dump());
  folder.change("pad_token_id", 7);
  const FilledText filled = MaskFiller(folder.path()).fill("5 [MASK] 6", {.top_k = 1000});
  EXPECT_EQ(std::ssize(filled.masks.at(0)), folder.config()["vocab_size"].get<int64_t>() - 2)
      << "but [MASK] and the padding";
  EXPECT_TRUE(
      std::any_of(filled.masks[0].begin(), filled.masks[0].end(), [](auto& token) { return token.id == 0; }));
}

TEST(MaskFiller, AnAnswerDoesNotDependOnTheOtherTexts) {
  const MaskFiller filler = random_filler(2);
  for (const int64_t batch_tokens : {1, 1000}) {
    const auto together = filler.fill(texts, {.n_best = 3, .batch_tokens = batch_tokens});
    for (size_t i = 0; i < texts.size(); ++i) {
      const FilledText alone = filler.fill(texts[i], {.n_best = 3});
      ASSERT_EQ(alone.masks.size(), together[i].masks.size());
      for (size_t m = 0; m < alone.masks.size(); ++m)
        for (size_t c = 0; c < 5; ++c) {
          EXPECT_EQ(alone.masks[m][c].id, together[i].masks[m][c].id);
          EXPECT_EQ(alone.masks[m][c].probability, together[i].masks[m][c].probability);
        }
      for (size_t n = 0; n < alone.texts.size(); ++n) EXPECT_EQ(alone.texts[n].text, together[i].texts[n].text);
    }
  }
}

// Logits are computed for some hundred masks at once.
TEST(MaskFiller, EachOfManyMasksOfABatchIsAsAlone) {
  const MaskFiller filler = random_filler(5);
  const std::vector<std::string> many(200, texts[1]);
  const FilledText alone = filler.fill(texts[1], {.n_best = 3});
  for (const FilledText& filled : filler.fill(many, {.n_best = 3})) {
    ASSERT_EQ(filled.masks.size(), 2u);
    ASSERT_EQ(filled.texts.size(), 3u);
    for (size_t n = 0; n < 3; ++n) {
      EXPECT_EQ(filled.texts[n].text, alone.texts[n].text);
      EXPECT_EQ(filled.texts[n].probability, alone.texts[n].probability);
    }
  }
}

TEST(MaskFiller, TheBestTextsAreThoseOfAllCombinations) {
  const MaskFiller filler = random_filler(3);
  const FilledText filled = filler.fill("[MASK] a [MASK]", {.top_k = 1000, .n_best = 10});
  std::vector<double> all;
  for (const MaskCandidate& a : filled.masks[0])
    for (const MaskCandidate& b : filled.masks[1]) all.push_back(a.probability * b.probability);
  std::sort(all.begin(), all.end(), std::greater());
  ASSERT_EQ(filled.texts.size(), 10u);
  for (size_t n = 0; n < 10; ++n) EXPECT_EQ(filled.texts[n].probability, all[n]);
  EXPECT_EQ(filler.fill("[MASK] a [MASK]", {.top_k = 2}).masks[1].size(), 2u);
}

TEST(MaskFiller, ATextWithoutAMaskIsItsOwnAnswer) {
  const FilledText filled = random_filler(4).fill("no mask");
  EXPECT_TRUE(filled.masks.empty());
  ASSERT_EQ(filled.texts.size(), 1u);
  EXPECT_EQ(filled.texts[0].text, "no mask");
  EXPECT_EQ(filled.texts[0].probability, 1);
}

TEST(MaskFiller, TheMarkerIsAnOption) {
  const MaskFiller filler = random_filler(5);
  EXPECT_EQ(filler.fill("I am <mask>.", {.marker = "<mask>"}).texts[0].text,
            filler.fill("I am [MASK].").texts[0].text);
  EXPECT_THROW(filler.fill("a", {.marker = ""}), UsageError);
  EXPECT_THROW(filler.fill("a", {.top_k = 0}), UsageError);
  EXPECT_THROW(filler.fill("a", {.n_best = 0}), UsageError);
  EXPECT_THROW(filler.fill("\xff"), InputError);
}

TEST(MaskFiller, ALongTextIsCutAndMarked) {
  const MaskFiller filler = random_filler(6);
  std::string text = "[MASK] ";
  for (int i = 0; i < 100; ++i) text += "am ";
  const FilledText filled = filler.fill(text + "[MASK]");
  EXPECT_TRUE(filled.truncated);
  EXPECT_EQ(filled.masks.size(), 1u);
}

TEST(MaskFiller, OfAFolderEqualsThatOfItsParts) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / fmt::format("qkv-mask-filler-{}", ::getpid());
  const MaskFiller filler = random_filler(7);
  save_model(folder, filler.model(), {{"tokenizer.model", filler.tokenizer().checksum()}});
  filler.tokenizer().save(folder / "tokenizer.model");
  EXPECT_EQ(MaskFiller(folder).fill(texts[0]).texts[0].text, filler.fill(texts[0]).texts[0].text);
  save_model(folder, random_language_model<CausalTransformer>(1, filler.tokenizer()));
  EXPECT_THROW(MaskFiller{folder}, InputError) << "a causal model";
  std::filesystem::remove_all(folder);
}

}  // namespace qkv::mask_filler_test
