// Vocabularies with more tokens than the model has rows, as that of Gemma 3, and those of trainings that added a [PAD].
#include <gtest/gtest.h>

#include "qkv/pipeline/convert_model.h"
#include "qkv/pipeline/embedder.h"
#include "qkv/pipeline/generator.h"
#include "qkv/published/published_folder_test.h"

namespace qkv::vocabulary_rows_test {

using test::PublishedFolder;

// An added token behind all others, for which the model has no row.
void add_token(const PublishedFolder& folder, const std::string& content, bool special) {
  auto tokenizer = PublishedFolder::Json::parse(read_file(folder.path() / "tokenizer.json"));
  const int id = folder.config()["vocab_size"].get<int>() + (special ? 0 : 1);
  tokenizer["added_tokens"].push_back({{"id", id},
                                       {"content", content},
                                       {"single_word", false},
                                       {"lstrip", false},
                                       {"rstrip", false},
                                       {"normalized", false},
                                       {"special", special}});
  folder.write("tokenizer.json", tokenizer.dump());
}

class VocabularyRows : public testing::Test {
 protected:
  VocabularyRows() {
    add_token(folder, "<image_soft_token>", true);
    add_token(folder, "[PAD]", false);
  }
  static std::string answer(const std::filesystem::path& model) {
    const GeneratedText text = Generator(model).generate("the cat", {.max_tokens = 8}).answers[0];
    return fmt::format("{} {}", text.text, text.log_probability);
  }

  const PublishedFolder folder{"gemma3"}, before{"gemma3"};
};

TEST_F(VocabularyRows, FewerThanTokensChangeNothing) {
  EXPECT_EQ(answer(folder.path()), answer(before.path()));
  const std::vector<std::string> texts = {"the cat sat"};
  EXPECT_EQ(Generator(folder.path()).score(texts)[0].token_log_probabilities,
            Generator(before.path()).score(texts)[0].token_log_probabilities);
  const Tensor with = Embedder(folder.path()).embed(texts).vectors,
               without = Embedder(before.path()).embed(texts).vectors;
  EXPECT_TRUE(std::equal(with.span<float>().begin(), with.span<float>().end(), without.span<float>().begin()));
}

TEST_F(VocabularyRows, ATextThatHasATokenWithoutOneIsRefused) {
  const Generator generator(folder.path());
  const auto refusal = [&](const std::vector<std::string>& texts, bool parse_special) {
    return folder.error_of([&] { generator.score(texts, {.parse_special = parse_special}); });
  };
  EXPECT_EQ(refusal({"the cat", "a <image_soft_token>"}, true),
            "text 2: the model has 400 rows, and none for the token '<image_soft_token>' with id 400");
  EXPECT_EQ(refusal({"a [PAD]"}, false),
            "text 1: the model has 400 rows, and none for the token '[PAD]' with id 401");
  EXPECT_EQ(refusal({"a <image_soft_token>"}, false), "") << "a special token is text unless it is asked for";
}

TEST_F(VocabularyRows, AConvertedModelHasThemAll) {
  const test::ScratchFolder scratch;
  convert_model(folder.path(), scratch.path() / "ours");
  EXPECT_EQ(answer(scratch.path() / "ours"), answer(before.path()));
}

// A piece of text without a row is another model's vocabulary.
TEST_F(VocabularyRows, AreThereForEveryPieceOfText) {
  before.change("vocab_size", 399);
  before.change_tensors([](std::map<std::string, Tensor>& tensors) {
    Tensor& rows = tensors.at("model.embed_tokens.weight");
    rows = rows.slice(0, 0, 399).contiguous_copy();
  });
  EXPECT_EQ(before.error_of([&] { Generator(before.path()); }),
            " the vocabulary has 400 tokens, the model has 399");
}

}  // namespace qkv::vocabulary_rows_test
