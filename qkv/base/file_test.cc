#include "qkv/base/file.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <functional>
#include <iterator>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "qkv/base/error.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

class File : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "qkv-file-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }

  int64_t files() const { return std::distance(fs::directory_iterator(folder), fs::directory_iterator()); }

  fs::path folder;
};

std::string message_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(File, ReadsWhatWasWritten) {
  const std::string bytes = std::string("a\0b\r\n\xff", 6) + std::string(3'000'000, 'x');
  write_file(folder / "x", bytes);
  EXPECT_EQ(read_file(folder / "x"), bytes);
  EXPECT_EQ(MappedFile::open(folder / "x")->text(), bytes);
  EXPECT_EQ(files(), 1);
}

TEST_F(File, EmptyFilesAreFiles) {
  write_file(folder / "x", "");
  EXPECT_EQ(read_file(folder / "x"), "");
  EXPECT_EQ(MappedFile::open(folder / "x")->bytes().size(), 0u);
}

TEST_F(File, ReadsAPipeToItsEnd) {
  const fs::path pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string bytes(1'500'000, 'p');
  std::thread writer([&] { std::ofstream(pipe) << bytes; });
  EXPECT_EQ(read_file(pipe), bytes);
  writer.join();
}

TEST_F(File, MoreThanWasAskedForIsAnInputErrorBeforeMemoryIsTaken) {
  write_file(folder / "x", "12345");
  EXPECT_EQ(read_file(folder / "x", 5), "12345");
  EXPECT_THROW(read_file(folder / "x", 4), InputError);
  fs::resize_file(folder / "x", uintmax_t{1} << 40);
  EXPECT_THROW(read_file(folder / "x", 1000), InputError);
  EXPECT_THROW(read_file("/dev/zero", 1000), InputError) << "it has no end";
}

TEST_F(File, ReadingNamesTheFileAndTheReason) {
  const std::string missing = (folder / "no such").string();
  EXPECT_EQ(message_of([&] { read_file(missing); }), "read: " + missing + ": No such file or directory");
  EXPECT_EQ(message_of([&] { MappedFile::open(missing); }), "read: " + missing + ": No such file or directory");
  EXPECT_EQ(message_of([&] { read_file(folder); }), "read: " + folder.string() + ": Is a directory");
  try {
    read_file(missing);
    ADD_FAILURE();
  } catch (const FileError& error) {
    EXPECT_EQ(error.file(), missing);
    EXPECT_EQ(error.code(), ENOENT);
  }
  EXPECT_EQ(message_of([&] { MappedFile::open(folder); }), "read: " + folder.string() + ": Is a directory");
  EXPECT_EQ(message_of([&] { MappedFile::open("/dev/null"); }), "read: /dev/null: not a regular file");
  if (::geteuid() == 0) return;  // root may read everything
  write_file(folder / "secret", "x");
  fs::permissions(folder / "secret", fs::perms::none);
  EXPECT_EQ(message_of([&] { read_file(folder / "secret"); }),
            "read: " + (folder / "secret").string() + ": Permission denied");
}

TEST_F(File, WritingNamesTheFileAndTheReason) {
  const auto reason = [&](const fs::path& path) { return message_of([&] { write_file(path, "new"); }); };
  write_file(folder / "file", "old");
  EXPECT_EQ(reason(folder / "none" / "x"),
            "write: " + (folder / "none" / "x").string() + ": No such file or directory");
  EXPECT_EQ(reason(folder / "file" / "x"), "write: " + (folder / "file" / "x").string() + ": Not a directory");
  EXPECT_EQ(reason(folder), "write: " + folder.string() + ": Is a directory");
  EXPECT_EQ(reason("/dev/full"), "write: /dev/full: No space left on device");
  if (::geteuid() == 0) return;  // root may write everywhere
  fs::permissions(folder / "file", fs::perms::owner_read);
  EXPECT_EQ(reason(folder / "file"), "write: " + (folder / "file").string() + ": Permission denied");
  fs::permissions(folder, fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_EQ(reason(folder / "x"), "write: " + (folder / "x").string() + ": Permission denied");
  fs::permissions(folder, fs::perms::owner_all);
}

// A limit on the size of files fails a write half-way, as a full disk does.
TEST_F(File, AWriteThatFailsHalfWayLeavesTheOldFileAlone) {
  write_file(folder / "x", "old");
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {1'500'000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message = message_of([&] { write_file(folder / "x", std::string(4'000'000, 'n')); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(message, "write: " + (folder / "x").string() + ": File too large");
  EXPECT_EQ(read_file(folder / "x"), "old");
  EXPECT_EQ(files(), 1) << "the temporary file is still there";
}

TEST_F(File, NothingHappensBeforeCommit) {
  write_file(folder / "x", "old");
  {
    FileWriter file(folder / "x");
    file.write(std::string(2'000'000, 'n'));
    EXPECT_EQ(read_file(folder / "x"), "old");
  }
  EXPECT_EQ(read_file(folder / "x"), "old");
  EXPECT_EQ(files(), 1);
  FileWriter file(folder / "x");
  file.write("new");
  file.commit();
  EXPECT_EQ(read_file(folder / "x"), "new");
  EXPECT_THROW(file.write("more"), Error);
  EXPECT_THROW(file.commit(), Error);
}

TEST_F(File, WhatAKilledWriterLeftIsRemovedByTheNext) {
  const std::string parent = "x." + std::to_string(::getppid()) + "-0.tmp";
  for (const std::string& name : {std::string("x.999999999-0.tmp"), std::string("x.999999999-0.tmp.txt"),
                                  std::string("y.999999999-0.tmp"), std::string("x.tmp"), parent})
    std::ofstream(folder / name) << "half";
  write_file(folder / "x", "new");
  EXPECT_FALSE(fs::exists(folder / "x.999999999-0.tmp"));
  EXPECT_TRUE(fs::exists(folder / parent)) << "its writer lives";
  EXPECT_EQ(files(), 5) << "the others are no business of this writer";
}

TEST_F(File, AMapOutlivesTheReplacementOfItsFile) {
  write_file(folder / "x", "old");
  const auto map = MappedFile::open(folder / "x");
  write_file(folder / "x", "new and longer");
  EXPECT_EQ(map->text(), "old");
}

TEST_F(File, ReplacingKeepsPermissionsAndFollowsLinks) {
  write_file(folder / "x", "old");
  fs::permissions(folder / "x", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("x", folder / "link");
  write_file(folder / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "x"), "new");
  EXPECT_EQ(fs::status(folder / "x").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(File, ADeviceIsWrittenDirectly) {
  write_file("/dev/null", "gone");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace qkv
