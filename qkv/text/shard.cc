#include "qkv/text/shard.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/text/compression.h"
#include "qkv/text/file_kind.h"

namespace qkv {
namespace {

constexpr size_t buffer_bytes = size_t{1} << 16;
constexpr int64_t compressed_block = 4096;

// Bytes [begin, end) of a file, at most `piece` at a time and no piece across a multiple of it.
class RangeSource final : public ByteSource {
 public:
  RangeSource(const std::string& path, int64_t begin, int64_t end, int64_t piece)
      : file_(path), at_(begin), end_(end), piece_(piece) {}

  size_t read(char* to, size_t size) override {
    const int64_t n = std::min({static_cast<int64_t>(size), end_ - at_, piece_ - at_ % piece_});
    if (n <= 0) return 0;
    file_.read(at_, std::as_writable_bytes(std::span(to, static_cast<size_t>(n))));
    at_ += n;
    return static_cast<size_t>(n);
  }
  bool ready() override { return true; }
  int64_t at() const { return at_; }

 private:
  RandomAccessFile file_;
  int64_t at_, end_, piece_;
};

size_t after_line_feed(std::string_view text) {
  const size_t feed = text.find('\n');
  return feed == text.npos ? text.size() : feed + 1;
}

// The lines of a compressed file whose first bytes are decompressed while compressed bytes (begin, end] are read.
class CompressedShard final : public ByteSource {
 public:
  CompressedShard(const std::string& path, int64_t begin, int64_t end, int64_t size) : begin_(begin), end_(end) {
    auto blocks = std::make_unique<RangeSource>(path, 0, size, compressed_block);
    blocks_ = blocks.get();
    text_ = inflated(std::move(blocks), path);
  }

  size_t read(char* to, size_t size) override {
    while (part_.empty() && !ended_) next_part();
    const size_t n = part_.copy(to, size);
    part_.remove_prefix(n);
    return n;
  }
  bool ready() override { return true; }

 private:
  // What was decompressed at once: the rest of a line that began before, and lines that begin at one position.
  void next_part() {
    if (rest_.empty()) {
      const size_t n = text_->read(buffer_.data(), buffer_.size());
      if (n == 0) {
        ended_ = true;
        return;
      }
      rest_ = {buffer_.data(), n};
    }
    const size_t n = at_line_start_ ? rest_.size() : after_line_feed(rest_);
    if (at_line_start_) {
      inside_ = blocks_->at() > begin_ && blocks_->at() <= end_;
      ended_ = blocks_->at() > end_;
    }
    if (inside_) part_ = rest_.substr(0, n);
    at_line_start_ = rest_[n - 1] == '\n';
    rest_.remove_prefix(n);
  }

  int64_t begin_, end_;
  RangeSource* blocks_;  // of text_
  std::unique_ptr<ByteSource> text_;
  std::vector<char> buffer_ = std::vector<char>(buffer_bytes);
  std::string_view rest_, part_;  // of the buffer: not looked at yet; to be returned
  bool at_line_start_ = true, inside_ = false, ended_ = false;
};

class LineRangeSource final : public ByteSource {
 public:
  LineRangeSource(std::unique_ptr<ByteSource> source, const LineRange& range)
      : source_(std::move(source)), skip_(range.first), left_(range.count) {}

  size_t read(char* to, size_t size) override {
    while (left_ > 0) {
      const size_t got = source_->read(to, size);
      if (got == 0) return 0;
      std::string_view text(to, got);
      while (skip_ > 0 && !text.empty()) {
        const size_t n = after_line_feed(text);
        skip_ -= text[n - 1] == '\n';
        text.remove_prefix(n);
      }
      size_t n = 0;
      while (left_ > 0 && n < text.size()) {
        n += after_line_feed(text.substr(n));
        left_ -= text[n - 1] == '\n';
      }
      std::memmove(to, text.data(), n);
      if (n > 0) return n;
    }
    return 0;
  }
  bool ready() override { return source_->ready(); }

