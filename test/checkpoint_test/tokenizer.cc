// Tokenizers against the ids and texts of transformers: tokenizer-cases.json.
#include <gtest/gtest.h>

#include "qkv/base/file.h"
#include "qkv/pipeline/embedder.h"
#include "qkv/published/load_model.h"
#include "qkv/published/model_folder.h"
#include "qkv/test_support/tensors.h"
#include "qkv/text/tokenizer/tokenizer_json.h"
#include "test/checkpoint_test/reference.h"

namespace qkv::test {
namespace tokenizer_files {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// prefix: of the names of the expected values.
void check_cases(const fs::path& folder, const char* file, const std::string& prefix) {
  const auto tokenizer = JsonTokenizer::load(folder / file);
  const Json cases = Json::parse(read_file(folder / "tokenizer-cases.json"));
  const auto encoded = [&](const std::string& text, bool add_special) {
    return tokenizer.encode(text, {.add_special = add_special, .special_in_text = true}).ids;
  };
  for (const Json& c : cases["cases"]) {
    const auto text = c["text"].get<std::string>();
    const auto ids = c[prefix + "ids"].get<Ids>();
    EXPECT_EQ(encoded(text, true), ids) << text;
    EXPECT_EQ(tokenizer.decode(ids), c[prefix + "decoded"].get<std::string>()) << text;
    if (!prefix.empty()) continue;
    EXPECT_EQ(encoded(text, false), c["ids_no_special"].get<Ids>()) << text;
    EXPECT_EQ(tokenizer.decode(ids, /*skip_special=*/false), c["decoded_with_special"].get<std::string>()) << text;
    std::vector<std::string> tokens;
    for (const int32_t id : c["ids_no_special"].get<Ids>()) tokens.push_back(tokenizer.token(id));
    EXPECT_EQ(tokens, c["tokens"].get<std::vector<std::string>>()) << text;
  }
  if (!cases.contains("pair") || !prefix.empty()) return;
  const Json& pair = cases["pair"];
  const auto texts = pair["text"].get<std::vector<std::string>>();
  const JsonTokenizer::Encoding both = tokenizer.encode(texts.at(0), texts.at(1), {});
  EXPECT_EQ(both.ids, pair["input_ids"].get<Ids>());
  if (pair.contains("token_type_ids")) {
    EXPECT_EQ(both.types, pair["token_type_ids"].get<Ids>());
  }
}

void tokenizer_cases(const fs::path& folder) { check_cases(folder, "tokenizer.json", ""); }
void tokenizer_cases_of_version_4(const fs::path& folder) { check_cases(folder, "tokenizer.v4.json", "v4_"); }

// source.spm and target.spm with vocab.json.
void marian_cases(const fs::path& folder) {
  const auto opened = open_model_folder(folder);
  const Tokenizer source = opened->tokenizer(TokenizerSide::source),
                  target = opened->tokenizer(TokenizerSide::target);
  const Json cases = Json::parse(read_file(folder / "tokenizer-cases.json"));
  const auto framed = [](const Tokenizer& tokenizer, const std::string& text) {
    Ids ids = tokenizer.encode(text);
    ids.insert(ids.end(), tokenizer.special().frame->after.begin(), tokenizer.special().frame->after.end());
    return ids;
  };
  for (const Json& c : cases["cases"]) {
    const auto text = c["text"].get<std::string>();
    EXPECT_EQ(framed(source, text), c["ids"].get<Ids>()) << text;
    if (c.contains("target_ids")) {
      EXPECT_EQ(framed(target, text), c["target_ids"].get<Ids>()) << text;
    }
    EXPECT_EQ(target.decode(c["ids"].get<Ids>()), c["decoded"].get<std::string>()) << text;
  }
}

// The vectors of the folders of sentence-transformers, from texts.
void sentence_embeddings(const fs::path& folder) {
  const Reference reference(folder);
  const Embedder embedder(folder);
  const auto texts = reference.json["texts"].get<std::vector<std::string>>();
  const Tensor got = embedder.embed(texts).vectors, expected = reference.file.get("text.embedding");
  ASSERT_EQ(got.shape(), expected.shape());
  EXPECT_LT(largest_difference(got, expected), 1e-5);
}

}  // namespace tokenizer_files

std::vector<Check> tokenizer_checks(const fs::path& folder) {
  using namespace tokenizer_files;
  if (fs::exists(folder / "source.spm")) return {{"TokenizerCases", marian_cases}};
  if (!fs::exists(folder / "tokenizer-cases.json") || !fs::exists(folder / "tokenizer.json")) return {};
  std::vector<Check> checks = {{"TokenizerCases", tokenizer_cases}};
  if (fs::exists(folder / "tokenizer.v4.json"))
    checks.push_back({"TokenizerCasesOfVersion4", tokenizer_cases_of_version_4});
  if (fs::exists(folder / "modules.json")) checks.push_back({"SentenceEmbeddings", sentence_embeddings});
  return checks;
}

}  // namespace qkv::test
