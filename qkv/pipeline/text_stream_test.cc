#include "qkv/pipeline/text_stream.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/json.h"
#include "qkv/base/random.h"
#include "qkv/text/tokenizer/stored_tokenizer.h"
#include "qkv/text/utf8.h"

namespace qkv::text_stream_test {

Tokenizer trained(TokenizerType type, bool lossless) {
  std::vector<std::string> sentences;
  for (int i = 0; i < 30; ++i) sentences.push_back("the cat sat on the mat, caf\u00e9 and  tea");
  return Tokenizer::train(sentences, {.type = type, .vocabulary_size = lossless ? 300 : 30, .lossless = lossless});
}

struct Case {
  TokenizerType type;
  bool lossless;
};
void PrintTo(const Case& c, std::ostream* out) { *out << name_of(c.type) << (c.lossless ? " lossless" : ""); }
class EveryTokenizer : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(TextStream, EveryTokenizer,
                         testing::Values(Case{TokenizerType::bpe, false}, Case{TokenizerType::bpe, true},
                                         Case{TokenizerType::unigram, true},
                                         Case{TokenizerType::character, false}));

std::string stream_all(TextStream& stream, const std::vector<int32_t>& ids) {
  std::string printed;
  for (const int32_t id : ids) {
    const std::string_view piece = stream.append(id);
    EXPECT_FALSE(utf8_error(piece));
    printed += piece;
    if (stream.stopped()) break;
  }
  return printed += stream.finish();
}

TEST_P(EveryTokenizer, PrintsTheTextOfAllTokens) {
  const Tokenizer tokenizer = trained(GetParam().type, GetParam().lossless);
  Random random(3);
  for (int round = 0; round < 300; ++round) {  // any ids: special tokens, spaces, bytes that are not UTF-8
    std::vector<int32_t> ids(random.below(30));
    for (int32_t& id : ids) id = static_cast<int32_t>(random.below(static_cast<uint64_t>(tokenizer.size())));
    TextStream stream(tokenizer);
    ASSERT_EQ(stream_all(stream, ids), tokenizer.decode(ids));
    ASSERT_EQ(stream.ids(), ids);
  }
}

TEST_P(EveryTokenizer, PrintsATextAndEndsItAtAStopString) {
  const Tokenizer tokenizer = trained(GetParam().type, GetParam().lossless);
  const std::string text = "the tea and the cat";
  TextStream whole(tokenizer), cut(tokenizer, {"d the", "mat"});
  EXPECT_EQ(stream_all(whole, tokenizer.encode(text)), text);
  EXPECT_EQ(stream_all(cut, tokenizer.encode(text)), "the tea an");
  EXPECT_TRUE(cut.stopped());
  EXPECT_EQ(cut.text(), "the tea an");
}

TEST_P(EveryTokenizer, ATextContinuesItsContext) {
  const Tokenizer tokenizer = trained(GetParam().type, GetParam().lossless);
  const std::vector<int32_t> ids = tokenizer.encode("the tea and the cat");
  for (size_t before = 0; before <= ids.size(); ++before) {
    std::vector<int32_t> context = {Tokenizer::bos};
    context.insert(context.end(), ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(before));
    TextStream stream(tokenizer, {}, context);
    const std::string text = stream_all(stream, {ids.begin() + static_cast<std::ptrdiff_t>(before), ids.end()});
    EXPECT_EQ(tokenizer.decode(context) + text, "the tea and the cat");
    EXPECT_EQ(stream.text(), text);
  }
}

TEST(TextStream, ACharacterOfSeveralTokensIsPrintedWhenItIsComplete) {
  const Tokenizer tokenizer = trained(TokenizerType::bpe, true);
  const std::vector<int32_t> ids = tokenizer.encode("the \u20ac");
  ASSERT_GE(ids.size(), 4u);  // the euro sign is three bytes
  TextStream stream(tokenizer);
  std::string printed;
  for (size_t i = 0; i + 1 < ids.size(); ++i) printed += stream.append(ids[i]);
  EXPECT_EQ(printed, "the ");
  EXPECT_EQ(stream.append(ids.back()), "\u20ac");
}

// Byte fallback as in tokenizer.json: in a run of bytes that is not UTF-8, each byte becomes U+FFFD.
Tokenizer bytes_of_json() {
  Json vocabulary = {{"<unk>", 0}, {"a", 1}};
  for (int byte = 0; byte < 256; ++byte) vocabulary[fmt::format("<0x{:02X}>", byte)] = 2 + byte;
  const Json json = {
      {"decoder", {{"type", "Sequence"}, {"decoders", {{{"type", "ByteFallback"}}, {{"type", "Fuse"}}}}}},
      {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array()}, {"byte_fallback", true}}}};
  return Tokenizer(make_json_tokenizer(json.dump(), "test", {}));
}

TEST(TextStream, BytesThatAreNotUtf8ArePrintedAsReplacementCharacters) {
  const Tokenizer tokenizer = bytes_of_json();
  const auto streamed = [&](const std::vector<int>& bytes) {  // -1: the token "a"
    std::vector<int32_t> ids;
    for (const int byte : bytes) ids.push_back(byte < 0 ? 1 : 2 + byte);
    TextStream stream(tokenizer);
    return stream_all(stream, ids);
  };
  EXPECT_EQ(streamed({0x0a, 0xf0, 0x9f}), "\n\ufffd\ufffd");
  EXPECT_EQ(streamed({-1, 0x0a, 0xf0, 0x9f, -1}), "a\n\ufffd\ufffda");
  EXPECT_EQ(streamed({0xe2, 0x82, 0xac, -1}), "\u20aca");
  EXPECT_EQ(streamed({0xbf, 0xbf, -1}), "\ufffd\ufffda");
  Random random(5);
  for (int round = 0; round < 300; ++round) {
    std::vector<int> bytes(random.below(12));
    for (int& byte : bytes) byte = static_cast<int>(random.below(257)) - 1;
    EXPECT_FALSE(utf8_error(streamed(bytes)));
  }
}

TEST(TextStream, AnIdOutsideTheVocabularyIsAnError) {
  const Tokenizer tokenizer = trained(TokenizerType::bpe, false);
  TextStream stream(tokenizer);
  EXPECT_THROW(stream.append(-1), Error);
  EXPECT_THROW(stream.append(static_cast<int32_t>(tokenizer.size())), Error);
  EXPECT_TRUE(stream.ids().empty());
}

}  // namespace qkv::text_stream_test
