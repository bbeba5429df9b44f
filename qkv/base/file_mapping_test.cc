#include "qkv/base/file_mapping.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "qkv/test_support/scratch_folder.h"

namespace qkv::file_mapping_test {

std::string text_of(const FileMapping& mapping) {
  return {reinterpret_cast<const char*>(mapping.bytes().data()), mapping.bytes().size()};
}

TEST(FileMapping, HasTheBytesOfTheFileWhenItIsReplacedOrRemoved) {
  const test::ScratchFolder folder;
  const std::filesystem::path path = folder.path() / "x";
  write_file(path, "first");
  const auto first = FileMapping::of(RandomAccessFile(path));
  ASSERT_NE(first, nullptr);
  write_file(path, "second, and longer");
  const auto second = FileMapping::of(RandomAccessFile(path));
  std::filesystem::remove(path);
  EXPECT_EQ(text_of(*first), "first");
  EXPECT_EQ(text_of(*second), "second, and longer");
}

TEST(FileMapping, OfAnEmptyFileIsNull) {
  const test::ScratchFolder folder;
  write_file(folder.path() / "x", "");
  EXPECT_EQ(FileMapping::of(RandomAccessFile(folder.path() / "x")), nullptr);
}

}  // namespace qkv::file_mapping_test
