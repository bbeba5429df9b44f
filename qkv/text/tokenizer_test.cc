#include "qkv/text/tokenizer.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <unistd.h>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/random.h"
#include "qkv/text/sentencepiece_check.h"
#include "qkv/text/utf8.h"

namespace qkv::tokenizer_test {

// Sentences of made-up words, some much more frequent than others.
std::vector<std::string> corpus(int sentences, uint64_t seed = 1) {
  Random random(seed);
  std::vector<std::string> words;
  for (int i = 0; i < 200; ++i) {
    std::string word;
    for (uint64_t n = 1 + random.below(4); n > 0; --n)
      word += {"bdfgklmnprst"[random.below(12)], "aeiou"[random.below(5)]};
    words.push_back(word + (i % 7 == 0 ? "\u00e9" : ""));
  }
  std::vector<std::string> out;
  for (int i = 0; i < sentences; ++i) {
    std::string sentence;
    for (uint64_t n = 3 + random.below(8); n > 0; --n)
      sentence += words[random.below(1 + random.below(words.size()))] + (n > 1 ? " " : ".");
    out.push_back(sentence);
  }
  return out;
}

const Tokenizer& small() {
  static const Tokenizer tokenizer = Tokenizer::train(corpus(500), {.vocabulary_size = 150});
  return tokenizer;
}

class EveryType : public testing::TestWithParam<TokenizerType> {};
INSTANTIATE_TEST_SUITE_P(Tokenizer, EveryType,
                         testing::Values(TokenizerType::unigram, TokenizerType::bpe, TokenizerType::character),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

TEST_P(EveryType, DecodesWhatItEncodes) {
  const auto sentences = corpus(300);
  const Tokenizer tokenizer = Tokenizer::train(sentences, {.type = GetParam(), .vocabulary_size = 120});
  for (const std::string& sentence : sentences) {
    const auto ids = tokenizer.encode(sentence);
    EXPECT_EQ(tokenizer.decode(ids), sentence);
    for (const int32_t id : ids) EXPECT_TRUE(id > Tokenizer::unk && id < tokenizer.size());
  }
}

// SentencePiece itself takes quadratic time in the length of a word, or ends the program on such a long one.
TEST_P(EveryType, LearnsFromAWordOfAnyLength) {
  auto sentences = corpus(300);
  const Tokenizer without = Tokenizer::train(sentences, {.type = GetParam(), .vocabulary_size = 120});
  sentences.push_back(std::string(200'000, 'x'));
  sentences.push_back("ab");
  for (int i = 0; i < 40'000; ++i) sentences.back() += "\u00e9\u00e8";
  const Tokenizer tokenizer = Tokenizer::train(sentences, {.type = GetParam(), .vocabulary_size = 120});
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("xx\u00e9\u00e8")), "xx\u00e9\u00e8") << "no character is cut";
  EXPECT_NE(without.decode(without.encode("x")), "x");
}

TEST_P(EveryType, EncodesATextOfAnyLengthAsItsWords) {
  const auto sentences = corpus(300);
  const Tokenizer tokenizer = Tokenizer::train(sentences, {.type = GetParam(), .vocabulary_size = 120});
  std::string text;
  std::vector<int32_t> wanted;
  for (int round = 0; round < 10; ++round)
    for (const std::string& sentence : sentences) {
      text += sentence + " ";
      const auto ids = tokenizer.encode(sentence);
      wanted.insert(wanted.end(), ids.begin(), ids.end());
    }
  ASSERT_GT(text.size(), 50'000u);
  EXPECT_EQ(tokenizer.encode(text), wanted);
  // SentencePiece takes quadratic time in a run of unknown characters, so it is never given a long one.
  EXPECT_EQ(tokenizer.encode("ab " + std::string(300'000, '#') + " ab"),
            tokenizer.encode("ab " + std::string(100, '#') + " ab"));
}

TEST_P(EveryType, TextBecomesASpecialTokenOnRequestOnly) {
  const Tokenizer tokenizer = Tokenizer::train(corpus(300), {.type = GetParam(), .vocabulary_size = 120});
  const std::vector<int32_t> ids = tokenizer.encode("<s>ab</s>", {.parse_special = true});
  ASSERT_GE(ids.size(), 3u);
  EXPECT_EQ(ids.front(), Tokenizer::bos);
  EXPECT_EQ(ids.back(), Tokenizer::eos);
  EXPECT_EQ(std::vector<int32_t>(ids.begin() + 1, ids.end() - 1), tokenizer.encode("ab"));
  const std::vector<int32_t> text = tokenizer.encode("<s>ab</s>");
  EXPECT_EQ(std::count(text.begin(), text.end(), Tokenizer::bos), 0);
  EXPECT_TRUE(tokenizer.is_added(Tokenizer::eos));
  EXPECT_FALSE(tokenizer.is_added(tokenizer.encode("ab").back()));
}

TEST_P(EveryType, SpecialTokensAreParsedWhereTheCallerSays) {
  const Tokenizer tokenizer = Tokenizer::train(corpus(300), {.type = GetParam(), .vocabulary_size = 120});
  std::vector<size_t> asked;
  const auto only_last = [&](size_t at) {
    asked.push_back(at);
    return at == 10;
  };
  const std::vector<int32_t> ids =
      tokenizer.encode("ab <s>ab </s>", {.parse_special = true, .special_at = only_last});
  EXPECT_EQ(asked, (std::vector<size_t>{3, 9}));
  EXPECT_EQ(ids, tokenizer.encode("ab <s>ab </s>"));
  asked.clear();
  EXPECT_EQ(tokenizer.encode("ab <s>ab  </s>", {.parse_special = true, .special_at = only_last}).back(),
            Tokenizer::eos);
}

TEST(Tokenizer, ByteLevelBpeKeepsEveryText) {
  const Tokenizer tokenizer =
      Tokenizer::train(corpus(300), {.type = TokenizerType::byte_bpe, .vocabulary_size = 400});
  EXPECT_GT(tokenizer.size(), 300);
  EXPECT_LE(tokenizer.size(), 400);
  for (const std::string& text : corpus(20))
    EXPECT_LT(tokenizer.encode(text).size(), text.size() / 2) << "tokens are longer than a byte";
  for (const std::string text :
       {"  two  spaces, and one after ", "\u2026\ufb01\uff21 \u4e2d\u6587 \U0001f355\t\u00a0x",
        "e\u0301 is not \u00e9", "</s><unk> <pad>", "\x01\x7f", "\u2581", ""})
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  EXPECT_EQ(tokenizer.special().eos, Tokenizer::eos);
}

TEST(Tokenizer, WordPieceKeepsWordsAndHasAMask) {
  const auto sentences = corpus(300);
  const Tokenizer tokenizer =
      Tokenizer::train(sentences, {.type = TokenizerType::word_piece, .vocabulary_size = 120});
  for (const std::string& sentence : sentences) {
    const auto ids = tokenizer.encode(sentence);
    EXPECT_EQ(tokenizer.decode(ids), sentence);
    EXPECT_EQ(std::count(ids.begin(), ids.end(), Tokenizer::unk), 0);
  }
  EXPECT_EQ(tokenizer.special().mask, 4);
  EXPECT_EQ(tokenizer.encode("\u4e2d"), std::vector<int32_t>{Tokenizer::unk});
  EXPECT_THROW(Tokenizer::train(sentences, {.type = TokenizerType::word_piece, .lossless = true}), UsageError);
  EXPECT_THROW(Tokenizer::train(
                   sentences, {.type = TokenizerType::word_piece, .vocabulary_size = 20, .character_coverage = 1}),
               UsageError);
  EXPECT_THROW(Tokenizer::train(sentences, {.type = TokenizerType::byte_bpe, .vocabulary_size = 256}), UsageError);
}

TEST(Tokenizer, AJsonVocabularySurvivesSavingAndLoading) {
  for (const TokenizerType type : {TokenizerType::byte_bpe, TokenizerType::word_piece}) {
    const auto sentences = corpus(300);
    const Tokenizer tokenizer = Tokenizer::train(sentences, {.type = type, .vocabulary_size = 300});
    EXPECT_EQ(Tokenizer::train(sentences, {.type = type, .vocabulary_size = 300}).serialized(),
              tokenizer.serialized());
    const Tokenizer again = Tokenizer::from_serialized(tokenizer.serialized());
    EXPECT_EQ(again.serialized(), tokenizer.serialized());
    EXPECT_EQ(again.size(), tokenizer.size());
    EXPECT_EQ(again.special().mask, tokenizer.special().mask);
    for (const std::string& sentence : sentences) EXPECT_EQ(again.encode(sentence), tokenizer.encode(sentence));
  }
}

TEST(Tokenizer, ALosslessVocabularyCutsNothing) {
  const Tokenizer tokenizer = Tokenizer::train(corpus(300), {.vocabulary_size = 400, .lossless = true});
  std::string text;
  while (text.size() < 100'000) text += "#\u00e9b\u4f60\n";
  EXPECT_TRUE(tokenizer.decode(tokenizer.encode(text)) == text);
}

TEST(Tokenizer, LongSentencesAreCutBetweenWords) {
  auto sentences = corpus(300);
  const TokenizerOptions options{.vocabulary_size = 120};
  const Tokenizer apart = Tokenizer::train(sentences, options);
  std::string together;
  for (const std::string& sentence : sentences) together += (together.empty() ? "" : " ") + sentence;
  ASSERT_GT(together.size(), 8192u);
  // Words count, not sentences: the same vocabulary.
  EXPECT_EQ(Tokenizer::train(std::vector<std::string>{together}, options).encode(sentences[0]),
            apart.encode(sentences[0]));
}

TEST_P(EveryType, IsTheSameModelOnAnyNumberOfThreads) {
  const auto sentences = corpus(300);
  const TokenizerOptions options{.type = GetParam(), .vocabulary_size = 100};
  const int before = threads();
  set_threads(1);
  const std::string one = Tokenizer::train(sentences, options).serialized();
  set_threads(4);
  EXPECT_EQ(Tokenizer::train(sentences, options).serialized(), one);
  set_threads(before);
}

TEST_P(EveryType, KeepsEveryCharacterIfLossless) {
  const Tokenizer tokenizer =
      Tokenizer::train(corpus(100), {.type = GetParam(), .vocabulary_size = 400, .lossless = true});
  for (const std::string text :
       {"  two  spaces, and one after ", "\u2026\ufb01\uff21 \u4e2d\u6587 \U0001f355\t\u00a0x",
        "e\u0301 is not \u00e9", "</s><unk> <pad>", "\x01\x7f", ""})
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
}

TEST_P(EveryType, HasFewerTokensForASmallCorpus) {
  const std::vector<std::string> sentences{"a b", "b a c"};
  const Tokenizer tokenizer = Tokenizer::train(sentences, {.type = GetParam(), .vocabulary_size = 8000});
  EXPECT_LT(tokenizer.size(), 30);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("c b a")), "c b a");
}

TEST_P(EveryType, RejectsAnEmptyCorpus) {
  const TokenizerOptions options{.type = GetParam()};
  EXPECT_THROW(Tokenizer::train({}, options), InputError);
  EXPECT_THROW(Tokenizer::train({"", " ", "\t\u00a0", "\u3000", "\ufeff", "\u2581", "\x01\x1f", "\u200b"}, options),
               InputError);
}

TEST(Tokenizer, HasTheFourSpecialTokensFirst) {
  EXPECT_EQ(small().token(Tokenizer::pad), "<pad>");
  EXPECT_EQ(small().token(Tokenizer::bos), "<s>");
  EXPECT_EQ(small().token(Tokenizer::eos), "</s>");
  EXPECT_EQ(small().token(Tokenizer::unk), "<unk>");
  EXPECT_EQ(small().size(), 150);
}

TEST(Tokenizer, LeavesSpecialTokensOutOfText) {
  auto ids = small().encode("bado");
  ids.insert(ids.begin(), Tokenizer::bos);
  ids.insert(ids.end(), {Tokenizer::eos, Tokenizer::pad, Tokenizer::pad});
  EXPECT_EQ(small().decode(ids), "bado");
  EXPECT_EQ(small().decode({}), "");
}

TEST(Tokenizer, NeverMakesSpecialTokensOfText) {
  const auto ids = small().encode("<s> ba </s> <pad>");
  for (const int32_t id : ids) EXPECT_NE(id, Tokenizer::bos) << "and neither eos nor pad";
  EXPECT_EQ(std::set(ids.begin(), ids.end()).count(Tokenizer::eos), 0u);
  EXPECT_EQ(std::set(ids.begin(), ids.end()).count(Tokenizer::pad), 0u);
}

TEST(Tokenizer, MarksUnknownCharacters) {
  EXPECT_EQ(small().encode("\u4e2d").back(), Tokenizer::unk);
  EXPECT_NE(small().decode(small().encode("ba\u4e2d")).find("\u2047"), std::string::npos);
}

TEST(Tokenizer, EncodesAnyBytes) {
  Random random(7);
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (uint64_t i = random.below(50); i > 0; --i) text += static_cast<char>(random.bits());
    EXPECT_FALSE(utf8_error(small().decode(small().encode(text))));
  }
}

TEST(Tokenizer, ReportsTheIdThatIsOutOfRange) {
  EXPECT_THROW(small().decode(std::vector<int32_t>{5, -1}), Error);
  EXPECT_THROW(small().token(150), Error);
  try {
    small().decode(std::vector<int32_t>{5, 150});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "Tokenizer::decode: id 150 at position 1 is outside the vocabulary of 150");
  }
}

TEST(Tokenizer, ReportsHowManyTokensTheCharactersNeed) {
  try {
    Tokenizer::train(corpus(100), {.vocabulary_size = 10});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "tokenizer: vocabulary-size 10 is less than the 24 characters and special tokens of the corpus");
  }
  EXPECT_THROW(Tokenizer::train({"a"}, {.vocabulary_size = 4}), UsageError);
  EXPECT_THROW(Tokenizer::train({"a"}, {.character_coverage = 2}), UsageError);
  EXPECT_THROW(Tokenizer::train({"a"}, {.max_sentences = 0}), UsageError);
}

TEST(Tokenizer, KnowsEveryCharacterThereIsRoomFor) {
  auto sentences = corpus(500);
  sentences.push_back("\u4e2d");  // once in twenty thousand characters
  const auto last_of = [&](const TokenizerOptions& options) {
    return Tokenizer::train(sentences, options).encode("\u4e2d").back();
  };
  EXPECT_NE(last_of({.vocabulary_size = 200}), Tokenizer::unk);
  EXPECT_EQ(last_of({.vocabulary_size = 200, .character_coverage = 0.999}), Tokenizer::unk);
  EXPECT_EQ(last_of({.vocabulary_size = 60}), Tokenizer::unk) << "no more than a quarter for single characters";
  EXPECT_NE(last_of({.type = TokenizerType::character, .vocabulary_size = 60}), Tokenizer::unk);
}

TEST(Tokenizer, DrawsFromALargeCorpusBySeed) {
  const auto sentences = corpus(2000);
  const auto model = [&](uint64_t seed) {
    return Tokenizer::train(sentences, {.vocabulary_size = 100, .max_sentences = 100, .seed = seed}).serialized();
  };
  EXPECT_EQ(model(1), model(1));
  EXPECT_NE(model(1), model(2));
}

TEST(Tokenizer, PrintsNothing) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Tokenizer::train(corpus(100), {.vocabulary_size = 100});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

TEST(Tokenizer, IsTheSameFromItsFile) {
  const std::string path = testing::TempDir() + "/qkv_tokenizer_test_" + std::to_string(getpid());
  small().save(path);
  const Tokenizer loaded = Tokenizer::load(path);
  EXPECT_EQ(loaded.serialized(), small().serialized());
  EXPECT_EQ(loaded.encode("bado kuli."), small().encode("bado kuli."));
  std::filesystem::remove(path);
}

TEST(Tokenizer, NamesAFileThatIsNotAModel) {
  EXPECT_THROW(Tokenizer::load("no/such/file"), InputError);
  for (const std::string bytes : {"", "hello", "\n\n\n", "\x0a\x02\x0a"}) {
    try {
      Tokenizer::from_serialized(bytes, "my.model");
      FAIL() << bytes;
    } catch (const InputError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("my.model: not a SentencePiece model")) << error.what();
    }
  }
}

TEST(Tokenizer, SurvivesABrokenModel) {
  Random random(11);
  const std::string whole = small().serialized();
  int loaded = 0;
  for (int round = 0; round < 400; ++round) {
    std::string bytes = whole;
    // Most of a model is its normalisation rules; half of the rounds break the pieces and options around them.
    const size_t where = round % 2 ? bytes.size() : 4000;
    for (uint64_t i = 1 + random.below(4); i > 0; --i)
      bytes[round % 3 ? random.below(where) : bytes.size() - 1 - random.below(200)] =
          static_cast<char>(random.bits());
    if (round % 10 == 0) bytes.resize(random.below(bytes.size()));
    try {
      const Tokenizer broken = Tokenizer::from_serialized(bytes);
      ++loaded;
      broken.decode(broken.encode("\u2026 bado \ufb01\uff21 kuli. \u4e2d"));
    } catch (const InputError&) {
    }
  }
  EXPECT_GT(loaded, 0) << "a changed score or letter is still a model";
}

// The double array of the rules begins right after its length.
size_t root_of_rules(const std::string& model) {
  const size_t length = model.find(std::string("\x00\xb4\x02\x00", 4));
  EXPECT_NE(length, model.npos);
  return length + 4;
}

TEST(SentencePieceCheck, FindsRulesThatPointOutside) {
  const std::string whole = small().serialized();
  ASSERT_FALSE(sentencepiece_error(whole));
  // The root: offset 24 bits, then the label.
  std::string broken = whole;
  broken.replace(root_of_rules(whole), 4, "\x00\xfe\xff\x7f", 4);
  EXPECT_EQ(sentencepiece_error(broken), "its normalisation rules are broken");
}

TEST(SentencePieceCheck, FindsAValueOutsideThatIsWrittenAsAnInnerUnit) {
  const std::string whole = small().serialized();
  const size_t root = root_of_rules(whole);
  const auto unit_at = [&](uint32_t i) {
    uint32_t unit;
    std::memcpy(&unit, whole.data() + root + 4 * i, 4);
    return unit;
  };
  constexpr uint32_t units = 0x2b400 / 4, has_value = 1 << 8, is_value = 1u << 31;
  int found = 0;
  for (uint32_t i = 0; i < units; ++i) {
    const uint32_t unit = unit_at(i), offset = unit >> 10 << ((unit & 1u << 9) >> 6);
    if (unit & is_value || !(unit & has_value) || i % 50 != 0) continue;
    constexpr uint32_t far = 256 << 10;  // beyond the texts as a value, valid as an inner unit
    std::string broken = whole;
    std::memcpy(broken.data() + root + 4 * (i ^ offset), &far, 4);
    EXPECT_EQ(sentencepiece_error(broken), "its normalisation rules are broken") << i;
    ++found;
  }
  EXPECT_GT(found, 0);
}

}  // namespace qkv::tokenizer_test