 private:
  std::unique_ptr<ByteSource> source_;
  int64_t skip_, left_;
};

int64_t count_lines(ByteSource& bytes) {
  std::vector<char> buffer(buffer_bytes);
  int64_t lines = 0;
  char last = '\n';
  while (const size_t n = bytes.read(buffer.data(), buffer.size())) {
    lines += std::count(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(n), '\n');
    last = buffer[n - 1];
  }
  return lines + (last != '\n');
}

// floor(i size / count), without overflow.
int64_t cut(int64_t size, int64_t i, int64_t count) { return size / count * i + size % count * i / count; }

// The first byte of the first line that begins at `from` or later.
int64_t line_start(const std::string& path, int64_t from, int64_t size) {
  if (from == 0) return 0;
  RangeSource bytes(path, from - 1, size, buffer_bytes);
  std::vector<char> buffer(buffer_bytes);
  for (int64_t at = from - 1;;) {
    const size_t n = bytes.read(buffer.data(), buffer.size());
    if (n == 0) return size;
    const std::string_view text(buffer.data(), n);
    if (const size_t feed = text.find('\n'); feed != text.npos) return at + static_cast<int64_t>(feed) + 1;
    at += static_cast<int64_t>(n);
  }
}

}  // namespace

void check_shard(const FileShard& shard, const std::string& where) {
  constexpr int64_t max_shards = 1'000'000;
  require<UsageError>(shard.count >= 1 && shard.count <= max_shards, where, "--shards must be 1 to {}, got {}",
                      max_shards, shard.count);
  require<UsageError>(shard.index >= 0 && shard.index < shard.count, where,
                      "--shard must be 0 to {}, one less than --shards, got {}", shard.count - 1, shard.index);
}

ShardedFile::ShardedFile(const std::string& path, const FileShard& shard, int64_t skip)
    : path_(path), shard_(shard), skip_(skip) {
  check_shard(shard, "shard");
  size_ = RandomAccessFile(path).size();
  look_at_beginning();
  begin_ = cut(size_, shard.index, shard.count);
  end_ = cut(size_, shard.index + 1, shard.count);
  if (compressed_) return;
  begin_ = line_start(path, begin_, size_);
  end_ = line_start(path, end_, size_);
}

// Every shard refuses a file that is not text, and knows whether the file is one line.
void ShardedFile::look_at_beginning() {
  std::vector<char> buffer(buffer_bytes);
  {
    RangeSource raw(path_, 0, size_, buffer_bytes);
    const size_t n = raw.read(buffer.data(), buffer.size());
    compressed_ = compression_of({buffer.data(), n}).kind != Compression::none;
  }
  const auto bytes = open_bytes(path_);
  const auto max_bytes = static_cast<size_t>(LineOptions().max_bytes);
  std::string beginning;
  while (beginning.size() < max_bytes && beginning.find('\n') == beginning.npos) {
    const size_t n = bytes->read(buffer.data(), buffer.size());
    one_line_ = n == 0;
    if (n == 0) break;
    beginning.append(buffer.data(), n);
  }
  const std::string kind = file_kind(std::string_view(beginning).substr(0, file_kind_bytes));
  if (!kind.empty()) fail<InputError>(path_, "{}", kind);
}

std::unique_ptr<ByteSource> ShardedFile::open_plain(int64_t begin, int64_t end) const {
  return std::make_unique<RangeSource>(path_, begin, end, int64_t{1} << 40);
}

std::unique_ptr<ByteSource> ShardedFile::open() const {
  std::unique_ptr<ByteSource> bytes;
  if (compressed_) {
    bytes = std::make_unique<CompressedShard>(path_, begin_, end_, size_);
  } else {
    bytes = open_plain(begin_, end_);
  }
  if (skip_ == 0) return bytes;
  return std::make_unique<LineRangeSource>(std::move(bytes), LineRange{.first = skip_});
}

std::string ShardedFile::name() const {
  return shard_.count == 1 ? path_ : fmt::format("{}, shard {} of {}", path_, shard_.index, shard_.count);
}

// A file of one line is whole in the shard that has it, and the first shard has the first line of any other.
LineOptions ShardedFile::line_options() const {
  const bool begins = shard_.index == 0 && skip_ == 0;
  return {.is_part = !begins, .is_one_of_many = !one_line_, .before = skip_};
}

LineRange ShardedFile::range() const {
  int64_t before = 0;
  if (compressed_) {
    before = count_lines(*std::make_unique<CompressedShard>(path_, -1, begin_, size_));
  } else {
    before = count_lines(*open_plain(0, begin_));
  }
  return {.first = before + skip_, .count = count_lines(*open())};
}

std::unique_ptr<ByteSource> open_line_range(const std::string& path, const LineRange& range) {
  return std::make_unique<LineRangeSource>(open_bytes(path), range);
}

}  // namespace qkv
