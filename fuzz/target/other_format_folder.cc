// One file of a folder of CTranslate2, Marian, llama2.c or minGPT: what is read of it is used, or refused.
#include <fmt/format.h>

#include "fuzz/folder.h"
#include "fuzz/input.h"
#include "test/damaged_folders/tiny_folders.h"
#include "test/damaged_folders/use_model.h"

namespace {

namespace fs = std::filesystem;
using namespace qkv;

void marian_without_vocabulary(const fs::path& folder) {
  test::write_tiny_marian(folder);
  fs::remove(folder / "vocab.yml");
}

// The settings that the archive holds itself.
std::string archive_with_settings(const fs::path&, std::string_view input) {
  auto arrays = test::tiny_marian_arrays();
  arrays["special:model.yml.npy"] = test::npy_of("|i1", fmt::format("({},)", input.size()), std::string(input));
  return test::zip_of(arrays);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::FolderFile files[] = {
      {test::write_tiny_ctranslate2, "model.bin"},                        // a
      {test::write_tiny_ctranslate2, "shared_vocabulary.json"},           // b
      {test::write_tiny_ctranslate2, "target_vocabulary.txt"},            // c
      {test::write_tiny_ctranslate2, "config.json"},                      // d
      {test::write_tiny_ctranslate2, "source.spm"},                       // e
      {test::write_tiny_marian, "model.npz"},                             // f
      {test::write_tiny_marian, "model.npz", {}, archive_with_settings},  // g: special:model.yml
      {test::write_tiny_marian, "decoder.yml"},                           // h
      {test::write_tiny_marian, "vocab.yml"},                             // i
      {marian_without_vocabulary, "vocab.json"},                          // j
      {marian_without_vocabulary, "vocab.spm"},                           // k
      {test::write_tiny_llama2c, "stories.bin"},                          // l
      {test::write_tiny_llama2c, "tok.bin"},                              // m
      {test::write_tiny_min_gpt, "tiny-model.json"},                      // n
  };
  fuzz::with_one_file(files, data, size,
                      [](const fs::path& folder) { fuzz::accepted([&] { test::use_model(folder); }); });
  return 0;
}
