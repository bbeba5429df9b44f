// Folders of published models with random damage are either read or refused in one line, and never crash a program.
//
// QKV_DAMAGED_FOLDERS: how many, 300 if it is not set.
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/decode/overflow.h"
#include "qkv/test_support/scratch_folder.h"
#include "test/damaged_folders_test/damage.h"
#include "test/damaged_folders_test/tiny_folders.h"
#include "test/damaged_folders_test/use_model.h"

namespace qkv::damaged_folders_test {

namespace fs = std::filesystem;

std::vector<fs::path> make_tiny_folders(const fs::path& place) {
  std::vector<fs::path> folders;
  for (const auto& [name, write] :
       {std::pair("llama2c", &test::write_tiny_llama2c), std::pair("min-gpt", &test::write_tiny_min_gpt),
        std::pair("ctranslate2", &test::write_tiny_ctranslate2), std::pair("marian", &test::write_tiny_marian)}) {
    folders.push_back(place / name);
    fs::create_directories(folders.back());
    write(folders.back());
  }
  return folders;
}

TEST(TinyFolders, OfEveryFormatAreRead) {
  const test::ScratchFolder scratch;
  for (const fs::path& folder : make_tiny_folders(scratch.path()))
    EXPECT_NO_THROW(test::use_model(folder)) << folder;
}

TEST(DamagedFolders, AreReadOrRefusedInOneLine) {
  const char* wanted = std::getenv("QKV_DAMAGED_FOLDERS");
  const uint64_t count = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 300;
  const test::ScratchFolder tiny;
  std::vector<fs::path> folders = make_tiny_folders(tiny.path());
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
    test::Damage damage(n);
    const std::string what =
        original.filename().string() + ", number " + std::to_string(n) + ": " + damage.to(folder);
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
