#include "qkv/published/gguf/sentencepiece_reader.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"

namespace qkv::sentencepiece_reader_test {
namespace {

TEST(SentencePieceReader, ReadsWhatTheWriterWrote) {
  const std::vector<Piece> pieces = {
      {"<unk>", 0, PieceType::unknown}, {"\u2581a", -1.5f}, {"<0x41>", 0, PieceType::byte}};
  for (const bool bpe : {false, true}) {
    const SentencePieceFile file = read_sentencepiece(sentencepiece_model(
        pieces,
        {.bpe = bpe, .add_dummy_prefix = !bpe, .remove_extra_whitespaces = bpe, .rules = std::string(300, 'r')}));
    ASSERT_EQ(file.pieces.size(), pieces.size());
    for (size_t i = 0; i < pieces.size(); ++i) {
      EXPECT_EQ(file.pieces[i].text, pieces[i].text);
      EXPECT_EQ(file.pieces[i].score, pieces[i].score);
      EXPECT_EQ(file.pieces[i].type, pieces[i].type);
    }
    EXPECT_TRUE(file.is_subword);
    EXPECT_EQ(file.settings.bpe, bpe);
    EXPECT_EQ(file.settings.add_dummy_prefix, !bpe);
    EXPECT_EQ(file.settings.remove_extra_whitespaces, bpe);
    EXPECT_EQ(file.settings.rules, std::string(300, 'r'));
  }
}

TEST(SentencePieceReader, WhatIsNoMessageIsAnError) {
  const std::string bytes = sentencepiece_model({{"a", 0}}, {});
  EXPECT_THROW(read_sentencepiece(bytes.substr(0, bytes.size() - 1)), InputError);
  EXPECT_THROW(read_sentencepiece("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), InputError);
  EXPECT_THROW(read_sentencepiece("\x0f"), InputError) << "a field of type 7";
}

}  // namespace
}  // namespace qkv::sentencepiece_reader_test
