#include "qkv/text/lines.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "qkv/text/encoding_hint.h"
#include "qkv/text/file_kind.h"
#include "qkv/text/utf8.h"

namespace qkv {

LineReader::LineReader(const std::string& path, const LineOptions& options)
    : LineReader(open_bytes(path), path == "-" ? "stdin" : path, options) {}

LineReader::LineReader(std::istream& stream, const std::string& name, const LineOptions& options)
    : LineReader(open_bytes(stream, name), name, options) {}

LineReader::LineReader(std::unique_ptr<ByteSource> bytes, const std::string& name, const LineOptions& options)
    : name_(name),
      options_(options),
      bytes_(std::move(bytes)),
      kind_known_(options.is_part),
      number_(options.before) {}

bool LineReader::next(std::string& line) {
  gather(/*wait=*/true);
  line.clear();
  std::swap(line, line_);
  if (!std::exchange(complete_, false) && line.empty()) return false;
  ++number_;
  if (!kind_known_) check_kind();
  if (std::exchange(too_long_, false))
    fail<LineError>(where(), "a line of {} bytes or more{}", options_.max_bytes,
                    line.find('\r') == line.npos ? "" : ", with carriage returns in it: line ends of an old Mac?");
  if (line.ends_with('\r')) line.pop_back();
  if (begins_file() && line.starts_with(byte_order_mark)) line.erase(0, byte_order_mark.size());
  if (options_.check_text) check(line);
  return true;
}

bool LineReader::ready() { return gather(/*wait=*/false); }

// Reads until the next line is complete or the file ends: true. Without waiting only the available bytes: false if
// they do not complete a line.
bool LineReader::gather(bool wait) {
  while (!complete_ && !ended_) {
    if (begin_ == end_) {
      if (!wait && !bytes_->ready()) return false;
      begin_ = 0;
      end_ = bytes_->read(buffer_.data(), buffer_.size());
      ended_ = end_ == 0;
      first_bytes_.append(buffer_.data(), std::min(end_, file_kind_bytes - first_bytes_.size()));
      continue;
    }
    const char* from = buffer_.data() + begin_;
    const void* feed = std::memchr(from, '\n', end_ - begin_);
    const size_t n = feed ? static_cast<size_t>(static_cast<const char*>(feed) - from) : end_ - begin_;
    if (skipping_) {
      skip(n);
      skipping_ = !feed;
    } else if (line_.size() + n >= static_cast<size_t>(options_.max_bytes)) {
      complete_ = too_long_ = skipping_ = true;  // reported at once, though its end may be far
      skipped_ = 0;
      return true;
    } else {
      line_.append(from, n);
      complete_ = feed;
    }
    begin_ += feed ? n + 1 : n;
  }
  return true;
}

void LineReader::skip(size_t bytes) {
  constexpr size_t max_skipped = size_t{1} << 30;
  skipped_ += bytes;
  require<InputError>(skipped_ <= max_skipped, where(), "no line feed within {} bytes: this is not lines of text",
                      max_skipped);
}

void LineReader::check_kind() {
  kind_known_ = !options_.check_text || ended_ || first_bytes_.size() == file_kind_bytes;
  if (!options_.check_text) return;
  if (const std::string kind = file_kind(first_bytes_); !kind.empty()) fail<InputError>(name_, "{}", kind);
}

void LineReader::check(const std::string& line) const {
  if (begins_file() && !options_.is_one_of_many && ended_ && line.find('\r') != line.npos)
    fail<LineError>(where(), "lines end with carriage returns alone, as on old Macs: convert with tr '\\r' '\\n'");
  if (const auto at = utf8_error(line))
    fail<LineError>(where(), "invalid UTF-8 at byte {} (0x{:02x}){}", *at + 1,
                    static_cast<unsigned char>(line[*at]), encoding_hint(line));
  if (const size_t at = line.find('\0'); at != line.npos) fail<LineError>(where(), "a NUL byte at byte {}", at + 1);
}

std::string LineReader::where() const { return fmt::format("{}:{}", name_, number_); }

}  // namespace qkv
