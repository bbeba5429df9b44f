#include "test/damaged_folders/folder.h"

#include <cerrno>
#include <cstdio>

#include "qkv/base/file.h"

namespace qkv::test {

namespace fs = std::filesystem;

Folder read_folder(const fs::path& path) {
  Folder folder;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file()) folder[entry.path().lexically_relative(path).string()] = read_file(entry.path());
  return folder;
}

void write_folder(const Folder& folder, const fs::path& path) {
  fs::remove_all(path);
  fs::create_directories(path);
  for (const auto& [name, bytes] : folder) {
    const fs::path file = path / name;
    fs::create_directories(file.parent_path());
    std::FILE* out = std::fopen(file.c_str(), "wb");  // thousands of files that need not survive a power cut
    if (out == nullptr) throw FileError("write", file.string(), errno);
    const bool written = std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size();
    if (std::fclose(out) != 0 || !written) throw FileError("write", file.string(), errno);
  }
}

}  // namespace qkv::test
