#include "test/faults/snapshot.h"

#include <fstream>
#include <unistd.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"

namespace qkv {

namespace fs = std::filesystem;

Snapshot take_snapshot(const fs::path& folder) {
  Snapshot files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (!entry.is_directory()) files[entry.path().lexically_relative(folder).string()] = read_file(entry.path());
  return files;
}

void restore(const fs::path& folder, const Snapshot& files) {
  fs::remove_all(folder);
  fs::create_directories(folder);
  for (const auto& [name, bytes] : files) {
    fs::create_directories((folder / name).parent_path());
    std::ofstream file(folder / name, std::ios::binary);
    file << bytes;
    require(file.good(), "restore", "{}: cannot be written", (folder / name).string());
  }
}

WorkFolder::WorkFolder(const std::string& name) {
  const fs::path in_memory = "/dev/shm";
  const fs::path base = ::access(in_memory.c_str(), W_OK) == 0 ? in_memory : fs::temp_directory_path();
  path_ = base / fmt::format("qkv.{}.{}", name, ::getpid());
  fs::remove_all(path_);
  fs::create_directories(path_);
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace qkv
