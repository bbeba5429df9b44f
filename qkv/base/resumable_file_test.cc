#include "qkv/base/resumable_file.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"

namespace qkv::resumable_file_test {

namespace fs = std::filesystem;

class Resumable : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / fmt::format("resumable.{}", ::getpid());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    out_ = folder_ / "out.txt";
  }
  void TearDown() override { fs::remove_all(folder_); }

  ResumableFile open(const std::string& key = "{\"beam\":4}") const { return ResumableFile(out_, key); }
  fs::path beside(const char* suffix) const { return fs::path(out_) += suffix; }
  void add_to(const fs::path& path, const std::string& bytes) const {
    std::ofstream(path, std::ios::app | std::ios::binary) << bytes;
  }
  std::string refusal(const std::string& key = "{\"beam\":4}") const {
    try {
      open(key);
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  }

  fs::path folder_, out_;
};

TEST_F(Resumable, AppearsAtCommitAndSaysThatItIsComplete) {
  write_file(out_, "from before");
  {
    ResumableFile file = open();
    file.append("one\ntwo\n", 2);
    file.append("three\n", 1);
    EXPECT_EQ(file.lines(), 3);
    EXPECT_EQ(read_file(out_), "from before");
    file.commit();
    EXPECT_THROW(file.append("four\n", 1), Error);
  }
  EXPECT_EQ(read_file(out_), "one\ntwo\nthree\n");
  EXPECT_FALSE(fs::exists(beside(".part")));
  const ResumableFile again = open();
  EXPECT_TRUE(again.complete());
  EXPECT_EQ(again.lines(), 3);
}

TEST_F(Resumable, GoesOnAfterTheLastWholeAppendWhateverWasWrittenAfterIt) {
  for (const char* torn : {"", "3 1", "3", "e", "end 3"}) {
    SCOPED_TRACE(torn);
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    open().append("one\ntwo\n", 2);
    add_to(beside(".part"), "thr");
    add_to(beside(".journal"), torn);
    {
      ResumableFile file = open();
      EXPECT_FALSE(file.complete());
      EXPECT_EQ(file.lines(), 2);
      file.append("three\n", 1);
    }
    ResumableFile file = open();
    EXPECT_EQ(file.lines(), 3);
    file.commit();
    EXPECT_EQ(read_file(out_), "one\ntwo\nthree\n");
  }
}

TEST_F(Resumable, ARowWhoseBytesWereLostIsNotBelieved) {
  {
    ResumableFile file = open();
    file.append("one\n", 1);
    file.append("two\n", 1);
  }
  fs::resize_file(beside(".part"), 6);
  ResumableFile file = open();
  EXPECT_EQ(file.lines(), 1);
  file.append("2\n", 1);
  file.commit();
  EXPECT_EQ(read_file(out_), "one\n2\n");
}

TEST_F(Resumable, ACommitThatWasKilledBeforeItsRenameIsFinished) {
  open().append("one\n", 1);
  add_to(beside(".journal"), "end 1 4\n");
  EXPECT_TRUE(open().complete());
  EXPECT_EQ(read_file(out_), "one\n");
}

TEST_F(Resumable, BeginsAnewWhereWhatWasWrittenIsGone) {
  open().append("one\n", 1);
  fs::remove(beside(".part"));
  EXPECT_EQ(open().lines(), 0);
  open().commit();
  fs::remove(out_);
  EXPECT_FALSE(open().complete());
}

TEST_F(Resumable, AnswersOfTwoCommandsAreNotMixed) {
  open("{}");
  EXPECT_TRUE(fs::is_empty(folder_)) << "nothing is left of a file without a line";
  write_file(beside(".journal"), "{}\n");  // killed before its first line, it may be begun by another command
  open().append("one\n", 1);
  EXPECT_NE(refusal("{\"beam\":5}").find("it was begun by another command, input or model ({\"beam\":4})"),
            std::string::npos);
  open().commit();
  EXPECT_NE(refusal("{\"beam\":5}").find("another command"), std::string::npos);
  EXPECT_EQ(refusal(), "");
}

TEST_F(Resumable, FilesOfOthersKeepTheirBytes) {
  write_file(beside(".part"), "notes");
  EXPECT_NE(refusal().find("it exists, and has no journal"), std::string::npos);
  EXPECT_EQ(read_file(beside(".part")), "notes");
  fs::remove(beside(".part"));
  for (const char* journal : {"my diary", "my diary\n", "{\"beam\":4}\nMonday\n", "{\"beam\":4}\n3 4\n2 4\n"}) {
    write_file(beside(".journal"), journal);
    write_file(beside(".part"), "Monday");
    EXPECT_NE(refusal(), "") << journal;
    EXPECT_EQ(read_file(beside(".journal")), journal);
    EXPECT_EQ(read_file(beside(".part")), "Monday");
  }
}

TEST_F(Resumable, AChangedOutputIsNotTakenForComplete) {
  open().commit();
  write_file(out_, "edited");
  EXPECT_NE(refusal().find("it has 6 bytes, its journal says 0"), std::string::npos);
}

TEST_F(Resumable, OneProcessWritesAtATime) {
  const ResumableFile file = open();
  EXPECT_NE(refusal().find("another process is writing it"), std::string::npos);
}

TEST_F(Resumable, NeedsARegularFile) {
  fs::create_directory(out_);
  EXPECT_NE(refusal().find("not a regular file"), std::string::npos);
}

TEST_F(Resumable, AKeyIsOneLine) { EXPECT_THROW(open("a\nb"), Error); }

}  // namespace qkv::resumable_file_test
