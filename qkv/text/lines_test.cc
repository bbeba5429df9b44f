#include "qkv/text/lines.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <unistd.h>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/random.h"
#include "qkv/text/bytes.h"
#include "qkv/text/gzip_test.h"

namespace qkv::lines_test {

using Lines = std::vector<std::string>;

Lines read_all(LineReader reader) {
  Lines lines;
  for (std::string line; reader.next(line);) lines.push_back(line);
  return lines;
}

Lines read_text(const std::string& text, const LineOptions& options = {}) {
  std::istringstream stream(text);
  return read_all(LineReader(stream, "corpus", options));
}

std::string error_of(const std::string& text, const LineOptions& options = {}) {
  try {
    read_text(text, options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(LineReader, CutsAtLineFeeds) {
  EXPECT_EQ(read_text(""), Lines{});
  EXPECT_EQ(read_text("\n"), Lines{""});
  EXPECT_EQ(read_text("a\n\nb\n"), (Lines{"a", "", "b"}));
  EXPECT_EQ(read_text("a\nb"), (Lines{"a", "b"})) << "the last line may end with the file";
}

TEST(LineReader, DropsCarriageReturnsOfLineEndsAndTheByteOrderMark) {
  EXPECT_EQ(read_text("a\r\nb\rc\r\n"), (Lines{"a", "b\rc"}));
  EXPECT_EQ(read_text("\xef\xbb\xbf"
                      "a\n\xef\xbb\xbf"
                      "b\n"),
            (Lines{"a",
                   "\xef\xbb\xbf"
                   "b"}));
}

TEST(LineReader, NamesFileAndLineOfBadText) {
  EXPECT_EQ(error_of("ok\nab\xff\n"), "corpus:2: invalid UTF-8 at byte 3 (0xff)");
  EXPECT_EQ(error_of("ok\nok\n" + std::string("a\0b", 3)), "corpus:3: a NUL byte at byte 2");
  EXPECT_EQ(read_text("ab\xff\n", {.check_text = false}), Lines{"ab\xff"});
}

TEST(LineReader, RefusesALineOfTheLimit) {
  const LineOptions options{.max_bytes = 100'000};
  EXPECT_EQ(read_text(std::string(99'999, 'x') + "\n", options)[0].size(), 99'999u);
  EXPECT_EQ(error_of("a\n" + std::string(100'000, 'x') + "\n", options),
            "corpus:2: a line of 100000 bytes or more");
  EXPECT_EQ(error_of(std::string(1'000'000, 'x')), "corpus:1: a line of 1000000 bytes or more");
}

// The lines of a text, each bad one as its error.
Lines lines_and_errors(const std::string& text, const LineOptions& options = {}) {
  std::istringstream stream(text);
  LineReader reader(stream, "corpus", options);
  Lines found;
  for (;;) try {
      std::string line;
      if (!reader.next(line)) return found;
      found.push_back(line);
    } catch (const LineError& error) {
      found.push_back(error.what());
    }
}

TEST(LineReader, ContinuesAfterABadLine) {
  EXPECT_EQ(lines_and_errors("a\n\xff\nb\n" + std::string("\0", 1) + "\nc\n" + std::string(20, 'x') + "\nd\n" +
                                 std::string(20, 'x'),
                             {.max_bytes = 12}),
            (Lines{"a", "corpus:2: invalid UTF-8 at byte 1 (0xff)", "b", "corpus:4: a NUL byte at byte 1", "c",
                   "corpus:6: a line of 12 bytes or more", "d", "corpus:8: a line of 12 bytes or more"}));
}

TEST(LineReader, CarriageReturnsAloneAreReportedNotLineEnds) {
  const std::string error = "corpus:1: lines end with carriage returns alone, as on old Macs: convert with tr";
  EXPECT_EQ(error_of("a\tb\rc\td\r").substr(0, error.size()), error);
  EXPECT_EQ(error_of("a\rb").substr(0, error.size()), error);
  EXPECT_EQ(read_text("a\r"), Lines{"a"});
  EXPECT_EQ(read_text("a\rb\n"), Lines{"a\rb"}) << "a file with line feeds";
  std::string large;
  while (large.size() < 1'000'000) large += "text\r";
  EXPECT_NE(error_of(large).find("line ends of an old Mac?"), std::string::npos) << error_of(large);
}

// The same letter for ever.
class Endless final : public ByteSource {
 public:
  size_t read(char* to, size_t size) override {
    if (*to != 'x') std::fill(to, to + size, 'x');
    return size;
  }
  bool ready() override { return true; }
};

TEST(LineReader, NamesTheKindOfAFileThatComesInPieces) {
  for (const size_t piece : {size_t{1}, size_t{2}, size_t{7}, size_t{1000}}) {
    LineReader rtf(string_bytes("{\\rtf1\nmore\n", piece), "pipe");
    std::string line;
    EXPECT_THROW(rtf.next(line), InputError) << piece;
    std::string archive = "name\n" + std::string(252, 'x') + "ustar\x01\n";
    LineReader tar(string_bytes(archive, piece), "pipe");
    EXPECT_THROW(while (tar.next(line)){}, InputError) << piece;
    LineReader text(string_bytes("a\nb\n", piece), "pipe");
    while (text.next(line)) {
    }
    EXPECT_EQ(text.number(), 2) << piece;
  }
}

TEST(LineReader, GivesUpALineWithoutAnEnd) {
  LineReader reader(std::make_unique<Endless>(), "noise");
  std::string line;
  EXPECT_THROW(reader.next(line), LineError);
  try {
    reader.next(line);
    FAIL();
  } catch (const LineError&) {
    FAIL() << "nothing can be read after it";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "noise:1: no line feed within 1073741824 bytes: this is not lines of text");
  }
}

TEST(LineReader, ReadsGzipOfSeveralMembers) {
  EXPECT_EQ(read_text(gzip("a\nb") + gzip("c\nd\n")), (Lines{"a", "bc", "d"}));
  EXPECT_EQ(read_text(gzip("")), Lines{});
  EXPECT_EQ(read_text(gzip("a\n") + std::string(700, '\0')), Lines{"a"}) << "padded with zeros";
  std::string large;
  for (int i = 0; i < 100'000; ++i) large += std::to_string(i) + "\n";
  const Lines lines = read_text(gzip(large) + gzip(large));
  ASSERT_EQ(lines.size(), 200'000u);
  EXPECT_EQ(lines[123'456], "23456");
}

TEST(LineReader, NamesAGzipFileThatIsTruncatedOrCorrupt) {
  const std::string whole = gzip("some text\nthat goes on\n");
  for (size_t n = 2; n < whole.size(); ++n)
    EXPECT_EQ(error_of(whole.substr(0, n)), "read: corpus: truncated gzip file") << n;
  std::string wrong = whole;
  wrong[wrong.size() - 6] ^= 1;  // the checksum
  EXPECT_NE(error_of(wrong).find("read: corpus: corrupt gzip file"), std::string::npos);
  EXPECT_NE(error_of(whole + "garbage").find("read: corpus: corrupt gzip file"), std::string::npos);
}

TEST(LineReader, ReadsWhatBeginsAlmostLikeGzip) {
  const LineOptions bytes{.check_text = false};
  EXPECT_EQ(read_text("\x1f", bytes), Lines{"\x1f"});
  EXPECT_EQ(read_text("\x1f\x8a\n", bytes), Lines{"\x1f\x8a"});
}

TEST(LineReader, GivesTheLinesBeforeACorruptPlace) {
  std::string wrong = gzip("one\ntwo\nlast");
  wrong[wrong.size() - 6] ^= 1;  // the checksum
  std::istringstream stream(wrong);
  LineReader lines(stream, "corpus");
  std::string line;
  EXPECT_TRUE(lines.next(line));
  EXPECT_EQ(line, "one");
  EXPECT_TRUE(lines.next(line));
  EXPECT_EQ(line, "two");
  EXPECT_THROW(lines.next(line), InputError);
}

TEST(LineReader, SurvivesAnyBytes) {
  Random random(5);
  const std::string whole = gzip("a line\nand another one\nand a third\n");
  for (int round = 0; round < 3000; ++round) {
    std::string text = whole;
    if (round % 2 == 0) {
      text.resize(random.below(60));
      for (char& c : text) c = static_cast<char>(random.bits());
      if (round % 4 == 0) text = "\x1f\x8b\x08" + text;
    } else {
      for (uint64_t i = 1 + random.below(3); i > 0; --i)
        text[random.below(text.size())] = static_cast<char>(random.bits());
    }
    try {
      read_text(text);
    } catch (const InputError&) {
    }
  }
}

TEST(LineReader, NamesAFileThatCannotBeRead) {
  try {
    LineReader("no/such/file");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "read: no/such/file: No such file or directory");
  }
  std::string line;
  EXPECT_THROW(LineReader(testing::TempDir()).next(line), InputError) << "a folder";
}

TEST(LineReader, ReadsAFileAndKnowsWhereItIs) {
  const std::string path = testing::TempDir() + "/qkv_lines_test_" + std::to_string(getpid());
  std::ofstream(path) << "one\ntwo\n";
  LineReader reader(path);
  std::string line;
  EXPECT_EQ(reader.number(), 0);
  EXPECT_TRUE(reader.next(line) && reader.next(line));
  EXPECT_EQ(reader.where(), path + ":2");
  EXPECT_FALSE(reader.next(line));
  EXPECT_EQ(reader.number(), 2);
  std::filesystem::remove(path);
}

TEST(LineReader, GivesALineOfAPipeBeforeTheNextIsWritten) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  LineReader reader("/dev/fd/" + std::to_string(ends[0]));
  ASSERT_EQ(write(ends[1], "a\nhalf", 6), 6);
  std::string line;
  ASSERT_TRUE(reader.next(line));  // would wait for ever if the reader wanted more
  EXPECT_EQ(line, "a");
  ASSERT_EQ(write(ends[1], " a line\n", 8), 8);
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, "half a line");
  close(ends[1]);
  EXPECT_FALSE(reader.next(line));
  close(ends[0]);
}

TEST(LineReader, IsReadyWhenALineIsCompleteOrTheFileEnds) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  LineReader reader("/dev/fd/" + std::to_string(ends[0]));
  EXPECT_FALSE(reader.ready());
  ASSERT_EQ(write(ends[1], "a\nhalf", 6), 6);
  EXPECT_TRUE(reader.ready());
  std::string line;
  ASSERT_TRUE(reader.next(line));
  EXPECT_FALSE(reader.ready()) << "half a line is none";
  ASSERT_EQ(write(ends[1], " a line\n", 8), 8);
  EXPECT_TRUE(reader.ready());
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, "half a line");
  EXPECT_FALSE(reader.ready());
  close(ends[1]);
  EXPECT_TRUE(reader.ready()) << "no writer is left";
  EXPECT_FALSE(reader.next(line));
  close(ends[0]);
}

}  // namespace qkv::lines_test
