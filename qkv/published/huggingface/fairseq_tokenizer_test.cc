#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/published/huggingface/huggingface_folder.h"
#include "qkv/test_support/scratch_folder.h"

namespace qkv::fairseq_tokenizer_test {

using test::ScratchFolder;

// A folder of M2M100 or NLLB, whose SentencePiece model is one that was trained here.
class FairseqTokenizer : public testing::Test {
 public:
  FairseqTokenizer() {
    write_file(folder.path() / "sentencepiece.bpe.model", pieces.serialized());
    write_file(folder.path() / "config.json",
               R"({"model_type": "m2m_100", "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2})");
  }
  Tokenizer read() const { return huggingface_tokenizer(folder.path(), TokenizerSide::source, 2000); }

  Tokenizer pieces = Tokenizer::train({"the man saw a dog", "the dog saw a man"}, {.vocabulary_size = 30});
  ScratchFolder folder;
};

TEST_F(FairseqTokenizer, IdsAreThoseOfSentencePiecePlusOne) {
  write_file(
      folder.path() / "tokenizer_config.json",
      R"({"src_lang": "eng_Latn", "additional_special_tokens": ["eng_Latn", "fra_Latn"], "mask_token": "<mask>"})");
  const Tokenizer tokenizer = read();
  std::vector<int32_t> expected = pieces.encode("the dog");
  for (int32_t& id : expected) ++id;
  EXPECT_EQ(tokenizer.encode("the dog"), expected);
  EXPECT_EQ(tokenizer.decode(expected), "the dog");
  const auto last = static_cast<int32_t>(pieces.size());  // of a piece
  EXPECT_EQ(tokenizer.id_of("eng_Latn"), last + 1);
  EXPECT_EQ(tokenizer.id_of("fra_Latn"), last + 2);
  EXPECT_EQ(tokenizer.special().mask, last + 3);
  EXPECT_EQ(tokenizer.special().frame->before, (std::vector<int32_t>{last + 1}));
  expected.insert(expected.begin(), last + 2);
  expected.push_back(last + 1);
  EXPECT_EQ(tokenizer.decode(expected), "the dog") << "languages are not text";
}

TEST_F(FairseqTokenizer, IdsOfM2M100AreInItsVocabulary) {
  std::string json = R"({"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3)";
  for (int32_t id = 4; id < pieces.size(); ++id)
    json += fmt::format(", \"{}\": {}", pieces.token(id), pieces.size() + 3 - id);  // the other way round
  write_file(folder.path() / "vocab.json", json + "}");
  const Tokenizer tokenizer = read();
  std::vector<int32_t> expected = pieces.encode("a man");
  for (int32_t& id : expected) id = static_cast<int32_t>(pieces.size()) + 3 - id;
  EXPECT_EQ(tokenizer.encode("a man"), expected);
  EXPECT_EQ(tokenizer.id_of("__af__"), pieces.size()) << "languages come after the pieces";
  EXPECT_EQ(tokenizer.id_of("__zu__"), pieces.size() + 99);
  EXPECT_EQ(tokenizer.special().frame->before, std::vector<int32_t>{*tokenizer.id_of("__en__")});
  EXPECT_EQ(
      Tokenizer::from_serialized(tokenizer.serialized()).decode(std::vector<int32_t>{*tokenizer.id_of("__de__")}),
      "");
}

TEST_F(FairseqTokenizer, OtherFamiliesAreRefused) {
  write_file(folder.path() / "config.json", R"({"model_type": "camembert"})");
  EXPECT_THROW(read(), InputError);
}

}  // namespace qkv::fairseq_tokenizer_test
