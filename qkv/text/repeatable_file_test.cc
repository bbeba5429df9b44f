#include "qkv/text/repeatable_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/text/corpus.h"

namespace qkv::repeatable_file_test {

std::string all_of(const RepeatableFile& file) {
  const auto bytes = file.open();
  std::string text;
  char buffer[1000];
  for (size_t n; (n = bytes->read(buffer, sizeof buffer)) > 0;) text.append(buffer, n);
  return text;
}

class Repeatable : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string at(const std::string& name) const { return (folder / name).string(); }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name, std::ios::binary) << text;
    return at(name);
  }
  std::string named_pipe(const std::string& name) const {
    EXPECT_EQ(mkfifo(at(name).c_str(), 0600), 0);
    return at(name);
  }
  template <class Action>
  static std::string error_of(Action action) {
    try {
      action();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) /
                                       ("qkv_repeatable_" + std::to_string(getpid()) + "_" +
                                        std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(Repeatable, APipeGivesTheSameBytesEveryTime) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::string text;
  for (int i = 0; i < 30'000; ++i) text += std::to_string(i) + "\n";
  std::thread writer([&] {
    EXPECT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    close(ends[1]);
  });
  const auto files = open_repeatable({"/dev/fd/" + std::to_string(ends[0])});
  writer.join();
  close(ends[0]);
  for (int round = 0; round < 3; ++round) EXPECT_TRUE(all_of(files[0]) == text) << round;
}

TEST_F(Repeatable, OneProgramMayWriteTwoPipesInTurn) {
  const std::string a = named_pipe("a"), b = named_pipe("b");
  const std::string chunk(100'000, 'x');  // more than a pipe holds
  std::thread writer([&] {
    std::ofstream second(b, std::ios::binary), first(a, std::ios::binary);
    for (int i = 0; i < 4; ++i) {
      second << chunk << std::flush;
      first << chunk << std::flush;
    }
  });
  const auto files = open_repeatable({a, b});
  writer.join();
  EXPECT_EQ(all_of(files[0]).size(), 400'000u);
  EXPECT_EQ(all_of(files[1]).size(), 400'000u);
}

TEST_F(Repeatable, AFileThatIsReplacedIsReadAsItWas) {
  const std::string path = file("a", "before");
  const auto files = open_repeatable({path});
  write_file(path, "something else");
  EXPECT_EQ(all_of(files[0]), "before");
}

TEST_F(Repeatable, AFileThatIsChangedInPlaceIsAnError) {
  const std::string path = file("a", "before");
  const auto files = open_repeatable({path});
  EXPECT_EQ(all_of(files[0]), "before");
  std::ofstream(path, std::ios::app) << ", and after";
  EXPECT_EQ(error_of([&] { all_of(files[0]); }),
            path + ": this file was changed while it was read: 6 bytes before, 17 now");
  const std::string other = file("b", "before");
  const auto same_size = open_repeatable({other});
  std::filesystem::last_write_time(other, std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_NE(error_of([&] { all_of(same_size[0]); }), "");
}

TEST_F(Repeatable, TheSameStreamTwiceIsRefused) {
  const std::string pipe = named_pipe("p"),
                    error = "corpus: '{},{}': both sides are the same stream, which can be read only once";
  EXPECT_EQ(error_of([&] { open_repeatable({pipe, pipe}); }), fmt::format(fmt::runtime(error), pipe, pipe));
  EXPECT_EQ(error_of([&] { CorpusReader(pipe + "," + pipe); }), fmt::format(fmt::runtime(error), pipe, pipe));
  EXPECT_EQ(error_of([&] { CorpusReader("-,-"); }), fmt::format(fmt::runtime(error), "-", "-"));
  const std::string regular = file("a", "text\n");
  EXPECT_EQ(open_repeatable({regular, regular}).size(), 2u);
}

TEST_F(Repeatable, ReportsWhereThereIsNoRoomForACopy) {
  const char* before = getenv("TMPDIR");
  const std::string kept = before ? before : "";
  setenv("TMPDIR", at("nowhere").c_str(), 1);
  EXPECT_EQ(error_of([&] { open_repeatable({"/dev/null"}); }),
            at("nowhere") +
                ": no temporary file can be made here: No such file or directory (TMPDIR names another "
                "folder)");
  before ? setenv("TMPDIR", kept.c_str(), 1) : unsetenv("TMPDIR");
}

TEST_F(Repeatable, NamesWhatCannotBeRead) {
  EXPECT_EQ(error_of([&] { open_repeatable({at("none")}); }),
            "read: " + at("none") + ": No such file or directory");
  EXPECT_EQ(error_of([&] { open_repeatable({folder.string()}); }), "read: " + folder.string() + ": Is a directory");
}

}  // namespace qkv::repeatable_file_test
