#include "qkv/train/run_log.h"

#include <unistd.h>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"

namespace qkv::run_log_test {

namespace fs = std::filesystem;

class RunLogTest : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove(path_); }
  const fs::path path_ = fs::path(::testing::TempDir()) / ("log." + std::to_string(::getpid()) + ".jsonl");
};

TEST_F(RunLogTest, ContinuesWhereACheckpointLeftIt) {
  int64_t kept = 0;
  {
    RunLog log(path_, 0);
    log.write("one");
    log.force();
    kept = log.bytes();
    log.write("lost with the steps after the checkpoint");
  }
  RunLog log(path_, kept);
  log.write("two");
  EXPECT_EQ(read_file(path_), "one\ntwo\n");
  EXPECT_EQ(log.bytes(), 8);
}

TEST_F(RunLogTest, KeepsAShorterFileAsItIs) {
  { RunLog(path_, 0).write("one"); }
  RunLog log(path_, 1000);
  log.write("two");
  EXPECT_EQ(read_file(path_), "one\ntwo\n");
}

TEST_F(RunLogTest, NamesTheFileItCannotWrite) {
  try {
    RunLog log("/nowhere/log.jsonl", 0);
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("/nowhere/log.jsonl"), std::string::npos);
  }
}

TEST_F(RunLogTest, AFullDiskIsAnError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  EXPECT_THROW(
      {
        RunLog log("/dev/full", 0);
        log.write("one");
      },
      InputError);
}

}  // namespace qkv::run_log_test
