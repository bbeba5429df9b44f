#include "qkv/text/tokenizer/tokenizer_json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "qkv/base/error.h"
#include "qkv/base/json.h"
#include "qkv/base/random.h"
#include "qkv/text/text_error.h"

namespace qkv::tokenizer_json_test {

using Ids = std::vector<int32_t>;

// Words of the letters a to d, with the fields that a test adds.
Json small_bpe() {
  return {{"model",
           {{"type", "BPE"},
            {"vocab", {{"a", 0}, {"b", 1}, {"c", 2}, {"ab", 3}, {"abc", 4}, {" ", 5}, {"bc", 6}}},
            {"merges", {"a b", "b c", "ab c"}}}}};
}

JsonTokenizer tokenizer_of(const Json& json) { return JsonTokenizer::parse(json.dump(), "tokenizer.json"); }

std::string error_of(const Json& json) {
  try {
    tokenizer_of(json);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(JsonTokenizer, MergesTheFirstPairOfTheListFirst) {
  const JsonTokenizer t = tokenizer_of(small_bpe());
  EXPECT_EQ(t.encode("abc").ids, (Ids{4}));
  EXPECT_EQ(t.encode("bcab").ids, (Ids{6, 3}));
  EXPECT_EQ(t.encode("aabbcc").ids, (Ids{0, 3, 6, 2})) << "a b before b c, the leftmost first";
  EXPECT_EQ(t.encode("").ids, Ids());
  EXPECT_EQ(t.encode("xax").ids, (Ids{0})) << "an unknown character without an unknown token disappears";
}

TEST(JsonTokenizer, KnowsTheBytesOfEveryToken) {
  Json json = small_bpe();
  json["normalizer"] = {{"type", "Sequence"},
                        {"normalizers", {{{"type", "NFD"}}, {{"type", "StripAccents"}}, {{"type", "Lowercase"}}}}};
  const JsonTokenizer::Encoding e = tokenizer_of(json).encode("A\u0301Bc \u00c1");
  EXPECT_EQ(e.ids, (Ids{4, 5, 0}));
  EXPECT_EQ(e.ranges, (std::vector<TextRange>{{0, 5}, {5, 6}, {6, 8}}));
}

TEST(JsonTokenizer, TextThatLooksLikeASpecialTokenIsText) {
  Json json = small_bpe();
  json["added_tokens"] = {{{"id", 7}, {"content", "cab"}, {"normalized", false}, {"special", true}},
                          {{"id", 8}, {"content", "bb"}, {"normalized", false}, {"special", false}}};
  const JsonTokenizer t = tokenizer_of(json);
  EXPECT_EQ(t.encode("cab").ids, (Ids{2, 3}));
  EXPECT_EQ(t.encode("cab", {.special_in_text = true}).ids, (Ids{7}));
  EXPECT_EQ(t.encode("cab", {.special_token_in_text = 7}).ids, (Ids{7}));
  EXPECT_EQ(t.encode("abba").ids, (Ids{0, 8, 0})) << "one that is not special is always found";
  EXPECT_EQ(t.decode(Ids{0, 7, 8}), "a bb");
  EXPECT_EQ(t.decode(Ids{0, 7, 8}, /*skip_special=*/false), "a cab bb");
  EXPECT_EQ(t.decode(Ids{-5, 0, 100}), "a") << "ids without a token have no text";
}

TEST(JsonTokenizer, AddedTokensMayTakeWhiteSpaceAndAvoidWords) {
  Json json = small_bpe();
  json["added_tokens"] = {{{"id", 7}, {"content", "M"}, {"lstrip", true}, {"rstrip", true}, {"normalized", false}},
                          {{"id", 8}, {"content", "W"}, {"single_word", true}, {"normalized", false}}};
  const JsonTokenizer t = tokenizer_of(json);
  EXPECT_EQ(t.encode("a  M b").ids, (Ids{0, 7, 1}));
  EXPECT_EQ(t.encode("aW W b").ids, (Ids{0, 5, 8, 5, 1}));
}

// As in the tokenizers library, whatever white space the previous token has taken.
TEST(JsonTokenizer, AnAddedTokenWithinTakenWhiteSpaceIsAToken) {
  Json json = small_bpe();
  json["added_tokens"] = {{{"id", 7}, {"content", "M"}, {"rstrip", true}, {"normalized", false}},
                          {{"id", 8}, {"content", "\n"}, {"normalized", false}}};
  EXPECT_EQ(tokenizer_of(json).encode("M \na").ids, (Ids{7, 8, 0}));
}

TEST(JsonTokenizer, WordsAreThoseOfWhitespace) {
  Json json = {{"pre_tokenizer", {{"type", "Whitespace"}}},
               {"model",
                {{"type", "WordLevel"},
                 {"vocab", {{"x", 0}, {"\u00b2", 1}, {"x\u200dy", 2}, {"\u24b6x", 3}, {"?!", 4}}},
                 {"unk_token", nullptr}}}};
  const JsonTokenizer t = tokenizer_of(json);
  EXPECT_EQ(t.encode("x\u00b2").ids, (Ids{0, 1})) << "a superscript is not part of a word";
  EXPECT_EQ(t.encode(" x\u200dy  \u24b6x?!").ids, (Ids{2, 3, 4})) << "a joiner and a circled letter are";
  EXPECT_THROW(t.encode("z"), TextError) << "not in the vocabulary";
  EXPECT_EQ(t.encode("x").ids, (Ids{0})) << "the next text";
}

TEST(JsonTokenizer, PutsTokensAroundATextAndAroundTwo) {
  Json json = small_bpe();
  json["post_processor"] = {{"type", "RobertaProcessing"}, {"cls", {"a", 0}}, {"sep", {"c", 2}}};
  const JsonTokenizer t = tokenizer_of(json);
  EXPECT_EQ(t.encode("b").ids, (Ids{0, 1, 2}));
  EXPECT_EQ(t.encode("b", {.add_special = false}).ids, (Ids{1}));
  EXPECT_EQ(t.encode("b", "ab", {}).ids, (Ids{0, 1, 2, 2, 3, 2}));
  EXPECT_EQ(t.before(), (Ids{0}));
  EXPECT_EQ(t.after(), (Ids{2}));
}

TEST(JsonTokenizer, BytesThatAreNotUtf8BecomeReplacementCharacters) {
  Json json = small_bpe();
  json["model"]["vocab"]["\ufffd"] = 7;
  EXPECT_EQ(tokenizer_of(json).encode("a\xff\xc3").ids, (Ids{0, 7, 7}));
}

TEST(JsonTokenizer, IsLinearInALongWord) {
  EXPECT_EQ(tokenizer_of(small_bpe()).encode(std::string(300'000, 'a')).ids.size(), 300'000u);
  const Json unigram =
      Json::parse(R"({"model": {"type": "Unigram", "unk_id": 0, "vocab": [["?", 0], ["a", -1], ["aa", -1.5]]}})");
  EXPECT_EQ(tokenizer_of(unigram).encode(std::string(300'000, 'a')).ids.size(), 150'000u);
}

TEST(JsonTokenizer, ADecoderWithoutASuffixReplacesNothing) {
  Json json = small_bpe();
  json["decoder"] = {{"type", "BPEDecoder"}, {"suffix", ""}};
  EXPECT_EQ(tokenizer_of(json).decode(Ids{0, 1}), "ab");
  json["decoder"] = {{"type", "Strip"}, {"content", "a"}, {"start", 2}, {"stop", 1}};
  json["model"]["vocab"]["aaabaa"] = 7;
  EXPECT_EQ(tokenizer_of(json).decode(Ids{7}), "aba");
}

// Steps are counted over all positions of a text.
TEST(JsonTokenizer, AnExpressionOfManyStepsIsRefusedOnItsText) {
  Json json = small_bpe();
  json["pre_tokenizer"] = {
      {"type", "Split"}, {"pattern", {{"Regex", "(a*)(a*)(a*)[^a ]"}}}, {"behavior", "Isolated"}};
  const JsonTokenizer t = tokenizer_of(json);
  std::string text;
  for (int i = 0; i < 5; ++i) text += std::string(380, 'a') + " ";
  try {
    t.encode(text);
    FAIL();
  } catch (const TextError& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "tokenizer.json: 'pre_tokenizer': 'pattern': a regular expression takes too long on a text of 1905 bytes");
  }
  EXPECT_EQ(t.encode("ab").ids, (Ids{3})) << "the next text";
}

// Each position of the text reads all that follows.
TEST(JsonTokenizer, AnExpressionOfFewLongStepsIsRefusedOnItsText) {
  Json json = small_bpe();
  json["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"Regex", "(?:a+)+b"}}}, {"behavior", "Isolated"}};
  const JsonTokenizer t = tokenizer_of(json);
  try {
    t.encode(std::string(50'000, 'a'));
    FAIL();
  } catch (const TextError& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "tokenizer.json: 'pre_tokenizer': 'pattern': a regular expression takes too long on a text of 50000 bytes");
  }
  EXPECT_EQ(t.encode("ab").ids, (Ids{3})) << "the next text";
}

TEST(JsonTokenizer, RefusesWhatItCannotDo) {
  const auto with = [](const char* part, const Json& value) {
    Json json = small_bpe();
    json[part] = value;
    return json;
  };
  EXPECT_EQ(error_of(with("normalizer", {{"type", "Magic"}})),
            "tokenizer.json: 'normalizer': normalizers of type 'Magic' are not supported");
  EXPECT_EQ(
      error_of(with("pre_tokenizer", {{"type", "Split"}, {"pattern", {{"Regex", "(("}}}, {"behavior", "Isolated"}}))
          .substr(0, 72),
      "tokenizer.json: 'pre_tokenizer': 'pattern': '((' is not a regular expres");
  EXPECT_EQ(error_of(with("added_tokens", 5)), "tokenizer.json: 'added_tokens' must be a list, got 5");
  Json merges = small_bpe();
  merges["model"]["merges"] = {"a z"};
  EXPECT_EQ(error_of(merges), "tokenizer.json: 'model': merge 0 needs 'z', which is not in 'vocab'");
  Json twice = small_bpe();
  twice["model"]["vocab"]["d"] = 0;
  EXPECT_EQ(error_of(twice), "tokenizer.json: 'model': 'a' and 'd' have the same id 0");
  EXPECT_EQ(
      error_of(with("pre_tokenizer",
                    {{"type", "Split"}, {"pattern", {{"Regex", R"((?<a>\g<a>b))"}}}, {"behavior", "Isolated"}})),
      R"(tokenizer.json: 'pre_tokenizer': 'pattern': '(?<a>\g<a>b)' calls a group by \g, which is not supported)");
  Json wide = small_bpe();
  wide["model"]["vocab"][std::string(5000, 'a')] = 7;
  EXPECT_NE(error_of(wide).find("of 5000 bytes is longer than 4096"), std::string::npos);
  const Json unigram = Json::parse(R"({"model": {"type": "Unigram", "unk_id": 9, "vocab": [["a", -1]]}})");
  EXPECT_EQ(error_of(unigram), "tokenizer.json: 'model': 'unk_id' 9 is not in 'vocab'");
}

// One value of the file replaced by another kind of value, or a character of a character map changed: an error, or a
// tokenizer that still works on text.
TEST(JsonTokenizer, DamagedFilesAreErrorsOrStillTokenizers) {
  Json json = small_bpe();
  json["normalizer"] = {{"type", "Sequence"},
                        {"normalizers",
                         {{{"type", "Precompiled"}, {"precompiled_charsmap", "CAAAAAAEAAAABAAAYQBiAA=="}},
                          {{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", " "}}}}};
  json["pre_tokenizer"] = {{"type", "Sequence"},
                           {"pretokenizers",
                            {{{"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", "first"}},
                             {{"type", "Digits"}, {"individual_digits", true}}}}};
  json["post_processor"] = {
      {"type", "TemplateProcessing"},
      {"single", {{{"SpecialToken", {{"id", "x"}, {"type_id", 0}}}}, {{"Sequence", {{"id", "A"}}}}}},
      {"special_tokens", {{"x", {{"ids", {3}}}}}}};
  json["decoder"] = {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}};
  json["added_tokens"] = {{{"id", 7}, {"content", "zz"}, {"special", true}}};
  ASSERT_NO_THROW(tokenizer_of(json).encode("abc zz"));
  using Nlohmann = nlohmann::ordered_json;  // which names every value within others
  const Nlohmann whole = Nlohmann::parse(json.dump()), flat = whole.flatten();
  const Json values[] = {nullptr, true, -1, 1e300, 4294967296, "", "\u2581\u2581", Json::array(), Json::object()};
  Random random(1, 2);
  int errors = 0, others = 0;
  for (const auto& [path, value] : flat.items())
    for (const Json& other : values) {
      Nlohmann damaged = whole;
      damaged[Nlohmann::json_pointer(path)] = Nlohmann::parse(other.dump());
      try {
        const JsonTokenizer t = tokenizer_of(Json::parse(damaged.dump()));
        t.decode(t.encode("abc  zz 12 \u00e9\u0301").ids);
        ++others;
      } catch (const InputError& error) {
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
        ++errors;
      }
    }
  EXPECT_GT(errors, 100);
  EXPECT_GT(others, 10);
  std::string text = json.dump();
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = text;
    damaged[random.below(text.size())] = static_cast<char>(random.below(256));
    try {
      const JsonTokenizer t = JsonTokenizer::parse(damaged, "tokenizer.json");
      t.decode(t.encode("abc  zz 12 \u00e9\u0301").ids);
    } catch (const InputError&) {
    }
  }
}

TEST(JsonTokenizer, APostProcessorAddsTokensOfTheVocabulary) {
  Json json = small_bpe();
  const int64_t size = tokenizer_of(json).size();
  const auto with_end = [&](int64_t id) {
    json["post_processor"] = {{"type", "RobertaProcessing"}, {"cls", {"a", 0}}, {"sep", {"c", id}}};
    return tokenizer_of(json).encode("a").ids.back();
  };
  EXPECT_EQ(with_end(size - 1), size - 1);
  EXPECT_THROW(with_end(size), InputError);
}

}  // namespace qkv::tokenizer_json_test
