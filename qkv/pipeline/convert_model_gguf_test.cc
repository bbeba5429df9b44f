// Models as GGUF files: from folders of every kind, and what is refused. That each architecture comes back as it was is a test
// of published/gguf/gguf_folder_test.cc.
#include <map>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/json.h"
#include "qkv/model/model_file.h"
#include "qkv/pipeline/convert_model.h"
#include "qkv/pipeline/generator.h"
#include "qkv/published/gguf/gguf_file.h"
#include "qkv/published/model_folder.h"
#include "qkv/published/published_folder_test.h"
#include "qkv/tensor/safetensors.h"
#include "qkv/test_support/scratch_folder.h"

namespace qkv::convert_model_gguf_test {
namespace {

namespace fs = std::filesystem;

fs::path published(const std::string& name) { return fs::path(QKV_SOURCE_DIR) / "test" / "checkpoints" / name; }

class ConvertToGguf : public testing::Test {
 protected:
  fs::path written(const fs::path& from, const std::string& name, const InferenceOptions& options = {}) const {
    const fs::path to = scratch_.path() / name;
    convert_model(from, to, ModelFormat::gguf, options);
    return to;
  }
  std::string error(const fs::path& from, const InferenceOptions& options = {}) const {
    try {
      written(from, "refused.gguf", options);
    } catch (const UsageError& e) {
      EXPECT_FALSE(file_exists(scratch_.path() / "refused.gguf"));
      return e.what();
    }
    return "";
  }
  test::ScratchFolder scratch_;
};

// The log-probabilities of some text.
std::vector<float> scores(const fs::path& model) {
  const std::vector<std::string> texts = {"the cat sat", "that man and his  dog", "12 + 3"};
  std::vector<float> out;
  for (const TextScore& score : Generator(model).score(texts))
    out.insert(out.end(), score.token_log_probabilities.begin(), score.token_log_probabilities.end());
  return out;
}

TEST_F(ConvertToGguf, FoldersOfHuggingFaceOursAndGgufFilesGiveTheSameFile) {
  for (const std::string name : {"qwen2", "llama", "gpt2", "bert"}) {
    const fs::path folder = published(name), ours = scratch_.path() / "ours" / name;
    convert_model(folder, ours);
    const fs::path first = written(folder, "1/" + name + ".gguf"), second = written(ours, "2/" + name + ".gguf"),
                   third = written(first, "3/" + name + ".gguf");
    EXPECT_EQ(read_file(first), read_file(second)) << name;
    EXPECT_EQ(read_file(first), read_file(third)) << name;
    if (name == "bert") continue;  // it has no probabilities
    EXPECT_EQ(scores(first), scores(folder)) << name;
  }
}

TEST_F(ConvertToGguf, FilesHaveAName) {
  const GgufMetadata metadata = GgufFile::load(written(published("gpt2"), "x.gguf")).metadata();
  EXPECT_EQ(metadata.text("general.name"), "gpt2");
  EXPECT_EQ(metadata.text("general.architecture"), "gpt2");
  EXPECT_EQ(metadata.integer("general.quantization_version"), 2);
}

TEST_F(ConvertToGguf, EveryFormatIsWrittenAsItIsHeldAndKept) {
  for (const auto& [format, name] : names_of(WeightFormat{})) {
    if (format == WeightFormat::int8) continue;
    const fs::path file = written(published("qwen2"), std::string(name) + ".gguf", {.weights = format}),
                   again = written(file, std::string(name) + "-again.gguf");
    const GgufFile first = GgufFile::load(file), second = GgufFile::load(again);
    // Rows of 32 are not whole blocks of 256.
    const WeightFormat expected = format_for_rows(format, 32);
    EXPECT_EQ(first.entry("blk.0.attn_q.weight").type->format, expected) << name;
    EXPECT_EQ(first.entry("blk.0.ffn_down.weight").type->name, is_quantized(format) ? "F16"
                                                               : name == "f32"      ? "F32"
                                                                                    : "BF16");
    EXPECT_EQ(first.entry("blk.0.attn_norm.weight").type->name, "F32");
    ASSERT_EQ(first.tensors().size(), second.tensors().size());
    for (size_t i = 0; i < first.tensors().size(); ++i) {
      EXPECT_EQ(first.tensors()[i].name, second.tensors()[i].name);
      EXPECT_EQ(first.tensors()[i].type, second.tensors()[i].type) << name << " " << first.tensors()[i].name;
    }
    for (const GgufFile* one : {&first, &second})
      EXPECT_EQ(one->metadata().integer("general.file_type"), gguf_tensor_type(expected).file_type) << name;
    EXPECT_EQ(scores(file), scores(again)) << name;
  }
}

TEST_F(ConvertToGguf, ModelsInSeveralFilesAreOneFile) {
  const test::PublishedFolder folder("llama");
  std::map<std::string, Tensor> tensors;
  folder.change_tensors([&](std::map<std::string, Tensor>& all) { tensors = all; });
  NamedTensors parts[2];
  Json files = Json::object();
  for (const auto& [name, tensor] : tensors) {
    const size_t part = files.size() % 2;
    parts[part].emplace_back(name, tensor);
    files.append(name, part == 0 ? "model-1.safetensors" : "model-2.safetensors");
  }
  save_safetensors(folder.path() / "model-1.safetensors", parts[0], {});
  save_safetensors(folder.path() / "model-2.safetensors", parts[1], {});
  folder.write("model.safetensors.index.json", Json{{"weight_map", files}}.dump());
  fs::remove(folder.path() / "model.safetensors");
  EXPECT_EQ(scores(written(folder.path(), "sharded.gguf")), scores(published("llama")));
}

TEST_F(ConvertToGguf, ChatTemplatesAreThoseOfTheFolder) {
  const test::PublishedFolder folder("qwen2");
  const auto of = [&](const std::string& name) {
    return open_model_folder(written(folder.path(), name))->chat_template().text;
  };
  EXPECT_EQ(of("none.gguf"), "");
  auto settings = test::PublishedFolder::Json::parse(read_file(folder.path() / "tokenizer_config.json"));
  settings["chat_template"] = {{{"name", "tools"}, {"template", "T"}},
                               {{"name", "default"}, {"template", "{{ a }}"}}};
  folder.write("tokenizer_config.json", settings.dump());
  EXPECT_EQ(of("named.gguf"), "{{ a }}");
  folder.write("chat_template.jinja", "{{ b }}");
  EXPECT_EQ(of("file.gguf"), "{{ b }}");
}

TEST_F(ConvertToGguf, WhatNoArchitectureHasIsRefusedWithWhatDiffers) {
  EXPECT_EQ(error(published("roberta")),
            "convert: no architecture of GGUF files is that of this model, only llama, qwen2, qwen3, gemma2, "
            "gemma3, phi3, "
            "gpt2, gptneox, falcon, bloom, bert, t5; in bert 'position_offset' is 0, not 2");
  EXPECT_NE(error(published("marian")).find("no architecture of GGUF files is that of this model"),
            std::string::npos);
  const test::PublishedFolder folder("llama");
  folder.change("hidden_act", "relu");
  EXPECT_NE(error(folder.path()).find("in llama 'activation' is \"silu\", not \"relu\""), std::string::npos);
}

TEST_F(ConvertToGguf, WordsWithoutANameAreRefused) {
  const test::PublishedFolder folder("gpt2");
  auto json = test::PublishedFolder::Json::parse(read_file(folder.path() / "tokenizer.json"));
  json["pre_tokenizer"]["add_prefix_space"] = true;
  folder.write("tokenizer.json", json.dump());
  EXPECT_NE(error(folder.path()).find("'tokenizer.ggml.pre' has no name for its words"), std::string::npos);
  folder.give_number_tokenizer();
  EXPECT_NE(error(folder.path()).find("its model is 'WordLevel', which llama.cpp does not read"),
            std::string::npos);
}

TEST_F(ConvertToGguf, Int8IsRefusedWithTheNearestFormat) {
  const std::string expected =
      "convert: GGUF files cannot have int8 weights; the nearest format is q8_0 (--weights q8_0)";
  EXPECT_EQ(error(published("llama"), {.weights = WeightFormat::int8}), expected);
  const fs::path ours = scratch_.path() / "ours";
  convert_model(published("qwen2"), ours, ModelFormat::qkv, {.weights = WeightFormat::int8});
  EXPECT_EQ(error(ours), expected);
  EXPECT_FALSE(scores(written(ours, "ours.gguf", {.weights = WeightFormat::q8_0})).empty());
}

TEST_F(ConvertToGguf, FilesThatExistAreNotReplaced) {
  const fs::path file = scratch_.path() / "there.gguf";
  write_file(file, "something");
  EXPECT_THROW(convert_model(published("llama"), file, ModelFormat::gguf), UsageError);
  EXPECT_EQ(read_file(file), "something");
  EXPECT_THROW(convert_model(published("llama"), scratch_.path(), ModelFormat::gguf), UsageError);
}

}  // namespace
}  // namespace qkv::convert_model_gguf_test
