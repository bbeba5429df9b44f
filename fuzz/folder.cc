#include "fuzz/folder.h"

#include <fstream>

#include "fuzz/input.h"
#include "qkv/test_support/scratch_folder.h"

namespace qkv::fuzz {
namespace {

namespace fs = std::filesystem;

// The expected results of tests, which are not part of the model.
constexpr const char* references[] = {"reference.safetensors", "reference.json", "tokenizer-cases.json",
                                      "config.v4.json", "tokenizer.v4.json"};

void make(const FolderFile& file, const fs::path& folder) {
  fs::create_directories(folder);
  file.make(folder);
  for (const char* name : references) fs::remove(folder / name);
  for (const std::string& name : file.without) fs::remove(folder / name);
}

}  // namespace

MakeFolder copy_of(const std::string& checkpoint) {
  return [checkpoint](const fs::path& folder) {
    fs::copy(fs::path(QKV_SOURCE_DIR) / "test" / "checkpoints" / checkpoint, folder, fs::copy_options::recursive);
  };
}

void with_one_file(std::span<const FolderFile> files, const uint8_t* data, size_t size,
                   const std::function<void(const fs::path& folder)>& use) {
  static const test::ScratchFolder scratch;
  if (size == 0) return;
  const size_t number = (data[0] + files.size() - 'a' % files.size()) % files.size();
  const FolderFile& file = files[number];
  const fs::path folder = scratch.path() / std::to_string(number);
  if (!fs::exists(folder)) make(file, folder);
  const std::string_view input = as_text(data + 1, size - 1);
  const std::string bytes = file.content ? file.content(folder, input) : std::string(input);
  std::ofstream(folder / file.name, std::ios::binary) << bytes;
  use(folder);
}

}  // namespace qkv::fuzz
