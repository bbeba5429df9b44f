#include "qkv/pipeline/marked_text.h"

#include <gtest/gtest.h>

#include "qkv/decode/language_model_test.h"

namespace qkv::marked_text_test {

using Tokens = std::vector<std::string>;

struct Case {
  TokenizerType type;
  bool lossless;
};
void PrintTo(const Case& c, std::ostream* out) { *out << name_of(c.type) << (c.lossless ? " lossless" : ""); }
class MarkedText : public testing::TestWithParam<Case> {
 protected:
  Tokenizer tokenizer = Tokenizer::train(language_model_lines(), {.type = GetParam().type,
                                                                  .vocabulary_size = GetParam().lossless ? 300 : 45,
                                                                  .character_coverage = 1,
                                                                  .lossless = GetParam().lossless});
  int32_t mask = static_cast<int32_t>(tokenizer.size());

  std::vector<int32_t> encode(const std::string& text) const {
    return encode_marked(text, tokenizer, {.marker = "[MASK]", .id = mask});
  }
  // The text of the ids with this in the place of the mask.
  std::string filled(std::vector<int32_t> ids, const std::string& token) const {
    for (int32_t& id : ids)
      if (id == mask)
        for (id = 0; tokenizer.token(id) != token;) ++id;
    return tokenizer.decode(ids);
  }
};
INSTANTIATE_TEST_SUITE_P(EveryTokenizer, MarkedText,
                         testing::Values(Case{TokenizerType::bpe, false}, Case{TokenizerType::bpe, true},
                                         Case{TokenizerType::unigram, false}, Case{TokenizerType::unigram, true},
                                         Case{TokenizerType::character, false}));

TEST_P(MarkedText, WithoutAMarkerIsAnOrdinaryText) {
  for (const std::string text : {"", "I am cold.", "the rain \u00e9", " two  old "})
    EXPECT_EQ(encode(text), tokenizer.encode(text)) << text;
}

TEST_P(MarkedText, ATokenInThePlaceOfTheMarkerGivesTheText) {
  const bool subwords = has_subwords(tokenizer);
  EXPECT_EQ(subwords, GetParam().type != TokenizerType::character);
  std::string token = "c", word = "c";  // of subwords: one with its space
  for (int32_t id = 0; subwords && id < tokenizer.size(); ++id)
    if (tokenizer.token(id).starts_with("\u2581") && tokenizer.token(id).size() > 3)
      token = tokenizer.token(id), word = token.substr(3);
  for (const std::string after : {".", " old", "", "e?", "\u00e9"})
    EXPECT_EQ(filled(encode("I am [MASK]" + after), token),
              tokenizer.decode(tokenizer.encode("I am " + word + after)))
        << after;
  EXPECT_EQ(encode("\u00e9[MASK]\u00e9").size(),
            encode("\u00e9[MASK]").size() + encode("[MASK]\u00e9").size() - encode("[MASK]").size());
  EXPECT_EQ(filled(encode("t[MASK]e rain"), "h"), "the rain");
  EXPECT_EQ(filled(encode("[MASK]m I"), "a"), "am I");
}

TEST_P(MarkedText, SeveralMarkersAreSeveralTokens) {
  const std::vector<int32_t> ids = encode("[MASK] am [MASK][MASK].");
  EXPECT_EQ(std::count(ids.begin(), ids.end(), mask), 3);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), Tokenizer::unk), 0);
  EXPECT_EQ(tokenizer.token(ids.back()), ".");
  EXPECT_EQ(encode("[MASK]").back(), mask);
}

}  // namespace qkv::marked_text_test
