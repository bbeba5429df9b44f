#include "qkv/pipeline/make_shortlist.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/decode/model_test.h"
#include "qkv/pipeline/inspect.h"
#include "qkv/test_support/scratch_folder.h"

namespace qkv::make_shortlist_test {

const std::vector<std::string> sentences = {"I am cold.", "no", "", "the rain is cold and the tower old 7"};

Tokenizer characters(const std::vector<std::string>& text) {
  return Tokenizer::train(text, {.type = TokenizerType::character, .vocabulary_size = 60, .character_coverage = 1});
}

Translator random_translator(const std::string& target_characters) {
  const Tokenizer source = characters(sentences), target = characters({target_characters});
  return {random_model(1,
                       [&](TransformerConfig& c) {
                         c.source_vocabulary = source.size();
                         c.target_vocabulary = target.size();
                         c.tie = Tie::none;
                       }),
          source, target};
}

class MakeShortlist : public testing::Test {
 protected:
  MakeShortlist() {
    std::string pairs;
    for (int i = 0; i < 30; ++i)
      pairs += "I am cold.\tabc abd\nno\tefg " + std::string(i == 3 ? 90 : 1, 'h') + "\n";
    write_file(scratch_.path() / "pairs.tsv", pairs);
  }
  MadeShortlist make(const Translator& translator, const ShortlistOptions& options = {}) const {
    CorpusReader reader((scratch_.path() / "pairs.tsv").string());
    return make_shortlist(translator, reader, options);
  }
  const test::ScratchFolder scratch_;
};

TEST_F(MakeShortlist, OfThePairsThatFit) {
  const Translator translator = random_translator("abcdefgh ijkl 7");
  const MadeShortlist made = make(translator, {.frequent = 3, .translations = 4});
  EXPECT_EQ(made.pairs, 59);
  EXPECT_EQ(made.too_long, 1);
  const ShortlistTable& table = made.shortlist.table();
  const Tokenizer& target = translator.target();
  const auto has = [&](const std::vector<int32_t>& ids, const char* token) {
    return std::find(ids.begin(), ids.end(), *target.id_of(token)) != ids.end();
  };
  EXPECT_EQ(table.frequent.size(), 3u);
  EXPECT_TRUE(has(table.frequent, "a") && has(table.frequent, "b"));
  for (const auto& ids : table.translations) EXPECT_LE(ids.size(), 4u);
  // Only the targets of its sentences can be aligned to a token; and what both vocabularies have is its own translation.
  const auto& of_n = table.translations[static_cast<size_t>(*translator.source().id_of("n"))];
  EXPECT_TRUE(has(of_n, "e") || has(of_n, "f") || has(of_n, "g") || has(of_n, "h"));
  EXPECT_FALSE(has(of_n, "a") || has(of_n, "i"));
  EXPECT_TRUE(has(table.translations[static_cast<size_t>(*translator.source().id_of("7"))], "7"));
  EXPECT_TRUE(has(table.translations[static_cast<size_t>(*translator.source().id_of("d"))], "d"));
}

TEST_F(MakeShortlist, IsTheSameForAnyBatchSize) {
  const Translator translator = random_translator("abcdefgh ijkl");
  const ShortlistTable whole = make(translator).shortlist.table(),
                       apart = make(translator, {.batch_tokens = 1}).shortlist.table();
  EXPECT_EQ(whole.frequent, apart.frequent);
  EXPECT_EQ(whole.translations, apart.translations);
}

TEST_F(MakeShortlist, ATranslatorUsesItForEachSentence) {
  Translator translator = random_translator("abcdefgh ijkl");
  const auto path = scratch_.path() / "a.shortlist";
  const Shortlist shortlist = make(translator, {.frequent = 2, .translations = 2}).shortlist;
  shortlist.save(path);
  TranslateOptions options = translator.defaults();
  options.search.min_length = 6;
  const std::vector<Translation> plain = translator.translate(sentences, options);
  translator.use_shortlist(path);
  options.shortlist = translator.defaults().shortlist;
  const std::vector<Translation> found = translator.translate(sentences, options);
  for (size_t i = 0; i < sentences.size(); ++i) {
    if (sentences[i].empty()) continue;
    std::vector<int32_t> source = translator.source().encode(sentences[i]);
    source.push_back(translator.source().special().eos);
    std::vector<std::string> allowed;
    for (const int32_t id : shortlist.candidates(source)) allowed.push_back(translator.target().token(id));
    for (const std::string& token : found[i].tokens)
      EXPECT_NE(std::find(allowed.begin(), allowed.end(), token), allowed.end()) << token;
    EXPECT_GE(found[i].tokens.size(), 6u);
    const Translation alone = translator.translate(sentences[i], options);
    EXPECT_EQ(found[i].text, alone.text);
    EXPECT_EQ(found[i].score, alone.score);
    EXPECT_EQ(inspect(translator, sentences[i], {}).text, translator.translate(sentences[i]).text);
  }
  EXPECT_GT(found[3].score, plain[3].score) << "probabilities are normalised over fewer tokens";
}

TEST_F(MakeShortlist, ATranslatorRefusesThatOfAnother) {
  const auto path = scratch_.path() / "a.shortlist";
  make(random_translator("abcdefgh ijkl")).shortlist.save(path);
  Translator other = random_translator("abcdefgh ijkm");  // of the same size
  EXPECT_THROW(other.use_shortlist(path), InputError);
  EXPECT_EQ(other.defaults().shortlist, nullptr);
}

TEST_F(MakeShortlist, RefusesOptionsOutOfRange) {
  const Translator translator = random_translator("abcdefgh ijkl");
  EXPECT_THROW(make(translator, {.frequent = 0}), UsageError);
  EXPECT_THROW(make(translator, {.translations = 0}), UsageError);
  EXPECT_THROW(make(translator, {.alignment_layer = 2}), UsageError);
}

}  // namespace qkv::make_shortlist_test
