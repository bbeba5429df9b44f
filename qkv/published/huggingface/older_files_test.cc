// Folders without tokenizer.json: the class of the tokenizer completes what their files leave out.
#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/published/huggingface/huggingface_folder.h"
#include "qkv/test_support/scratch_folder.h"

namespace qkv::older_files_test {

using Ids = std::vector<int32_t>;

class OlderFiles : public testing::Test {
 public:
  void write(const char* name, const std::string& text) const { write_file(folder.path() / name, text); }
  Tokenizer read(int64_t rows = 2000) const {
    return huggingface_tokenizer(folder.path(), TokenizerSide::source, rows);
  }
  void write_bytes_of_words() const {
    write("vocab.json",
          R"({"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "a": 4, "b": 5, "ab": 6, "\u0120": 7, "1": 8, "11": 9,
              "\u00c3": 10, "\u00a9": 11, "e": 12})");
    write("merges.txt", "#version: 0.2\na b\n1 1\n");
  }
  void write_pieces(const char* name) const { write(name, pieces().serialized()); }
  static const Tokenizer& pieces() {
    static const Tokenizer tokenizer =
        Tokenizer::train({"the man saw a dog", "the dog saw a man"}, {.vocabulary_size = 30});
    return tokenizer;
  }

  test::ScratchFolder folder;
};

TEST_F(OlderFiles, OfOptHaveOnlyABeginningToken) {
  write_bytes_of_words();
  write("config.json", R"({"model_type": "opt", "bos_token_id": 2, "eos_token_id": 2})");
  write("tokenizer_config.json",
        R"({"tokenizer_class": "GPT2Tokenizer", "add_bos_token": true, "bos_token": {"content": "</s>"}})");
  const Tokenizer tokenizer = read();
  EXPECT_EQ(tokenizer.special().frame->before, Ids{2});
  EXPECT_EQ(tokenizer.special().frame->after, Ids());
  EXPECT_EQ(tokenizer.encode("ab a"), (Ids{6, 7, 4}));
  write("config.json", R"({"model_type": "roberta", "bos_token_id": 0, "eos_token_id": 2})");
  write("tokenizer_config.json", "{}");
  EXPECT_EQ(read().special().frame->before, Ids{0});
  EXPECT_EQ(read().special().frame->after, Ids{2});
}

TEST_F(OlderFiles, OfGpt2ObeyTheirSettings) {
  write_bytes_of_words();
  write("config.json", R"({"model_type": "gpt2"})");
  write("tokenizer_config.json", R"({"add_prefix_space": true, "eos_token": "</s>", "add_eos_token": true})");
  write("added_tokens.json", R"({"abba": 13, "<|im|>": 14})");
  write("special_tokens_map.json", R"({"additional_special_tokens": ["<|im|>"]})");
  const Tokenizer tokenizer = read();
  EXPECT_EQ(tokenizer.special().frame->after, Ids{2});
  EXPECT_EQ(tokenizer.encode("ab"), (Ids{7, 6}));
  EXPECT_EQ(tokenizer.encode("abba"), Ids{13}) << "an added token is found in a text";
  EXPECT_EQ(tokenizer.encode("<|im|>", {.parse_special = true}), Ids{14});
  EXPECT_NE(tokenizer.encode("<|im|>"), Ids{14}) << "a special one on request";
  EXPECT_EQ(tokenizer.decode(Ids{13, 14}), "abba");
}

TEST_F(OlderFiles, OfQwenCutAndNormaliseLikeQwen) {
  write_bytes_of_words();
  write("config.json", R"({"model_type": "qwen2", "eos_token_id": 14})");
  EXPECT_EQ(read().encode("11"), (Ids{8, 8})) << "digit by digit";
  EXPECT_EQ(read().encode("e\u0301"), (Ids{10, 11})) << "NFC";
  write(
      "tokenizer_config.json",
      R"({"tokenizer_class": "Qwen2Tokenizer", "added_tokens_decoder": {"14": {"content": "<|im_end|>", "special": true}}})");
  EXPECT_EQ(read().id_of("<|im_end|>"), 14);
  EXPECT_EQ(read().encode("11<|im_end|>", {.parse_special = true}), (Ids{8, 8, 14}));
  EXPECT_EQ(read().special().frame->before, Ids());
  write("tokenizer_config.json", R"({"tokenizer_class": "GPT2Tokenizer"})");
  EXPECT_EQ(read().encode("11"), Ids{9});
}

