#include "qkv/base/temporary_file.h"

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "qkv/base/file.h"
#include "qkv/test_support/scratch_folder.h"

namespace qkv::temporary_file_test {

namespace fs = std::filesystem;

class TemporaryFolders : public testing::Test {
 protected:
  int64_t entries() const { return std::distance(fs::directory_iterator(scratch.path()), {}); }

  const test::ScratchFolder scratch;
  const fs::path target = scratch.path() / "model";
};

TEST_F(TemporaryFolders, BecomeTheirTargetOrAreRemoved) {
  {
    TemporaryFolder folder(target);
    write_file(folder.path() / "config.json", "{}");
  }
  EXPECT_EQ(entries(), 0);
  fs::create_directory(target);  // empty: it may be replaced
  {
    TemporaryFolder folder(target);
    fs::create_directory(folder.path() / "1_Pooling");
    write_file(folder.path() / "1_Pooling" / "config.json", "{}");
    folder.commit();
  }
  EXPECT_EQ(read_file(target / "1_Pooling" / "config.json"), "{}");
  EXPECT_EQ(entries(), 1);
  TemporaryFolder late(target);
  EXPECT_THROW(late.commit(), FileError) << "the target is in use";
  EXPECT_EQ(read_file(target / "1_Pooling" / "config.json"), "{}");
}

TEST_F(TemporaryFolders, OfAKilledProgramAreRemovedByTheNextOne) {
  const pid_t child = ::fork();
  if (child == 0) {
    const TemporaryFolder folder(target);
    write_file(folder.path() / "model.safetensors", "half");
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(entries(), 1);
  const TemporaryFolder first(target);
  EXPECT_EQ(entries(), 1) << "its own";
  const TemporaryFolder second(target);
  EXPECT_TRUE(fs::exists(first.path())) << "that of a running program stays";
  EXPECT_EQ(entries(), 2);
}

TEST_F(TemporaryFolders, ErrorsNameTheTarget) {
  const fs::path nowhere = scratch.path() / "no" / "model";
  try {
    const TemporaryFolder folder(nowhere);
    FAIL();
  } catch (const FileError& error) {
    EXPECT_EQ(std::string(error.what()), "write: " + nowhere.string() + ": No such file or directory");
  }
}

}  // namespace qkv::temporary_file_test
