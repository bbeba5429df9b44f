// Damaged folders of published models: each is an error of one line, or a model.
#include <gtest/gtest.h>

#include "qkv/base/random.h"
#include "qkv/published/model_folder.h"
#include "qkv/published/published_folder_test.h"

namespace qkv::huggingface_folder_test {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using test::PublishedFolder;

TEST(ReadFamily, SaysWhatItDoesNotSupport) {
  const PublishedFolder folder("llama");
  folder.change("model_type", "lama");
  EXPECT_TRUE(folder.error().starts_with("config.json: models of type 'lama' are not supported, only bart, bert,"));
  EXPECT_EQ(folder.error().find("did you mean"), std::string::npos) << "a type is not a typing error";
  folder.change("model_type", "llama");
  folder.change("num_attention_heads", "four");
  EXPECT_EQ(folder.error(),
            "config.json: 'num_attention_heads' must be an integer from 1 to 16777216, got \"four\"");
  folder.change("num_attention_heads", nullptr);
  EXPECT_EQ(folder.error(), "config.json: there is no 'num_attention_heads'");
  folder.change("num_attention_heads", 5);
  EXPECT_NE(folder.error().find("heads"), std::string::npos);
}

TEST(ReadFamily, ListsTensorsThatAreMissingAndLeftOver) {
  const PublishedFolder folder("llama");
  const Json before = folder.config();
  folder.change("num_hidden_layers", 3);
  EXPECT_EQ(folder.error().substr(0, 60), "model.safetensors: 9 tensors are missing: 'model.layers.2.se")
      << folder.error();
  folder.change("num_hidden_layers", 1);
  EXPECT_EQ(folder.error().substr(0, 60), "model.safetensors: 9 tensors do not belong to this model: 'm")
      << folder.error();
  folder.write("config.json", before.dump());
  folder.change("intermediate_size", 41);
  EXPECT_EQ(
      folder.error(),
      "model.safetensors: tensor 'model.layers.0.mlp.gate_proj.weight' gives (40, 32), the model expects (41, 32)");
}

TEST(ReadFamily, NeverReadsPickledWeights) {
  const PublishedFolder folder("llama");
  fs::rename(folder.path() / "model.safetensors", folder.path() / "pytorch_model.bin");
  EXPECT_NE(folder.error().find("safe_serialization"), std::string::npos) << folder.error();
}

TEST(ReadFamily, ShardsAreFilesOfTheFolder) {
  const PublishedFolder folder("t5-sharded");
  ASSERT_EQ(folder.error(), "");
  Json index = Json::parse(read_file(folder.path() / "model.safetensors.index.json"));
  const std::string tensor = index["weight_map"].begin().key(), shard = index["weight_map"].begin().value();
  for (const Json& bad :
       {Json("../model.safetensors"), Json("/etc/passwd"), Json(""), Json("none.safetensors"), Json(5)}) {
    index["weight_map"][tensor] = bad;
    folder.write("model.safetensors.index.json", index.dump());
    EXPECT_NE(folder.error(), "") << bad;
  }
  index["weight_map"][tensor] = shard;
  folder.write("model.safetensors.index.json", index.dump());
  fs::remove(folder.path() / shard);
  EXPECT_NE(folder.error().find(shard), std::string::npos) << folder.error();
}

// Values of config.json replaced by other kinds of values: a fifth of all combinations, other ones for each key.
TEST(ReadFamily, DamagedConfigurationsAreErrorsOrModels) {
  const Json values[] = {nullptr,          true,          -1, 0, 3, 1e30, 16777217, "", "gelu", Json::array(),
                         Json::array({1}), Json::object()};
  int errors = 0, models = 0;
  size_t combination = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(QKV_SOURCE_DIR) / "test" / "checkpoints")) {
    if (!entry.is_directory()) continue;
    if (!fs::exists(entry.path() / "model.safetensors")) continue;
    const PublishedFolder folder(entry.path().filename().string());
    const Json config = folder.config(), flat = config.flatten();
    for (const auto& [path, value] : flat.items())
      for (const Json& other : values) {
        if (combination++ % 5 != 0) continue;
        Json damaged = config;
        damaged[Json::json_pointer(path)] = other;
        folder.write("config.json", damaged.dump());
        const std::string error = folder.error();
        EXPECT_EQ(error.find('\n'), std::string::npos) << error;
        ++(error.empty() ? models : errors);
      }
  }
  EXPECT_GT(errors, 300);
  EXPECT_GT(models, 300);
}

// Only the first `changed` bytes are damaged: they describe the rest.
void damage(const std::string& model, const std::string& file, int64_t changed) {
  const PublishedFolder folder(model);
  const std::string bytes = read_file(folder.path() / file);
  ASSERT_EQ(folder.error(), "");
  Random random(3, 4);
  for (int i = 0; i < 400; ++i) {
    std::string damaged = bytes;
    if (i % 3 == 0)
      damaged.resize(random.below(bytes.size()));
    else
      damaged[random.below(static_cast<uint64_t>(changed))] = static_cast<char>(random.below(256));
    folder.write(file, damaged);
    EXPECT_EQ(folder.error().find('\n'), std::string::npos);
  }
}

TEST(ReadFamily, DamagedWeightsAreErrorsOrModels) { damage("gpt2", "model.safetensors", 3000); }

// Names, shapes and sizes are everywhere in this file.
TEST(ReadFamily, DamagedFilesOfCTranslate2AreErrorsOrModels) {
  const int64_t bytes = fs::file_size(fs::path(QKV_SOURCE_DIR) / "test/checkpoints/ctranslate2-int8/model.bin");
  damage("ctranslate2-int8", "model.bin", bytes);
  damage("ctranslate2-float16", "model.bin", 500);
}

}  // namespace qkv::huggingface_folder_test
