// Folders of sentence-transformers: which vectors their files ask for.
#include "qkv/published/huggingface/sentence_encoder.h"

#include <gtest/gtest.h>

#include "qkv/pipeline/embedder.h"
#include "qkv/published/published_folder_test.h"

namespace qkv::sentence_encoder_test {

namespace fs = std::filesystem;
using test::PublishedFolder;

std::vector<float> vector_of(const fs::path& folder, const std::string& text, const EmbedOptions& options = {}) {
  const Tensor vectors = Embedder(folder).embed(std::span(&text, 1), options).vectors;
  return {vectors.span<float>().begin(), vectors.span<float>().end()};
}

TEST(SentenceEncoder, APoolingIsNamedInTwoWays) {
  const PublishedFolder folder("minilm");
  const auto poolings = [&](const std::string& json) {
    folder.write("1_Pooling/config.json", json);
    return read_sentence_encoder(folder.path()).poolings;
  };
  using P = Pooling;
  EXPECT_EQ(poolings(R"({"pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true})"),
            (std::vector{P::mean}));
  EXPECT_EQ(poolings(R"({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true})"),
            (std::vector{P::first, P::mean}));
  EXPECT_EQ(poolings(R"({"pooling_mode_lasttoken": true, "pooling_mode_mean_sqrt_len_tokens": true})"),
            (std::vector{P::mean_sqrt_length, P::last}));
  EXPECT_EQ(poolings(R"({"word_embedding_dimension": 24})"), (std::vector{P::mean}));
  EXPECT_EQ(poolings(R"({"embedding_dimension": 24, "pooling_mode": "cls", "include_prompt": true})"),
            (std::vector{P::first}));
  EXPECT_EQ(poolings(R"({"pooling_mode": ["mean", "max"]})"), (std::vector{P::mean, P::max}));
}

TEST(SentenceEncoder, AnUnknownPoolingIsRefusedByName) {
  const PublishedFolder folder("minilm");
  for (const auto& [json, name] :
       {std::pair(R"({"pooling_mode_foo": true})", "\"foo\""),
        std::pair(R"({"pooling_mode_weightedmean_tokens": true})", "\"weightedmean\""),
        std::pair(R"({"pooling_mode": "weightedmean"})", "\"weightedmean\""),
        std::pair(R"({"pooling_mode": 3})", "3"), std::pair(R"({"pooling_mode": []})", "empty")}) {
    folder.write("1_Pooling/config.json", json);
    const std::string error = folder.error_of([&] { Embedder(folder.path()); });
    EXPECT_TRUE(error.starts_with("1_Pooling/config.json: ")) << error;
    EXPECT_NE(error.find(name), std::string::npos) << error;
  }
}

TEST(SentenceEncoder, AVectorIsAsWideAsItsPoolings) {
  const PublishedFolder folder("minilm");
  folder.write("1_Pooling/config.json", R"({"pooling_mode": ["mean", "cls"]})");
  const Embedder embedder(folder.path());
  const std::vector<std::string> texts = {"the cat", "a dog"};
  EXPECT_EQ(embedder.vector_width(), 2 * embedder.width());
  EXPECT_EQ(embedder.embed(texts).vectors.shape(), (Shape{2, 2 * embedder.width()}));
  EXPECT_EQ(embedder.vector_width({.pooling = Pooling::max}), embedder.width());
  EXPECT_EQ(embedder.embed(texts, {.pooling = Pooling::max}).vectors.shape(), (Shape{2, embedder.width()}));
}

TEST(SentenceEncoder, TheDefaultPromptBeginsEverySentence) {
  const PublishedFolder folder("minilm");
  const std::vector<float> expected = vector_of(folder.path(), "query: the cat");
  folder.write("config_sentence_transformers.json",
               R"({"prompts": {"query": "query: ", "passage": "passage: "}, "default_prompt_name": "query"})");
  EXPECT_EQ(vector_of(folder.path(), "the cat"), expected);
  folder.write("1_Pooling/config.json", R"({"pooling_mode": "mean", "include_prompt": false})");
  EXPECT_NE(folder.error_of([&] { Embedder(folder.path()); }).find("'include_prompt' false"), std::string::npos);
  folder.write("config_sentence_transformers.json", R"({"prompts": {}, "default_prompt_name": "query"})");
  EXPECT_NE(folder.error_of([&] { Embedder(folder.path()); }).find("'default_prompt_name' is \"query\""),
            std::string::npos);
}

TEST(SentenceEncoder, LowersCaseOnRequest) {
  const PublishedFolder folder("roberta");
  const std::vector<float> lower = vector_of(folder.path(), "the \u00e9tude"),
                           upper = vector_of(folder.path(), "The \u00c9TUDE");
  EXPECT_NE(lower, upper);
  folder.write("sentence_bert_config.json", R"({"max_seq_length": 30, "do_lower_case": true})");
  EXPECT_EQ(vector_of(folder.path(), "The \u00c9TUDE"), lower);
}

TEST(SentenceEncoder, TheModelMayLieInAFolderOfItsOwn) {
  const PublishedFolder folder("minilm");
  const std::vector<float> expected = vector_of(folder.path(), "the cat");
  fs::create_directory(folder.path() / "0_Transformer");
  for (const fs::path& file : files_in(folder.path()))
    if (fs::is_regular_file(file) && file.filename() != "modules.json")
      fs::rename(file, folder.path() / "0_Transformer" / file.filename());
  std::string modules = read_file(folder.path() / "modules.json");
  modules.replace(modules.find("\"path\": \"\""), 10, "\"path\": \"0_Transformer\"");
  folder.write("modules.json", modules);
  EXPECT_EQ(vector_of(folder.path(), "the cat"), expected);
  EXPECT_EQ(read_sentence_encoder(folder.path()).max_tokens, 30);
}

}  // namespace qkv::sentence_encoder_test
