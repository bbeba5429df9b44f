// Tokenizers with their own special tokens, in one file.
#include "qkv/text/tokenizer/stored_tokenizer.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/text/tokenizer.h"

namespace qkv::stored_tokenizer_test {

constexpr const char* words = R"({"pre_tokenizer": {"type": "WhitespaceSplit"},
  "added_tokens": [{"id": 2, "content": "</s>", "special": true}],
  "model": {"type": "WordLevel", "unk_token": "<unk>", "vocab": {"a": 0, "b": 1, "</s>": 2, "<unk>": 3}}})";

SpecialTokens some_special_tokens() {
  return {.pad = -1,
          .bos = 2,
          .eos = 2,
          .unk = 3,
          .mask = -1,
          .ends = {2, 1},
          .suppressed = {3},
          .forced_first = 0,
          .frame = TextFrame{.before = {1, 0}, .after = {2}},
          .rows = 150};
}

void expect_same(const SpecialTokens& a, const SpecialTokens& b) {
  EXPECT_EQ(std::tie(a.pad, a.bos, a.eos, a.unk, a.mask), std::tie(b.pad, b.bos, b.eos, b.unk, b.mask));
  EXPECT_EQ(a.ends, b.ends);
  EXPECT_EQ(a.suppressed, b.suppressed);
  EXPECT_EQ(a.forced_first, b.forced_first);
  ASSERT_EQ(a.frame.has_value(), b.frame.has_value());
  if (!a.frame) return;
  EXPECT_EQ(a.frame->before, b.frame->before);
  EXPECT_EQ(a.frame->after, b.frame->after);
}

void expect_survives(const Tokenizer& tokenizer, const std::string& text) {
  const Tokenizer again = Tokenizer::from_serialized(tokenizer.serialized());
  EXPECT_EQ(again.serialized(), tokenizer.serialized()) << "the same bytes, and the same checksum";
  EXPECT_EQ(again.size(), tokenizer.size());
  EXPECT_EQ(again.encode(text), tokenizer.encode(text));
  EXPECT_EQ(again.decode(again.encode(text)), tokenizer.decode(tokenizer.encode(text)));
  expect_same(again.special(), tokenizer.special());
}

TEST(StoredTokenizer, KeepsAJsonTokenizerAndItsSpecialTokens) {
  const Tokenizer tokenizer(make_json_tokenizer(words, "words", some_special_tokens()));
  EXPECT_EQ(tokenizer.encode("b a c"), (std::vector<int32_t>{1, 0, 3}));
  expect_survives(tokenizer, "b a c");
  SpecialTokens without = some_special_tokens();
  without.frame.reset(), without.forced_first.reset(), without.mask = 0;
  expect_survives(Tokenizer(make_json_tokenizer(words, "words", without)), "a");
}

TEST(StoredTokenizer, KeepsSentencePieceAndIdsOfItsOwn) {
  const std::string bytes =
      Tokenizer::train(std::vector<std::string>(20, "the cat sat on the mat"), {.vocabulary_size = 30})
          .serialized();
  const Tokenizer plain(make_piece_tokenizer(bytes, "pieces", std::nullopt, some_special_tokens()));
  expect_survives(plain, "the cat");
  PieceIds ids = {{"<unk>", 3}, {"</s>", 2}};
  for (int32_t id = 4; !plain.token(id).empty(); ++id) ids[plain.token(id)] = 100 - id;
  const Tokenizer mapped(make_piece_tokenizer(bytes, "pieces", ids, some_special_tokens()));
  EXPECT_NE(mapped.encode("the cat"), plain.encode("the cat"));
  EXPECT_EQ(mapped.decode(mapped.encode("the cat")), "the cat");
  expect_survives(mapped, "the cat");
}

TEST(StoredTokenizer, DamagedFilesAreErrorsThatNameThem) {
  const std::string whole = Tokenizer(make_json_tokenizer(words, "words", some_special_tokens())).serialized();
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    return text.replace(text.find(from), from.size(), to);
  };
  const std::string damaged[] = {
      "{",
      "{}",
      "{\"json\": 1}",
      replaced("\"qkv_tokenizer\":1", "\"qkv_tokenizer\":2"),
      replaced("\"ends\":[2,1]", "\"ends\":[-2]"),
      replaced("\"ends\":[2,1]", "\"ends\":[99999999]"),
      replaced("\"eos\":2", "\"eos\":\"</s>\""),
      replaced("\"tokenizer\":", "\"tokenizers\":"),
      R"({"qkv_tokenizer":1,"special_tokens":{"ends":[],"suppressed":[]},"sentencepiece":"!!"})",
      R"({"qkv_tokenizer":1,"special_tokens":{"ends":[],"suppressed":[]},"sentencepiece":"YWJj"})",
  };
  for (const std::string& text : damaged) {
    try {
      Tokenizer::from_serialized(text, "source.model");
      FAIL() << text;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("source.model"), std::string::npos) << error.what();
    }
  }
}

}  // namespace qkv::stored_tokenizer_test
