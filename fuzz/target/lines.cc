// Bytes, plain or gzip, as lines: the same lines from a file and in chunks from a stream, none longer than allowed,
// all of them text where text is required. The first three bytes choose the options.
#include "qkv/text/lines.h"

#include <optional>
#include <sstream>

#include "fuzz/input.h"
#include "qkv/base/error.h"
#include "qkv/text/utf8.h"

namespace {

using namespace qkv;

// Returns its bytes in chunks.
class Pieces final : public std::streambuf {
 public:
  Pieces(std::string bytes, size_t piece) : bytes_(std::move(bytes)), piece_(piece) {}

 private:
  int_type underflow() override {
    if (at_ == bytes_.size()) return traits_type::eof();
    const size_t n = std::min(piece_, bytes_.size() - at_);
    setg(bytes_.data() + at_, bytes_.data() + at_, bytes_.data() + at_ + n);
    at_ += n;
    return traits_type::to_int_type(*gptr());
  }

  std::string bytes_;
  size_t piece_, at_ = 0;
};

struct Outcome {
  size_t lines = 0, hash = 0;
  bool complete = false;
  bool operator==(const Outcome&) const = default;
};

Outcome read_all(LineReader& reader, const LineOptions& options) {
  Outcome outcome;
  std::string line;
  outcome.complete = fuzz::accepted([&] {
    while (reader.next(line)) {
      fuzz::expect(static_cast<int64_t>(line.size()) < options.max_bytes, "a line is too long");
      fuzz::expect(line.find('\n') == line.npos, "a line has a line feed");
      fuzz::expect(!options.check_text || (!utf8_error(line) && line.find('\0') == line.npos),
                   "a line is not text");
      outcome.hash = outcome.hash * 31 + std::hash<std::string>()(line);
      fuzz::expect(reader.number() == static_cast<int64_t>(++outcome.lines), "lines are counted wrong");
    }
  });
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Reader input(data, size);
  const LineOptions options{.max_bytes = input.between(0, 3) ? 1'000'000 : input.between(1, 40),
                            .check_text = input.between(0, 1) == 0};
  const auto piece = static_cast<size_t>(input.between(1, 40));
  const fuzz::InputFile file(input.rest());
  LineReader whole(file.path(), options);
  Pieces pieces(std::string(input.rest()), piece);
  std::istream stream(&pieces);
  LineReader piecewise(stream, "stream", options);
  const Outcome from_file = read_all(whole, options), from_stream = read_all(piecewise, options);
  // A file of another kind is refused before its first line, a stream as soon as it has given enough bytes.
  const bool other_kind = !from_file.complete && from_file.lines == 0 && !from_stream.complete;
  fuzz::expect(other_kind || from_file == from_stream, "other lines from a stream");
  return 0;
}
