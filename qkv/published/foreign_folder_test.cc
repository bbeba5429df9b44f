#include "qkv/published/foreign_folder.h"

#include <gtest/gtest.h>

#include "qkv/published/published_folder_test.h"

namespace qkv::foreign_folder_test {

namespace fs = std::filesystem;

bool says(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

TEST(ForeignFolder, NamesOfTheHubAreReportedWithADownloadCommand) {
  EXPECT_TRUE(says(foreign_folder("openai-community/gpt2"), "hf download openai-community/gpt2 --local-dir gpt2"));
  for (const char* path : {"gpt2", "/gpt2", "./gpt2", "../gpt2", "a/b/c", "a/"})
    EXPECT_EQ(foreign_folder(path), "") << path;
}

TEST(ForeignFolder, FilesOfWeightsAndAdaptersAreNamed) {
  const test::ScratchFolder scratch;
  write_file(scratch.path() / "llama.gguf", "GGML");
  write_file(scratch.path() / "stories15M.bin", "");
  EXPECT_TRUE(says(foreign_folder(scratch.path() / "llama.gguf"), "GGUF"));
  EXPECT_TRUE(says(foreign_folder(scratch.path()), "give one, such as"));  // its folder
  write_file(scratch.path() / "llama.gguf", "GGUF");
  EXPECT_EQ(foreign_folder(scratch.path() / "llama.gguf"), "");
  fs::remove(scratch.path() / "llama.gguf");
  EXPECT_TRUE(says(foreign_folder(scratch.path() / "stories15M.bin"), "llama2.c"));
  EXPECT_EQ(foreign_folder(scratch.path()), "");
  write_file(scratch.path() / "adapter_config.json", "{}");
  EXPECT_TRUE(says(foreign_folder(scratch.path()), "merge_and_unload()"));
}

TEST(ForeignFolder, TheModelInACacheOfTheHubIsNamed) {
  const test::ScratchFolder scratch;
  fs::create_directories(scratch.path() / "snapshots" / "607a30");
  EXPECT_EQ(foreign_folder(scratch.path()), "");
  write_file(scratch.path() / "snapshots" / "607a30" / "config.json", "{}");
  EXPECT_TRUE(says(foreign_folder(scratch.path()), (scratch.path() / "snapshots" / "607a30").string()));
}

TEST(ForeignFolder, ReadingAModelReportsThem) {
  const test::PublishedFolder folder("llama");
  folder.write("adapter_config.json", "{}");
  EXPECT_TRUE(says(folder.error(), "merge_and_unload()")) << folder.error();
  EXPECT_TRUE(
      says(folder.error_of([] { read_model("openai-community/gpt2"); }), "hf download openai-community/gpt2"));
}

}  // namespace qkv::foreign_folder_test
