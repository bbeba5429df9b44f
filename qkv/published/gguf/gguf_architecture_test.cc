#include "qkv/published/gguf/gguf_architecture.h"

#include <gtest/gtest.h>

#include "qkv/base/file.h"

namespace qkv::gguf_architecture_test {
namespace {

// test/gguf/make_names.py: what llama.cpp calls the tensors of each architecture.
Json known_names() {
  const std::string file = QKV_SOURCE_DIR "/test/gguf/names.json";
  return parse_json_object(read_file(file), file, {.bytes = 1 << 20, .name_bytes = 1000});
}

TEST(GgufArchitecture, NamesOfTensorsAreThoseOfTheGgufPackage) {
  const Json all = known_names();
  int checked = 0;
  for (const auto& [name, known] : all.items()) {
    const GgufArchitecture* architecture = gguf_architecture_named(name);
    ASSERT_NE(architecture, nullptr) << name;
    for (const auto& [huggingface, gguf] : architecture->names) {
      std::string theirs(huggingface);
      if (theirs.starts_with("bert.")) theirs = theirs.substr(5);
      if (!known.contains(theirs)) continue;  // a table serves several architectures
      EXPECT_EQ(known[theirs].get<std::string>(), gguf) << name << ": " << theirs;
      ++checked;
    }
  }
  EXPECT_EQ(all.items().size(), 12u);
  EXPECT_GT(checked, 120);
}

TEST(GgufArchitecture, InterleavedRowsAreTheHalvesOfEachHead) {
  EXPECT_EQ(interleaved_rows(2, 4), (std::vector<int64_t>{0, 2, 1, 3, 4, 6, 5, 7}));
}

}  // namespace
}  // namespace qkv::gguf_architecture_test
