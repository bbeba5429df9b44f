// A copy of a folder of test/checkpoints, to be changed by a test.
//
//     const PublishedFolder folder("llama");
//     folder.change("num_hidden_layers", 3);
//     EXPECT_EQ(folder.error(), "model.safetensors: 9 tensors are missing: ...");
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/published/load_model.h"
#include "qkv/tensor/safetensors.h"
#include "qkv/test_support/scratch_folder.h"

namespace qkv::test {

class PublishedFolder {
 public:
  using Json = nlohmann::ordered_json;

  explicit PublishedFolder(const std::string& name) {
    namespace fs = std::filesystem;
    fs::copy(fs::path(QKV_SOURCE_DIR) / "test" / "checkpoints" / name, path(), fs::copy_options::recursive);
  }
  const std::filesystem::path& path() const { return scratch_.path(); }
  Json config() const { return Json::parse(read_file(path() / "config.json")); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path() / name, std::ios::binary) << text;
  }
  void change(const char* key, const Json& value) const {
    Json json = config();
    json[key] = value;
    write("config.json", json.dump());
  }
  void erase(const char* key) const {
    Json json = config();
    json.erase(key);
    write("config.json", json.dump());
  }
  // The tensors by name, changed.
  void change_tensors(const std::function<void(std::map<std::string, Tensor>&)>& change) const {
    const std::filesystem::path file = path() / "model.safetensors";
    std::map<std::string, Tensor> tensors;
    {
      const SafetensorsFile old = SafetensorsFile::load(file);
      for (const std::string& name : old.names()) tensors[name] = old.get(name);
    }
    change(tensors);
    save_safetensors(file, NamedTensors(tensors.begin(), tensors.end()), {});
  }
  // A text is the ids of its tokens, separated by spaces, or [MASK] for the last id.
  void give_number_tokenizer() const {
    const int rows = config()["vocab_size"].get<int>();
    Json vocabulary;
    for (int id = 0; id < rows - 1; ++id) vocabulary[std::to_string(id)] = id;
    vocabulary["[MASK]"] = rows - 1;
    const Json mask = {{"id", rows - 1},  {"content", "[MASK]"}, {"single_word", false}, {"lstrip", false},
                       {"rstrip", false}, {"normalized", false}, {"special", true}};
    const Json tokenizer = {{"version", "1.0"},
                            {"added_tokens", Json::array({mask})},
                            {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
                            {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "0"}}}};
    write("tokenizer.json", tokenizer.dump());
  }
  // The error without the path of the folder, or "" if it is a model.
  std::string error() const {
    return error_of([&] { read_model(path()); });
  }
  std::string error_of(const std::function<void()>& read) const {
    try {
      read();
      return "";
    } catch (const InputError& e) {
      std::string text = e.what();
      if (const size_t at = text.find(path().string()); at != std::string::npos)
        text.erase(at, path().string().size() + 1);
      return text;
    }
  }

 private:
  ScratchFolder scratch_;
};

}  // namespace qkv::test
