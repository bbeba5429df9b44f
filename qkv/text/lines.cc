#include "qkv/text/lines.h"

#include <algorithm>
#include <cstring>

#include "qkv/base/error.h"
#include "qkv/text/utf8.h"

namespace qkv {

LineReader::LineReader(const std::string& path, const LineOptions& options)
    : name_(path == "-" ? "stdin" : path), options_(options), bytes_(open_bytes(path)) {}

LineReader::LineReader(std::istream& stream, const std::string& name, const LineOptions& options)
    : name_(name), options_(options), bytes_(open_bytes(stream, name)) {}

bool LineReader::next(std::string& line) {
  line.clear();
  if (!take(line)) return false;
  if (line.ends_with('\r')) line.pop_back();
  if (number_ == 1 && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
  if (options_.check_text) check(line);
  return true;
}

bool LineReader::take(std::string& line) {
  for (;;) {
    if (begin_ == end_) {
      begin_ = 0;
      end_ = bytes_->read(buffer_.data(), buffer_.size());
      if (end_ == 0) {
        number_ += line.empty() ? 0 : 1;
        return !line.empty();
      }
    }
    const char* from = buffer_.data() + begin_;
    const void* feed = std::memchr(from, '\n', end_ - begin_);
    const size_t n = feed ? static_cast<size_t>(static_cast<const char*>(feed) - from) : end_ - begin_;
    if (line.size() + n >= static_cast<size_t>(options_.max_bytes)) {
      ++number_;
      fail<InputError>(where(), "a line of {} bytes or more", options_.max_bytes);
    }
    line.append(from, n);
    begin_ += feed ? n + 1 : n;
    if (feed) {
      ++number_;
      return true;
    }
  }
}

void LineReader::check(const std::string& line) const {
  if (const auto at = utf8_error(line))
    fail<InputError>(where(), "invalid UTF-8 at byte {} (0x{:02x})", *at + 1,
                     static_cast<unsigned char>(line[*at]));
  if (const size_t at = line.find('\0'); at != line.npos)
    fail<InputError>(where(), "a NUL byte at byte {}", at + 1);
}

bool LineReader::has_line() const {
  return std::find(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
                   buffer_.begin() + static_cast<std::ptrdiff_t>(end_),
                   '\n') != buffer_.begin() + static_cast<std::ptrdiff_t>(end_);
}

std::string LineReader::where() const { return fmt::format("{}:{}", name_, number_); }

}  // namespace qkv
