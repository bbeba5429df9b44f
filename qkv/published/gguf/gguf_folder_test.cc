// Files of test/gguf, which the gguf package wrote (make_models.py), and files that write_gguf() writes, against the folders
// that they were made of.
#include "qkv/published/gguf/gguf_folder.h"

#include <algorithm>
#include <map>
#include <optional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "qkv/base/file.h"
#include "qkv/kernel/format/stored_format.h"
#include "qkv/model/causal.h"
#include "qkv/model/model_file.h"
#include "qkv/published/gguf/gguf_bytes_test.h"
#include "qkv/published/gguf/write_gguf.h"
#include "qkv/published/published_folder_test.h"
#include "qkv/tensor/half.h"

namespace qkv::gguf_folder_test {
namespace {

namespace fs = std::filesystem;

struct Fixture {
  std::string checkpoint, type;
  fs::path path = {};  // empty: it is written by the test
};
void PrintTo(const Fixture& fixture, std::ostream* out) {
  *out << fixture.checkpoint << " " << fixture.type << (fixture.path.empty() ? ", written" : "");
}
std::vector<Fixture> fixtures() {
  std::vector<Fixture> out;
  for (const auto& entry : fs::directory_iterator(fs::path(QKV_SOURCE_DIR) / "test" / "gguf")) {
    if (entry.path().extension() != ".gguf") continue;
    const std::string name = entry.path().stem().string();
    const size_t dash = name.rfind('-');
    out.push_back({name.substr(0, dash), name.substr(dash + 1), entry.path()});
  }
  std::ranges::sort(out, {}, &Fixture::path);
  return out;
}

// The settings that a file cannot have, at the values that it means.
void set_what_files_mean(const test::PublishedFolder& folder) {
  const auto config = folder.config();
  if (config.contains("query_pre_attn_scalar")) folder.change("query_pre_attn_scalar", config["head_dim"]);
  if (config.contains("relative_attention_max_distance")) folder.change("relative_attention_max_distance", 128);
}

void write(const test::PublishedFolder& folder, const fs::path& to, WeightFormat weights) {
  const SavedModel saved = read_model(folder.path(), store_for_gguf(weights));
  const Tokenizer tokenizer = saved.folder->tokenizer(TokenizerSide::source);
  write_gguf(to,
             {.model = *saved.model, .tokenizer = tokenizer, .weights = weights, .family = saved.folder->family()});
}

class GgufModel : public testing::TestWithParam<Fixture> {
 protected:
  void SetUp() override {
    path_ = GetParam().path;
    if (!path_.empty()) return;
    path_ = scratch_.path() / "written.gguf";
    const test::PublishedFolder folder(GetParam().checkpoint);
    set_what_files_mean(folder);
    write(folder, path_, value_named<WeightFormat>(GetParam().type, "test", "type"));
  }
  test::ScratchFolder scratch_;
  fs::path path_;
};

bool is_matrix(const std::string& name, const Tensor& tensor) {
  const auto has = [&](const char* part) { return name.find(part) != name.npos; };
  return tensor.rank() == 2 && !has("position_embeddings") && !has("wpe") && !has("token_type") &&
         !has("relative_attention_bias");
}

// What make_models.py stores of a tensor.
Tensor as_stored(const std::string& name, const Tensor& tensor, const std::string& type, bool transposed) {
  const Tensor values = tensor.to(DType::f32);
  if (type == "f32" || !is_matrix(name, tensor)) return values;
  if (type == "bf16") return values.to(DType::bf16).to(DType::f32);
  Tensor rows = transposed ? values.transpose(0, 1).contiguous_copy() : values.contiguous_copy();
  const int64_t K = rows.dim(1);
  std::optional<WeightFormat> blocks;
  for (const auto& [format, format_name] : names_of(WeightFormat{}))
    if (format_name == type && has_blocks(format) && K % block_of(format).numbers == 0) blocks = format;
  const std::span<float> x = rows.span<float>();
  if (!blocks) {
    for (float& v : x) v = float_of_half(half_of_float(v));
  } else {
    const StoredFormat& format = stored_format(*blocks);
    std::vector<uint8_t> bytes(static_cast<size_t>(row_bytes(format, std::ssize(x))));
    EXPECT_TRUE(encode_row(format, x.data(), std::ssize(x), bytes.data()));
    decode_row(format, bytes.data(), std::ssize(x), x.data());
  }
  return transposed ? rows.transpose(0, 1).contiguous_copy() : rows;
}

// The folder with the numbers that the file holds.
void as_in_file(const test::PublishedFolder& folder, const std::string& type) {
  const bool transposed = folder.config()["model_type"] == "gpt2";
  folder.change_tensors([&](std::map<std::string, Tensor>& tensors) {
    for (auto& [name, tensor] : tensors)
      tensor = as_stored(name, tensor, type, transposed && name.find(".h.") != name.npos);
  });
  set_what_files_mean(folder);
}

std::map<std::string, Tensor> parameters(const Model& model) {
  std::map<std::string, Tensor> out;
  const float offset = model.config().transformer().norm_weight_offset;
  model.for_each_parameter([&](const std::string& name, const Parameter& parameter) {
    Tensor value = parameter.value().contiguous_copy();
    const bool is_scale = name.find("norm") != name.npos && name.ends_with(".weight");
    if (is_scale)
      for (float& x : value.span<float>()) x = offset + x;
    out[name] = value;
  });
  return out;
}

TEST_P(GgufModel, HasTheParametersOfTheFolder) {
  const test::PublishedFolder folder(GetParam().checkpoint);
  as_in_file(folder, GetParam().type);
  const SavedModel theirs = read_model(folder.path()), ours = read_model(path_);
  const std::map<std::string, Tensor> expected = parameters(*theirs.model), given = parameters(*ours.model);
  for (const auto& [name, value] : given) {
    ASSERT_TRUE(expected.contains(name)) << name;
    const Tensor& wanted = expected.at(name);
    ASSERT_EQ(value.shape(), wanted.shape()) << name;
    EXPECT_TRUE(std::ranges::equal(value.span<float>(), wanted.span<float>())) << name;
  }
  for (const auto& [name, value] : expected)
    EXPECT_TRUE(given.contains(name) || name.starts_with("head.")) << name;  // files of BERT have none
}

TEST_P(GgufModel, ComputesWhatTheFolderComputes) {
  const test::PublishedFolder folder(GetParam().checkpoint);
  as_in_file(folder, GetParam().type);
  const SavedModel theirs = read_model(folder.path()), ours = read_model(path_);
  const auto* expected = dynamic_cast<const CausalTransformer*>(theirs.model.get());
  const auto* given = dynamic_cast<const CausalTransformer*>(ours.model.get());
  if (!expected) GTEST_SKIP() << "the parameters say it: the settings are compared below";
  const NoGrad guard;
  Tensor ids = Tensor::empty({1, 24}, DType::i32);
  for (int32_t t = 0; t < 24; ++t) ids.data<int32_t>()[t] = 7 + (11 * t) % 140;
  Pass pass;
  const Tensor a = expected->logits(expected->forward(ids, pass)).value(),
               b = given->logits(given->forward(ids, pass)).value();
  float worst = 0;
  for (int64_t i = 0; i < a.numel(); ++i)
    worst = std::max(worst, std::abs(a.data<float>()[i] - b.data<float>()[i]));
  EXPECT_LT(worst, 3e-5f);  // scales and factors of rotary positions are floats in the file
}

TEST_P(GgufModel, ConfigurationIsThatOfTheFolder) {
  const test::PublishedFolder folder(GetParam().checkpoint);
  as_in_file(folder, GetParam().type);
  TransformerConfig expected = open_model_folder(folder.path())->config().transformer(),
                    given = open_model_folder(path_)->config().transformer();
  EXPECT_EQ(given.architecture, expected.architecture);
  EXPECT_EQ(given.d_model, expected.d_model);
  EXPECT_EQ(given.heads, expected.heads);
  EXPECT_EQ(given.kv_heads == 0 ? given.heads : given.kv_heads,
            expected.kv_heads == 0 ? expected.heads : expected.kv_heads);
  EXPECT_EQ(given.ffn, expected.ffn);
  EXPECT_EQ(given.encoder_layers, expected.encoder_layers);
  EXPECT_EQ(given.decoder_layers, expected.decoder_layers);
  EXPECT_EQ(given.activation, expected.activation);
  EXPECT_EQ(given.norm_order, expected.norm_order);
  EXPECT_EQ(given.norm_eps, expected.norm_eps);
  EXPECT_EQ(given.positions, expected.positions);
  EXPECT_EQ(given.embedding_scale, expected.embedding_scale);
  EXPECT_EQ(given.output_scale, expected.output_scale);
  EXPECT_EQ(given.logit_softcap, expected.logit_softcap);
  EXPECT_EQ(given.source_vocabulary, expected.source_vocabulary);
  EXPECT_EQ(given.max_positions, expected.max_positions);
}

// SentencePiece removes spaces at the ends of what it decodes.
std::string without_ends(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

TEST_P(GgufModel, TokenizesAsTheFolderDoes) {
  const test::PublishedFolder folder(GetParam().checkpoint);
  if (!file_exists(folder.path() / "tokenizer-cases.json")) GTEST_SKIP() << "the checkpoint has no tokenizer";
  // The tokenizer.json of version 5 of transformers differs from the SentencePiece model in the spaces before a text.
  if (file_exists(folder.path() / "tokenizer.v4.json"))
    folder.write("tokenizer.json", read_file(folder.path() / "tokenizer.v4.json"));
  const Tokenizer expected = open_model_folder(folder.path())->tokenizer(TokenizerSide::source),
                  given = open_model_folder(path_)->tokenizer(TokenizerSide::source);
  const auto cases = nlohmann::json::parse(read_file(folder.path() / "tokenizer-cases.json"));
  ASSERT_FALSE(cases.at("cases").empty());
  for (const auto& one : cases.at("cases")) {
    const auto text = one.at("text").get<std::string>();
    // The unigram model of a tokenizer.json has its special tokens among the pieces, and finds them.
    if (GetParam().checkpoint == "mt5" && text.find("</s>") != text.npos) continue;
    EXPECT_EQ(given.encode(text), expected.encode(text)) << text;
    EXPECT_EQ(without_ends(given.decode(given.encode(text))), without_ends(expected.decode(expected.encode(text))))
        << text;
  }
  EXPECT_EQ(given.frame(true, true).before, expected.frame(true, true).before);
  EXPECT_EQ(given.frame(true, true).after, expected.frame(true, true).after);
  EXPECT_EQ(given.special().eos, expected.special().eos);
}

TEST_P(GgufModel, IsReadForInferenceMappedOrNot) {
  const NamedTensors expected = parameters_of(*read_model(path_).model);
  for (const bool map : {false, true}) {
    const NamedTensors given = parameters_of(*read_model_for_inference(path_, {.map = map}).model);
    ASSERT_EQ(given.size(), expected.size());
    for (size_t i = 0; i < given.size(); ++i) {
      ASSERT_EQ(given[i].first, expected[i].first);
      const Tensor a = given[i].second.to(DType::f32).contiguous_copy(), b = expected[i].second.contiguous_copy();
      EXPECT_TRUE(std::ranges::equal(a.span<float>(), b.span<float>())) << given[i].first;
    }
  }
}

TEST_P(GgufModel, IsHeldInTheFormatOfTheFile) {
  const SavedModel ours = read_model_for_inference(path_, {});
  int matrices = 0;
  ours.model->for_each_parameter([&](const std::string& name, const Parameter& parameter) {
    if (!parameter.is_matrix() || parameter.shape()[1] % 32 != 0) return;
    EXPECT_EQ(name_of(parameter.weight().format()), GetParam().type) << name;
    ++matrices;
  });
  if (matrices == 0) GTEST_SKIP() << "it has no rows of whole blocks";
  EXPECT_EQ(name_of(ours.folder->stored_weights()), name_of(held_weights(*ours.model)));
}

std::string test_name(const testing::TestParamInfo<Fixture>& given) {
  std::string name = given.param.checkpoint + "_" + given.param.type;
  std::ranges::replace_if(
      name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Files, GgufModel, testing::ValuesIn(fixtures()), test_name);

std::vector<Fixture> written() {
  std::vector<Fixture> out;
  for (const char* checkpoint : {"llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3", "phi3", "gpt2",
                                 "gpt_neox", "falcon", "bloom", "bert", "minilm", "t5", "mt5"})
    for (const char* type : {"f32", "q8_0"}) out.push_back({checkpoint, type});
  for (const char* type : {"bf16", "q4_0", "q4_1", "q5_0", "q5_1", "iq4_nl"}) out.push_back({"llama", type});
  return out;
}
INSTANTIATE_TEST_SUITE_P(Written, GgufModel, testing::ValuesIn(written()), test_name);

// As llama.cpp expects them; SentencePiece has U+2581 in their place.
TEST(GgufTokens, ThoseOfSeveralSpacesAreWrittenAsTheyStandInATextAndFound) {
  const test::PublishedFolder folder("gemma2");
  set_what_files_mean(folder);
  const fs::path file = folder.path() / "x.gguf";
  write(folder, file, WeightFormat::f32);
  EXPECT_EQ(GgufFile::load(file).metadata().texts("tokenizer.ggml.tokens").at(9), "  ");
  const std::vector<int32_t> ids = open_model_folder(file)->tokenizer(TokenizerSide::source).encode("a  b");
  EXPECT_EQ(std::ranges::count(ids, 9), 1);
}

// As in the vocabulary of llama2.c.
TEST(GgufTokens, TokensThatHaveSpacesThemselvesAreFoundInATextAsBefore) {
  using Json = test::PublishedFolder::Json;
  const test::PublishedFolder folder("llama");
  std::string text = Json::parse(read_file(folder.path() / "tokenizer.json")).dump();  // without \u
  const std::string mark = "\u2581";
  for (size_t at = 0; (at = text.find(mark, at)) != text.npos;) text.replace(at, mark.size(), " ");
  Json json = Json::parse(text);
  json["normalizer"] = {{"type", "Prepend"}, {"prepend", " "}};
  json["pre_tokenizer"] = nullptr;
  folder.write("tokenizer.json", json.dump());
  const fs::path file = folder.path() / "x.gguf";
  write(folder, file, WeightFormat::f32);
  const Tokenizer own = open_model_folder(folder.path())->tokenizer(TokenizerSide::source),
                  written = open_model_folder(file)->tokenizer(TokenizerSide::source);
  for (const char* sentence : {"the rain", "Once upon a time, there was  a \u00e9"}) {
    EXPECT_EQ(written.encode(sentence), own.encode(sentence)) << sentence;
    EXPECT_EQ(written.decode(own.encode(sentence)), sentence);
  }
}

// Its formula has no key: the factors are a tensor.
TEST(GgufRotary, EveryScalingComesBack) {
  for (const char* name : {"llama-llama3", "llama-yarn", "llama-linear"}) {
    const test::PublishedFolder folder("llama"), scaled(name);
    for (const char* key : {"rope_parameters", "max_position_embeddings"}) folder.change(key, scaled.config()[key]);
    const fs::path file = folder.path() / "x.gguf";
    write(folder, file, WeightFormat::f32);
    const NoGrad guard;
    Tensor ids = Tensor::empty({1, 60}, DType::i32);
    for (int32_t t = 0; t < 60; ++t) ids.data<int32_t>()[t] = 7 + (11 * t) % 140;
    std::vector<Tensor> logits;
    for (const fs::path& path : {folder.path(), file}) {
      const auto model = load_model_as<CausalTransformer>(path);
      Pass pass;
      logits.push_back(model.logits(model.forward(ids, pass)).value());
    }
    for (int64_t i = 0; i < logits[0].numel(); ++i)
      ASSERT_NEAR(logits[0].data<float>()[i], logits[1].data<float>()[i], 3e-5) << name;
  }
}

std::string error_of(const std::string& bytes) {
  const test::ScratchFolder scratch;
  write_file(scratch.path() / "x.gguf", bytes);
  try {
    read_model(scratch.path() / "x.gguf");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}
void expect_says(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), text.npos) << "'" << text << "' does not say '" << part << "'";
}

TEST(GgufErrors, UnknownArchitecturesAreNamedWithTheSupportedOnes) {
  const std::string error = error_of(test::GgufBytes().text("general.architecture", "rwkv7").bytes());
  expect_says(error, "'rwkv7' is not supported, only llama, qwen2, qwen3, gemma2, gemma3, phi3, gpt2, gptneox");
}

TEST(GgufErrors, MissingAndWrongKeysAreNamed) {
  test::GgufBytes file;
  file.text("general.architecture", "llama").tensor("token_embd.weight", {32, 4}, 0, test::floats(128));
  expect_says(error_of(file.bytes()), "there is no key 'llama.");
  file.count("llama.embedding_length", 32).count("llama.attention.head_count", 0);
  expect_says(error_of(file.bytes()), "'llama.attention.head_count' must be 1 to 16777216, got 0");
}

TEST(GgufErrors, PartsOfAModelAreRefused) {
  std::string bytes = read_file(fixtures().front().path);
  EXPECT_EQ(error_of(bytes), "");
  const test::ScratchFolder scratch;
  write_file(scratch.path() / "x.gguf", bytes.substr(0, bytes.size() / 2));
  EXPECT_THROW(read_model(scratch.path() / "x.gguf"), InputError);
}

}  // namespace
}  // namespace qkv::gguf_folder_test
