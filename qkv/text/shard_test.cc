#include "qkv/text/shard.h"

#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/random.h"
#include "qkv/text/compression.h"

namespace qkv::shard_test {

namespace fs = std::filesystem;

std::string read_all(ByteSource& bytes) {
  std::string text, buffer(5000, '\0');
  while (const size_t n = bytes.read(buffer.data(), buffer.size())) text.append(buffer, 0, n);
  return text;
}

int64_t line_count(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n') + (!text.empty() && text.back() != '\n');
}

// Lines that hardly compress, of very different lengths.
std::string random_lines(int count, uint64_t seed) {
  Random random(seed);
  std::string text;
  for (int i = 0; i < count; ++i) {
    for (uint64_t n = random.below(5) == 0 ? random.below(2000) : random.below(40); n > 0; --n)
      text += static_cast<char>('!' + random.below(90));
    text += '\n';
  }
  return text;
}

class Shards : public testing::Test {
 protected:
  Shards() : folder_(fs::path(testing::TempDir()) / fmt::format("shards.{}", ::getpid())) {
    fs::create_directories(folder_);
  }
  ~Shards() override { fs::remove_all(folder_); }

  std::string file(const std::string& text, Compression kind = Compression::none) {
    std::string bytes = text;
    if (kind != Compression::none) {
      const auto compressor = make_compressor(kind, "test");
      bytes = compressor->compress(text);
      bytes += compressor->finish();
    }
    const std::string path = (folder_ / fmt::format("{}.txt", ++files_)).string();
    write_file(path, bytes);
    return path;
  }

  // The shards are the file, and the lines are numbered as range() says. Returns how many shards have lines.
  static int64_t expect_whole(const std::string& path, const std::string& text, int64_t count) {
    std::string all;
    int64_t lines = 0, with_lines = 0;
    for (int64_t i = 0; i < count; ++i) {
      const ShardedFile shard(path, {.count = count, .index = i});
      const std::string part = read_all(*shard.open());
      EXPECT_EQ(shard.range().first, lines);
      EXPECT_EQ(shard.range().count, line_count(part));
      lines += line_count(part);
      with_lines += !part.empty();
      all += part;
      EXPECT_TRUE(part.empty() || part.back() == '\n' || i + 1 == count || all.size() == text.size());
    }
    EXPECT_TRUE(all == text) << count;
    return with_lines;
  }

  fs::path folder_;
  int files_ = 0;
};

TEST_F(Shards, InTheirOrderAreTheFile) {
  for (const std::string& text :
       {std::string(), std::string("\n"), std::string("one"), std::string("one\n"), std::string("\n\n\n"),
        std::string("a\nb\nc\nd"), random_lines(100, 1), random_lines(100, 2) + "the last line does not end"}) {
    const std::string path = file(text);
    for (const int64_t count : {1, 2, 3, 7, 1000}) expect_whole(path, text, count);
  }
}

TEST_F(Shards, OfACompressedFileAreContiguousToo) {
  for (const Compression kind : {Compression::gzip, Compression::zstd}) {
    if (kind == Compression::zstd && !has_zstd()) continue;
    for (const int lines : {0, 1, 3, 5000}) {
      const std::string text = random_lines(lines, 3);
      const std::string path = file(text, kind);
      for (const int64_t count : {1, 2, 3, 7}) {
        const int64_t with_lines = expect_whole(path, text, count);
        if (lines == 5000) {
          EXPECT_EQ(with_lines, count) << "a file of several blocks";
        }
      }
    }
  }
}

TEST_F(Shards, SkipLeavesOutTheFirstLines) {
  const std::string text = random_lines(50, 4), path = file(text);
  const FileShard shard = {.count = 3, .index = 1};
  const std::string part = read_all(*ShardedFile(path, shard).open());
  size_t at = 0;
  for (int64_t skip = 0; skip <= line_count(part); ++skip) {
    const ShardedFile rest(path, shard, skip);
    EXPECT_EQ(read_all(*rest.open()), part.substr(at)) << skip;
    EXPECT_EQ(rest.range().count, line_count(part) - skip);
    EXPECT_EQ(rest.line_options().before, skip);
    at = part.find('\n', at) + 1;
  }
}

TEST_F(Shards, ASecondFileIsCutAtTheSameLines) {
  const std::string first = random_lines(200, 5), second = random_lines(200, 6);
  const std::string a = file(first), b = file(second, Compression::gzip);
  std::string all;
  for (int64_t i = 0; i < 7; ++i) {
    const ShardedFile shard(a, {.count = 7, .index = i});
    const std::string part = read_all(*open_line_range(b, shard.range()));
    EXPECT_EQ(line_count(part), line_count(read_all(*shard.open())));
    all += part;
  }
  EXPECT_TRUE(all == second);
}

std::vector<std::string> lines_of(LineReader reader) {
  std::vector<std::string> lines;
  for (bool more = true; more;) {
    std::string line;
    try {
      more = reader.next(line);
    } catch (const LineError&) {
      line = "(bad)";
    }
    if (more) lines.push_back(line);
  }
  return lines;
}

// What a reader makes of the lines of all shards does not depend on the cut.
TEST_F(Shards, LinesAreReadAsThoseOfTheWholeFile) {
  const std::string mark(byte_order_mark);
  for (const std::string& text :
       {mark + "one\n" + mark + "two\n" + mark + "three\n", std::string("of an\rold Mac\r"),
        std::string("first\rline\nsecond\r\nthird\r\n"), std::string("one\n%PDF-\n{\\rtf\nGGUF\1\nfour\n"),
        std::string("one\n\xff\nthree\n"), "one\n" + std::string(1'000'000, 'x') + "\nthree\n"}) {
    const std::string path = file(text);
    for (const int64_t count : {1, 2, 3, 7}) {
      std::vector<std::string> lines;
      for (int64_t i = 0; i < count; ++i) {
        const ShardedFile shard(path, {.count = count, .index = i});
        for (const std::string& line : lines_of({shard.open(), shard.name(), shard.line_options()}))
          lines.push_back(line);
      }
      EXPECT_EQ(lines, lines_of(LineReader(path))) << count;
    }
  }
}

TEST_F(Shards, EveryShardRefusesWhatIsNotText) {
  for (const int64_t i : {0, 1, 2}) {
    const FileShard shard = {.count = 3, .index = i};
    EXPECT_THROW(ShardedFile(file("%PDF-1.4\n1\n2\n3\n4\n"), shard), InputError);
    EXPECT_THROW(ShardedFile(folder_.string(), shard), InputError);
    EXPECT_THROW(ShardedFile("/dev/null", shard), InputError);
    EXPECT_THROW(ShardedFile((folder_ / "absent").string(), shard), InputError);
  }
}

TEST_F(Shards, AShardIsOneOfItsCount) {
  const std::string path = file("a\n");
  for (const FileShard& shard :
       {FileShard{0, 0}, FileShard{-1, 0}, FileShard{4, 4}, FileShard{4, -1}, FileShard{2'000'000, 0}})
    EXPECT_THROW(ShardedFile(path, shard), UsageError) << shard.index << " of " << shard.count;
}

}  // namespace qkv::shard_test