TEST_F(OlderFiles, OfPegasusHaveIdsAfterTheTokensOfItsTraining) {
  write_pieces("spiece.model");
  write("config.json", R"({"model_type": "pegasus", "pad_token_id": 0, "eos_token_id": 1})");
  const Tokenizer tokenizer = read();
  Ids expected = pieces().encode("the dog");
  for (int32_t& id : expected) id += 103;
  EXPECT_EQ(tokenizer.encode("the dog"), expected);
  EXPECT_EQ(tokenizer.decode(expected), "the dog");
  EXPECT_EQ(tokenizer.special().frame->before, Ids());
  EXPECT_EQ(tokenizer.special().frame->after, Ids{1});
  EXPECT_EQ(tokenizer.special().unk, Tokenizer::unk + 103);
  EXPECT_EQ(tokenizer.id_of("<mask_2>"), 3);
  EXPECT_EQ(tokenizer.id_of("<unk_102>"), 104);
  EXPECT_EQ(Tokenizer::from_serialized(tokenizer.serialized()).encode("the dog"), expected);
}

TEST_F(OlderFiles, OfBigBirdHaveTheirFrame) {
  write_pieces("spiece.model");
  write("config.json", R"({"model_type": "big_bird", "bos_token_id": 1, "eos_token_id": 2})");
  EXPECT_THROW(read(), InputError) << "there is no [CLS]";
  write("tokenizer_config.json", R"({"cls_token": "</s>", "sep_token": {"content": "<s>"}})");
  EXPECT_EQ(read().special().frame->before, Ids{2});
  EXPECT_EQ(read().special().frame->after, Ids{1});
}

TEST_F(OlderFiles, OfLlamaObeyTheirSettings) {
  write_pieces("tokenizer.model");
  write("config.json", R"({"model_type": "llama", "bos_token_id": 1, "eos_token_id": 2})");
  EXPECT_EQ(read().special().frame->before, Ids{1});
  EXPECT_EQ(read().special().frame->after, Ids());
  const auto next = static_cast<int32_t>(pieces().size());
  write("tokenizer_config.json", R"({"add_bos_token": false, "add_eos_token": true})");
  write("added_tokens.json", fmt::format(R"({{"DOG": {}}})", next));
  const Tokenizer tokenizer = read();
  EXPECT_EQ(tokenizer.special().frame->before, Ids());
  EXPECT_EQ(tokenizer.special().frame->after, Ids{2});
  Ids expected = pieces().encode("the ");
  expected.push_back(next);
  EXPECT_EQ(tokenizer.encode("the DOG"), expected);
  EXPECT_EQ(Tokenizer::from_serialized(tokenizer.serialized()).encode("the DOG"), expected);
  EXPECT_EQ(tokenizer.encode("the <s>DOG", {.parse_special = true}).end()[-2], Tokenizer::bos);
}

TEST_F(OlderFiles, OfT5HaveTokensForPartsOfAText) {
  write_pieces("spiece.model");
  write("config.json", R"({"model_type": "t5", "pad_token_id": 0, "eos_token_id": 2})");
  write("tokenizer_config.json", R"({"extra_ids": 3})");
  const auto last = static_cast<int32_t>(pieces().size()) + 2;
  const Tokenizer tokenizer = read(last + 1);
  EXPECT_EQ(tokenizer.id_of("<extra_id_0>"), last);
  EXPECT_EQ(tokenizer.encode("<extra_id_0>a", {.parse_special = true}).front(), last);
  EXPECT_EQ(tokenizer.encode("a"), pieces().encode("a"));
  EXPECT_EQ(tokenizer.decode(Ids{last}), "");
  EXPECT_EQ(tokenizer.special().frame->after, Ids{2});
}

}  // namespace qkv::older_files_test
