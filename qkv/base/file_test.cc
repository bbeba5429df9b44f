#include "qkv/base/file.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
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

namespace qkv::file_test {

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

std::string text_of(const RandomAccessFile& file) {
  std::string text(static_cast<size_t>(file.size()), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

TEST_F(File, CommittedBesideOthersReplacesNone) {
  const auto commit = [&](const std::string& bytes) {
    FileWriter file(folder / "x");
    file.write(bytes);
    return file.commit_beside(folder / "x.partial").filename().string();
  };
  EXPECT_EQ(commit("1"), "x.partial");
  EXPECT_EQ(commit("2"), "x.partial.2");
  fs::create_symlink("nowhere", folder / "x.partial.3");
  EXPECT_EQ(commit("4"), "x.partial.4");
  EXPECT_EQ(read_file(folder / "x.partial"), "1");
  EXPECT_EQ(read_file(folder / "x.partial.2"), "2");
  EXPECT_EQ(read_file(folder / "x.partial.4"), "4");
  EXPECT_EQ(files(), 4);
}

TEST_F(File, ReadsWhatWasWritten) {
  const std::string bytes = std::string("a\0b\r\n\xff", 6) + std::string(3'000'000, 'x');
  write_file(folder / "x", bytes);
  EXPECT_EQ(read_file(folder / "x"), bytes);
  EXPECT_EQ(text_of(RandomAccessFile(folder / "x")), bytes);
  EXPECT_EQ(files(), 1);
}

TEST_F(File, EmptyFilesAreFiles) {
  write_file(folder / "x", "");
  EXPECT_EQ(read_file(folder / "x"), "");
  EXPECT_EQ(RandomAccessFile(folder / "x").size(), 0);
}

TEST_F(File, WhatIsNotARegularFileIsRefusedAtOnce) {
  const fs::path pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(message_of([&] { read_file(pipe); }), "read: " + pipe.string() + ": not a regular file");
  EXPECT_EQ(message_of([&] { read_file("/dev/zero"); }), "read: /dev/zero: not a regular file");
}

TEST_F(File, ReadsAPipeToItsEnd) {
  const fs::path pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string bytes(1'500'000, 'p');
  std::thread writer([&] { std::ofstream(pipe) << bytes; });
  EXPECT_EQ(read_file_or_pipe(pipe, bytes.size()), bytes);
  writer.join();
}

TEST_F(File, AFileLargerThanAllowedIsAnInputErrorBeforeMemoryIsTaken) {
  write_file(folder / "x", "12345");
  EXPECT_EQ(read_file(folder / "x", 5), "12345");
  EXPECT_THROW(read_file(folder / "x", 4), InputError);
  fs::resize_file(folder / "x", uintmax_t{1} << 40);
  EXPECT_THROW(read_file(folder / "x", 1000), InputError);
  EXPECT_THROW(read_file_or_pipe("/dev/zero", 1000), InputError) << "it has no end";
}

TEST_F(File, ReadingNamesTheFileAndTheReason) {
  const std::string missing = (folder / "no such").string();
  EXPECT_EQ(message_of([&] { read_file(missing); }), "read: " + missing + ": No such file or directory");
  EXPECT_EQ(message_of([&] { RandomAccessFile file(missing); }),
            "read: " + missing + ": No such file or directory");
  EXPECT_EQ(message_of([&] { read_file(folder); }), "read: " + folder.string() + ": Is a directory");
  try {
    read_file(missing);
    ADD_FAILURE();
  } catch (const FileError& error) {
    EXPECT_EQ(error.file(), missing);
    EXPECT_EQ(error.code(), ENOENT);
  }
  EXPECT_EQ(message_of([&] { RandomAccessFile file(folder); }), "read: " + folder.string() + ": Is a directory");
  EXPECT_EQ(message_of([&] { RandomAccessFile file("/dev/null"); }), "read: /dev/null: not a regular file");
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

// The name of a temporary file of this start of this machine.
std::string temporary_of(const std::string& target, char digit) {
  std::string host = read_file("/proc/sys/kernel/random/boot_id").substr(0, 8);
  return target + "." + host + "-" + std::string(16, digit) + ".tmp";
}

TEST_F(File, WhatAKilledWriterLeftIsRemovedByTheNext) {
  const std::string left = temporary_of("x", 'a'), other_target = temporary_of("y", 'a');
  for (const std::string& name :
       {left, left + ".txt", other_target, std::string("x.tmp"), "x.00000000-" + std::string(16, 'g') + ".tmp"})
    std::ofstream(folder / name) << "half";
  write_file(folder / "x", "new");
  EXPECT_FALSE(fs::exists(folder / left));
  EXPECT_EQ(files(), 5) << "this writer leaves the others alone";
  remove_abandoned_files(folder);
  EXPECT_FALSE(fs::exists(folder / other_target));
  EXPECT_EQ(files(), 4) << "the others have no name of a temporary file";
}

TEST_F(File, TheFileOfALivingWriterIsLeftAlone) {
  FileWriter first(folder / "x");
  first.write("first");
  write_file(folder / "x", "second");
  remove_abandoned_files(folder);
  EXPECT_EQ(files(), 2);
  first.commit();
  EXPECT_EQ(read_file(folder / "x"), "first");
  EXPECT_EQ(files(), 1);
}

// Its lock may not reach this machine.
TEST_F(File, TheFileOfAnotherMachineIsLeftAloneForAnHour) {
  const fs::path other = folder / ("x.ffffffff-" + std::string(16, 'a') + ".tmp");
  std::ofstream(other) << "half";
  write_file(folder / "x", "new");
  EXPECT_TRUE(fs::exists(other));
  fs::last_write_time(other, fs::file_time_type::clock::now() - std::chrono::minutes(61));
  write_file(folder / "x", "new");
  EXPECT_FALSE(fs::exists(other));
}

TEST_F(File, AFileThatIsShortenedWhileItIsReadIsAnInputError) {
  write_file(folder / "x", std::string(100'000, 'x'));
  const RandomAccessFile file(folder / "x");
  fs::resize_file(folder / "x", 50'000);
  EXPECT_EQ(message_of([&] { text_of(file); }),
            "read: " + (folder / "x").string() + ": it ends at byte 50000, but had 100000");
}

TEST_F(File, AnOpenFileOutlivesItsReplacement) {
  write_file(folder / "x", "old");
  const RandomAccessFile file(folder / "x");
  write_file(folder / "x", "new and longer");
  EXPECT_EQ(text_of(file), "old");
}

TEST_F(File, WhatTheSystemCannotSayIsAnErrorAndNotNo) {
  EXPECT_TRUE(file_exists(folder));
  EXPECT_FALSE(file_exists(folder / "missing"));
  EXPECT_TRUE(files_in(folder / "missing").empty());
  const std::string too_long(1000, 'x');
  EXPECT_THROW(file_exists(folder / too_long), FileError);
  EXPECT_THROW(files_in(folder / too_long), FileError);
}

TEST_F(File, APipeCannotBeReadInPlaces) {
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(message_of([&] { RandomAccessFile file(folder / "pipe"); }),
            "read: " + (folder / "pipe").string() + ": not a regular file");
}

TEST_F(File, MovesOverAnotherFileAlsoToAnotherDisk) {
  write_file(folder / "a", "old");
  write_file(folder / "b", "new");
  move_file(folder / "b", folder / "a");
  EXPECT_EQ(read_file(folder / "a"), "new");
  EXPECT_EQ(files(), 1);
  const fs::path memory = "/dev/shm";
  struct stat here = {}, there = {};
  if (::stat(memory.c_str(), &there) != 0 || ::stat(folder.c_str(), &here) != 0 || here.st_dev == there.st_dev)
    GTEST_SKIP() << "there is no other disk here";
  const std::string bytes(3'000'000, 'm');
  const fs::path away = memory / folder.filename();
  write_file(away, bytes);
  move_file(away, folder / "a");
  EXPECT_EQ(read_file(folder / "a"), bytes);
  EXPECT_FALSE(fs::exists(away));
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

}  // namespace qkv::file_test
