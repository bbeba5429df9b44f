#include "qkv/text/language_tokens.h"

#include <gtest/gtest.h>

#include "qkv/base/json.h"
#include "qkv/text/tokenizer/stored_tokenizer.h"

namespace qkv::language_tokens_test {

// Words, of which `added` are added tokens.
Tokenizer words(const std::vector<std::string>& texts, const std::vector<std::string>& added, int64_t rows = 0) {
  Json vocabulary = Json::object(), tokens = Json::array();
  int id = 0;
  for (const std::string& text : texts) vocabulary[text] = id++;
  for (const std::string& text : added) tokens.push_back({{"id", id++}, {"content", text}, {"special", true}});
  const Json json = {{"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
                     {"added_tokens", tokens},
                     {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}}}};
  return Tokenizer(
      make_json_tokenizer(json.dump(), "test", {.pad = -1, .bos = -1, .eos = -1, .unk = -1, .rows = rows}));
}

std::string error_of(const Tokenizer& tokenizer, const std::string& language) {
  try {
    language_token(tokenizer, language, "target-language");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(LanguageTokens, AreAddedTokensThatAreWrittenLikeLanguages) {
  const Tokenizer nllb = words({"de", "the"}, {"</s>", "<mask>", "eng_Latn", "deu_Latn", "zh-Hans"});
  EXPECT_EQ(language_tokens(nllb), (std::vector<std::string>{"eng_Latn", "deu_Latn", "zh-Hans"}));
  EXPECT_EQ(language_token(nllb, "deu_Latn", "target-language"), 5);
  EXPECT_EQ(error_of(nllb, "de"),
            "translate: target-language: 'de' is not one of the 3 languages of this model, eng_Latn, deu_Latn, "
            "zh-Hans; did you mean deu_Latn?");
  EXPECT_NE(error_of(nllb, "</s>").find("'</s>' is not one"), std::string::npos);
  EXPECT_NE(error_of(nllb, "deu").find("did you mean deu_Latn?"), std::string::npos);
}

// A vocabulary may have more tokens than the model.
TEST(LanguageTokens, AreThoseThatTheModelHas) {
  const Tokenizer nllb = words({"the"}, {"</s>", "eng_Latn", "deu_Latn"}, /*rows=*/3);
  EXPECT_EQ(language_tokens(nllb), std::vector<std::string>{"eng_Latn"});
  EXPECT_NE(error_of(nllb, "deu_Latn").find("'deu_Latn' is not one of the 1 languages"), std::string::npos);
}

TEST(LanguageTokens, MayBeNamedWithoutTheirMarks) {
  const Tokenizer m2m100 = words({"en", "the"}, {"</s>", "__en__", "__de__"});
  EXPECT_EQ(language_token(m2m100, "en", "source-language"), 3) << "not the word";
  EXPECT_EQ(language_token(m2m100, "__de__", "source-language"), 4);
  const Tokenizer marian = words({"fra", ">>fra<<"}, {"</s>"});
  EXPECT_EQ(language_token(marian, "fra", "source-language"), 1);
}

TEST(LanguageTokens, AModelOfTwoLanguagesHasNone) {
  EXPECT_EQ(
      error_of(words({"de", "the"}, {"</s>", "<pad>"}), "de"),
      "translate: target-language: this model has no language tokens, so there are no languages to choose from, "
      "got 'de'");
}

}  // namespace qkv::language_tokens_test
