#include "qkv/text/bytes.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <span>
#include <string_view>
#include <unistd.h>
#include <vector>

#include "qkv/base/file.h"
#include "qkv/text/compression.h"

namespace qkv {

namespace {

class FileSource final : public ByteSource {
 public:
  explicit FileSource(const std::string& path) : name_(path == "-" ? "stdin" : path) {
    if (path != "-") file_ = owned_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0) throw FileError("read", name_, errno);
  }
  ~FileSource() override {
    if (owned_ >= 0) ::close(owned_);
  }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  size_t read(char* to, size_t size) override {
    for (;;) {
      const ssize_t n = ::read(file_, to, size);
      if (n >= 0) return static_cast<size_t>(n);
      if (errno != EINTR) throw FileError("read", name_, errno);
    }
  }

  bool ready() override {
    pollfd file = {.fd = file_, .events = POLLIN, .revents = 0};
    return ::poll(&file, 1, 0) > 0;
  }

 private:
  std::string name_;
  int file_ = STDIN_FILENO, owned_ = -1;
};

class StreamSource final : public ByteSource {
 public:
  explicit StreamSource(std::istream& stream) : stream_(stream) {}

  size_t read(char* to, size_t size) override {
    std::streambuf& buffer = *stream_.rdbuf();
    if (buffer.sgetc() == std::char_traits<char>::eof())
      return 0;  // waits for one character, then returns those available
    const auto there = static_cast<size_t>(std::max<std::streamsize>(buffer.in_avail(), 1));
    return static_cast<size_t>(buffer.sgetn(to, static_cast<std::streamsize>(std::min(there, size))));
  }

  bool ready() override { return stream_.rdbuf()->in_avail() != 0; }

 private:
  std::istream& stream_;
};

class StringSource final : public ByteSource {
 public:
  StringSource(std::string text, size_t piece) : text_(std::move(text)), piece_(piece) {}

  size_t read(char* to, size_t size) override {
    const size_t n = text_.copy(to, std::min(size, piece_), at_);
    at_ += n;
    return n;
  }

  bool ready() override { return true; }

 private:
  std::string text_;
  size_t piece_, at_ = 0;
};

// Passes bytes through, or decompresses them if they begin like gzip or zstd.
class MaybeCompressed final : public ByteSource {
 public:
  MaybeCompressed(std::unique_ptr<ByteSource> source, std::string name)
      : source_(std::move(source)), name_(std::move(name)) {}

  size_t read(char* to, size_t size) override {
    if (state_ == State::unknown) detect();
    return state_ == State::plain ? read_plain(to, size) : decompress({to, size});
  }

  bool ready() override { return begin_ < end_ || source_->ready(); }

 private:
  enum class State { unknown, plain, inside, between };  // inside or between the frames of a compressed file

  bool refill() {  // appends to the unread bytes
    if (begin_ == end_) begin_ = end_ = 0;
    const size_t n = source_->read(buffer_.data() + end_, buffer_.size() - end_);
    end_ += n;
    return n > 0;
  }

  std::string_view unread() const { return {buffer_.data() + begin_, end_ - begin_}; }

  // One byte is mostly enough to see that it is not compressed: a line of one character must not wait for the next.
  void detect() {
    while (compression_of(unread()).undecided && refill()) {
    }
    const Compression kind = compression_of(unread()).kind;
    state_ = kind == Compression::none ? State::plain : State::inside;
    if (kind == Compression::none) return;
    format_ = kind == Compression::gzip ? "gzip" : "zstd";
    decompressor_ = make_decompressor(kind, name_);
  }

  size_t read_plain(char* to, size_t size) {
    if (begin_ == end_) return source_->read(to, size);
    const size_t n = std::min(size, end_ - begin_);
    std::memcpy(to, buffer_.data() + begin_, n);
    begin_ += n;
    return n;
  }

  size_t decompress(std::span<char> to) {
    for (;;) {
      if (!error_.empty()) fail<InputError>("read", "{}: corrupt {} file: {}", name_, format_, error_);
      if (state_ == State::between && !next_frame()) return 0;
      if (begin_ == end_ && !refill()) fail<InputError>("read", "{}: truncated {} file", name_, format_);
      const Decompressor::Step step = decompressor_->decompress(unread(), to);
      begin_ += step.read;
      if (step.ended) state_ = State::between;
      error_ = step.error;
      if (step.written > 0) return step.written;  // also what precedes the corruption, however the input is divided
    }
  }

  // Zeros after a member of gzip are padding; anything else is the next frame, or an error of its decompressor.
  bool next_frame() {
    do {
      while (begin_ < end_ && buffer_[begin_] == 0) ++begin_;
    } while (begin_ == end_ && refill());
    if (begin_ == end_) return false;
    decompressor_->restart();
    state_ = State::inside;
    return true;
  }

  std::unique_ptr<ByteSource> source_;
  std::string name_;
  State state_ = State::unknown;
  std::unique_ptr<Decompressor> decompressor_;
  std::string_view format_;
  std::string error_;
  std::vector<char> buffer_ = std::vector<char>(1 << 16);
  size_t begin_ = 0, end_ = 0;  // of the unread bytes
};

}  // namespace

std::unique_ptr<ByteSource> open_bytes(const std::string& path) {
  return inflated(std::make_unique<FileSource>(path), path == "-" ? "stdin" : path);
}

std::unique_ptr<ByteSource> open_bytes(std::istream& stream, const std::string& name) {
  return inflated(std::make_unique<StreamSource>(stream), name);
}

std::unique_ptr<ByteSource> string_bytes(std::string text, size_t piece) {
  return std::make_unique<StringSource>(std::move(text), piece);
}

std::unique_ptr<ByteSource> inflated(std::unique_ptr<ByteSource> source, const std::string& name) {
  return std::make_unique<MaybeCompressed>(std::move(source), name);
}

}  // namespace qkv
