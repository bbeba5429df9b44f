// Folders of models with random damage are either read or refused in one line, and never crash a program.
//
// QKV_DAMAGED_FOLDERS: how many, 300 if it is not set.
#include <cstdio>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/decode/overflow.h"
#include "qkv/test_support/scratch_folder.h"
#include "test/damaged_folders/change.h"
#include "test/damaged_folders/damage.h"
#include "test/damaged_folders/model_folders.h"
#include "test/damaged_folders/use_model.h"

namespace qkv::damaged_folders_test {

bool has_tokenizer(const test::ModelFolder& model) {
  return model.format != "huggingface" || model.files.contains("tokenizer.json") ||
         model.files.contains("source.spm");
}

TEST(ModelFolders, OfEveryFormatAreRead) {
  std::set<std::string> formats;
  for (const test::ModelFolder& model : test::model_folders()) {
    if (!has_tokenizer(model)) continue;
    formats.insert(model.format);
    const test::ScratchFolder scratch;
    test::write_folder(model.files, scratch.path() / "model");
    EXPECT_NO_THROW(test::use_model(scratch.path() / "model")) << model.name;
  }
  EXPECT_EQ(formats.size(), 6u);
}

const std::string& file_of(const std::vector<test::ModelFolder>& models, const std::string& model,
                           const std::string& file) {
  for (const test::ModelFolder& folder : models)
    if (folder.name == model) return folder.files.at(file);
  throw std::out_of_range(model);
}

// One that never finds a place would test nothing.
TEST(Changes, FindAPlaceInTheirFilesAndNoneInOthers) {
  const std::vector<test::ModelFolder> models = test::model_folders();
  const std::tuple<const char*, const char*, test::Change> rows[] = {
      {"gpt2", "config.json", test::change_json},
      {"tiny-mingpt", "tiny-model.json", test::change_json},
      {"gpt2", "tokenizer.json", test::change_tokenizer},
      {"t5", "tokenizer.json", test::change_tokenizer},
      {"gpt2", "model.safetensors", test::change_header},
      {"translation", "model.safetensors", test::change_header},
      {"marian", "source.spm", test::change_pieces},
      {"translation", "source.model", test::change_pieces},
      {"marian-npz", "model.npz", test::change_archive},
      {"tiny-marian", "model.npz", test::change_archive},
      {"ctranslate2-int8", "model.bin", test::change_variable},
      {"tiny-ctranslate2", "model.bin", test::change_variable},
      {"tiny-llama2c", "tok.bin", test::change_size}};
  for (const auto& [model, file, change] : rows) {
    const std::string& whole = file_of(models, model, file);
    int changed = 0;
    for (uint64_t n = 0; n < 100; ++n) {
      std::string bytes = whole;
      Random random(n);
      const std::string what = change(bytes, random);
      changed += !what.empty() && bytes != whole ? 1 : 0;
      EXPECT_TRUE(!what.empty() || bytes == whole) << model << ", " << file;
    }
    EXPECT_GT(changed, 90) << model << ", " << file;
    std::string other = "\x08";
    Random random(0);
    EXPECT_EQ(change(other, random), "") << model << ", " << file;
    EXPECT_EQ(other, "\x08");
  }
}

TEST(DamagedFolders, AreReadOrRefusedInOneLine) {
  const char* wanted = std::getenv("QKV_DAMAGED_FOLDERS");
  const uint64_t count = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 300;
  const std::vector<test::ModelFolder> models = test::model_folders();
  const test::ScratchFolder scratch;
  const std::filesystem::path folder = scratch.path() / "model";
  uint64_t refused = 0;
  for (uint64_t n = 0; n < count; ++n) {
    const test::ModelFolder& model = models[n % models.size()];
    test::Folder files = model.files;
    Random random(n);
    if (random.below(2) == 0) test::remove_checksums(files);
    const std::string what = fmt::format("{}, number {}: {}", model.name, n, test::damage(files, random));
    test::write_folder(files, folder);
    SCOPED_TRACE(what);
    if (wanted != nullptr) std::fprintf(stderr, "%s\n", what.c_str());
    try {
      test::use_model(folder);
    } catch (const InputError& error) {
      ++refused;
      const std::string message = error.what();
      EXPECT_LT(message.size(), 2000u);
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
      EXPECT_FALSE(message.empty());
    } catch (const Overflow&) {  // weights may become so large that what is computed of them is not finite
    } catch (const std::exception& error) {
      ADD_FAILURE() << "not an InputError: " << error.what();
    }
  }
  EXPECT_GT(refused, count / 4);
}

}  // namespace qkv::damaged_folders_test
