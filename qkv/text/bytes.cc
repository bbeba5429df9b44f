#include "qkv/text/bytes.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <vector>

#include <zlib.h>

#include "qkv/base/file.h"

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

// Passes bytes through, or decompresses them if they begin like gzip.
class MaybeGzip final : public ByteSource {
 public:
  MaybeGzip(std::unique_ptr<ByteSource> source, std::string name)
      : source_(std::move(source)), name_(std::move(name)) {}
  ~MaybeGzip() override {
    if (state_ == State::inside || state_ == State::between) inflateEnd(&zlib_);
  }
  MaybeGzip(const MaybeGzip&) = delete;
  MaybeGzip& operator=(const MaybeGzip&) = delete;

  size_t read(char* to, size_t size) override {
    if (state_ == State::unknown) detect();
    return state_ == State::plain ? read_plain(to, size) : inflate_some(to, size);
  }

  bool ready() override { return begin_ < end_ || source_->ready(); }

 private:
  enum class State { unknown, plain, inside, between };  // inside or between the members of a gzip file

  bool refill() {  // appends to the unread bytes
    if (begin_ == end_) begin_ = end_ = 0;
    const size_t n = source_->read(buffer_.data() + end_, buffer_.size() - end_);
    end_ += n;
    return n > 0;
  }

  void detect() {
    constexpr char first = '\x1f', second = '\x8b';
    // One byte is enough to see that it is not gzip: a line of one character must not wait for the next.
    while (end_ < 2 && (end_ == 0 || buffer_[0] == first) && refill()) {
    }
    if (end_ < 2 || buffer_[0] != first || buffer_[1] != second) {
      state_ = State::plain;
      return;
    }
    require(inflateInit2(&zlib_, 15 + 16) == Z_OK, "read", "{}: zlib does not start", name_);
    state_ = State::inside;
  }

  size_t read_plain(char* to, size_t size) {
    if (begin_ == end_) return source_->read(to, size);
    const size_t n = std::min(size, end_ - begin_);
    std::memcpy(to, buffer_.data() + begin_, n);
    begin_ += n;
    return n;
  }

  size_t inflate_some(char* to, size_t size) {
    size = std::min<size_t>(size, 1u << 30);  // zlib counts in 32 bits
    for (;;) {
      if (corrupt_)
        fail<InputError>("read", "{}: corrupt gzip file: {}", name_, zlib_.msg ? zlib_.msg : "inflate fails");
      if (state_ == State::between && !next_member()) return 0;
      if (begin_ == end_ && !refill()) fail<InputError>("read", "{}: truncated gzip file", name_);
      zlib_.next_in = reinterpret_cast<Bytef*>(buffer_.data() + begin_);
      zlib_.avail_in = static_cast<uInt>(end_ - begin_);
      zlib_.next_out = reinterpret_cast<Bytef*>(to);
      zlib_.avail_out = static_cast<uInt>(size);
      const int result = inflate(&zlib_, Z_NO_FLUSH);
      begin_ = end_ - zlib_.avail_in;
      if (result == Z_STREAM_END) state_ = State::between;
      const size_t n = size - zlib_.avail_out;
      corrupt_ = result != Z_OK && result != Z_BUF_ERROR && result != Z_STREAM_END;
      if (n > 0) return n;  // also what precedes the corruption, however the input is divided
    }
  }

  // Zeros after a member are padding, as gzip has it; anything else is the next member, or an error of inflate.
  bool next_member() {
    do {
      while (begin_ < end_ && buffer_[begin_] == 0) ++begin_;
    } while (begin_ == end_ && refill());
    if (begin_ == end_) return false;
    inflateReset(&zlib_);
    state_ = State::inside;
    return true;
  }

  std::unique_ptr<ByteSource> source_;
  std::string name_;
  State state_ = State::unknown;
  bool corrupt_ = false;
  z_stream zlib_ = {};
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
  return std::make_unique<MaybeGzip>(std::move(source), name);
}

}  // namespace qkv
