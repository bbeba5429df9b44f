// Folders of published models with random damage are either read or refused in one line, and never crash a program.
//
// QKV_DAMAGED_FOLDERS: how many, 500 if it is not set.
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/random.h"
#include "qkv/decode/embedder.h"
#include "qkv/decode/generator.h"
#include "qkv/decode/mask_filler.h"
#include "qkv/decode/translator.h"
#include "qkv/model/model_file.h"
#include "qkv/test_support/scratch_folder.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

class Damage {
 public:
  explicit Damage(uint64_t number) : random_(number) {}

  // What was done.
  std::string to(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
      if (entry.is_regular_file()) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    const fs::path file = files[random_.below(files.size())];
    const std::string name = file.lexically_relative(folder).string();
    const uint64_t kind = random_.below(10);
    if (kind == 0) {
      fs::remove(file);
      return name + " removed";
    }
    if (kind <= 6 && file.extension() == ".json") return name + ": " + change_json(file);
    if (kind <= 6 && file.extension() == ".safetensors") return name + ": " + change_header(file);
    return name + ": " + change_bytes(file);
  }

 private:
  std::string change_bytes(const fs::path& file) {
    std::string bytes = read_file(file);
    const uint64_t kind = random_.below(4);
    if (bytes.empty()) return "empty";
    if (kind == 0) {
      bytes.resize(random_.below(bytes.size()));
    } else if (kind == 1) {
      bytes.insert(random_.below(bytes.size()),
                   std::string(1 + random_.below(64), static_cast<char>(random_.below(256))));
    } else {
      for (uint64_t n = 1 + random_.below(8); n > 0; --n)
        bytes[random_.below(bytes.size())] = static_cast<char>(random_.below(256));
    }
    write_file(file, bytes);
    return "bytes";
  }

  Json* random_node(Json& root) {
    Json* node = &root;
    for (int depth = 0; depth < 12 && node->is_structured() && !node->empty(); ++depth) {
      const uint64_t at = random_.below(node->size());
      node = node->is_array() ? &(*node)[at] : &std::next(node->begin(), static_cast<int64_t>(at)).value();
      if (random_.below(4) == 0) break;
    }
    return node;
  }

  Json strange_value() {
    switch (random_.below(12)) {
      case 0: return nullptr;
      case 1: return true;
      case 2: return -1;
      case 3: return 0;
      case 4: return int64_t{1} << 40;
      case 5: return UINT64_MAX;
      case 6: return 1e300;
      case 7: return "x";
      case 8: return std::string(5000, 'y');
      case 9: return Json::array({1, "a", Json::array()});
      case 10: return Json::object({{"type", "Sequence"}, {"a", 1}});
      default: {
        Json deep = 1;
        for (int i = 0; i < 60; ++i) deep = Json::array({deep});
        return deep;
      }
    }
  }

  std::string change_tree(Json& json) {
    Json* node = random_node(json);
    const uint64_t kind = random_.below(5);
    if (kind == 0 && node->is_object() && !node->empty()) {
      node->erase(std::next(node->begin(), static_cast<int64_t>(random_.below(node->size()))));
      return "a key removed";
    }
    if (kind == 1 && node->is_array() && !node->empty()) {
      const Json item = (*node)[random_.below(node->size())];
      for (int i = 0; i < 500; ++i) node->push_back(item);
      return "an item repeated";
    }
    if (kind == 2 && node->is_number_integer()) {
      *node =
          node->get<int64_t>() * (random_.below(2) == 0 ? 2 : 1000) + static_cast<int64_t>(random_.below(3)) - 1;
      return "a number changed";
    }
    if (kind == 3 && node->is_object() && node != &json) {
      const Json copy = json;
      (*node)["copy"] = copy;
      return "itself within it";
    }
    const Json value = strange_value();
    *node = value;
    return "a value is " + value.dump().substr(0, 40);
  }

  std::string change_json(const fs::path& file) {
    Json json = Json::parse(read_file(file), nullptr, false);
    if (json.is_discarded()) return change_bytes(file);
    const std::string what = change_tree(json);
    write_file(file, json.dump(-1, ' ', false, Json::error_handler_t::replace));
    return what;
  }

  // Shapes, offsets, types and names of tensors.
  std::string change_header(const fs::path& file) {
    const std::string bytes = read_file(file);
    uint64_t size = 0;
    std::memcpy(&size, bytes.data(), 8);
    Json json = Json::parse(bytes.substr(8, size));
    std::string what;
    if (random_.below(3) == 0 && !json.empty()) {
      const auto at = std::next(json.begin(), static_cast<int64_t>(random_.below(json.size())));
      const Json value = at.value();
      what = "renamed " + at.key();
      const std::string name = at.key() + "x";
      json.erase(at);
      json[name] = value;
    } else {
      what = change_tree(json);
    }
    const std::string header = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    const uint64_t length = header.size();
    write_file(file, std::string(reinterpret_cast<const char*>(&length), 8) + header + bytes.substr(8 + size));
    return what;
  }

  Random random_;
};

// Reads the model, and uses it for what it is for.
void use(const fs::path& folder) {
  switch (load_config(folder).architecture) {
    case Architecture::causal:
      Generator(folder).generate("the man", {.max_tokens = 3, .sampling = {.temperature = 0}});
      break;
    case Architecture::masked: {
      const std::vector<std::string> texts = {"the man"};
      Embedder(folder).embed(texts);
      break;
    }
    default: Translator(folder).translate("the man", {.max_length = 3}); break;
  }
}

TEST(DamagedFolders, AreReadOrRefusedInOneLine) {
  const char* wanted = std::getenv("QKV_DAMAGED_FOLDERS");
  const uint64_t count = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 500;
  std::vector<fs::path> folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(QKV_SOURCE_DIR) / "test" / "checkpoints"))
    if (entry.is_directory()) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  ASSERT_GT(folders.size(), 20u);
  uint64_t refused = 0;
  for (uint64_t n = 0; n < count; ++n) {
    const fs::path& original = folders[n % folders.size()];
    const test::ScratchFolder scratch;
    const fs::path folder = scratch.path() / "model";
    fs::copy(original, folder, fs::copy_options::recursive);
    fs::remove(folder / "reference.safetensors"), fs::remove(folder / "reference.json");
    fs::remove(folder / "config.v4.json"), fs::remove(folder / "tokenizer-cases.json");
    Damage damage(n);
    const std::string what =
        original.filename().string() + ", number " + std::to_string(n) + ": " + damage.to(folder);
    SCOPED_TRACE(what);
    if (wanted != nullptr) std::fprintf(stderr, "%s\n", what.c_str());
    try {
      use(folder);
    } catch (const InputError& error) {
      ++refused;
      const std::string message = error.what();
      EXPECT_LT(message.size(), 2000u);
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
      EXPECT_FALSE(message.empty());
    } catch (const std::exception& error) {
      // Weights may become so large that what is computed of them is not finite.
      if (std::string(error.what()).find("NaN") != std::string::npos) continue;
      ADD_FAILURE() << "not an InputError: " << error.what();
    }
  }
  EXPECT_GT(refused, count / 4);
}

}  // namespace
}  // namespace qkv
