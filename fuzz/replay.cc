// Runs a fuzz target on inputs that are kept: files, or all files of folders. So the seeds and everything that a
// fuzzer ever found are tests, with any compiler.
//
//     fuzz_config fuzz/corpus/config
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "qkv/base/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_of(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  size_t count = 0;
  for (int i = 1; i < argc; ++i)
    for (const fs::path& file : files_of(argv[i])) {
      std::printf("%s\n", file.c_str());
      std::fflush(stdout);  // the last line names the input that ends the program
      const std::string bytes = qkv::read_file(file);
      LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
      ++count;
    }
  std::printf("%zu inputs\n", count);
  return count > 0 ? 0 : 1;
}
