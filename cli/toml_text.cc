#include "cli/toml_text.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include <fmt/core.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"

namespace qkv::cli {
namespace {

// Where the string or comment that begins there ends; npos: none begins there.
size_t end_of_text(std::string_view toml, size_t at) {
  if (toml[at] == '#') return std::min(toml.find('\n', at), toml.size());
  if (toml[at] != '"' && toml[at] != '\'') return toml.npos;
  const std::string three(3, toml[at]);
  const std::string_view quote = std::string_view(three).substr(0, toml.substr(at).starts_with(three) ? 3 : 1);
  for (at += quote.size(); at < toml.size() && !toml.substr(at).starts_with(quote); ++at) {
    if (quote.size() == 1 && toml[at] == '\n') return at;  // the parser says what is wrong
    if (quote.front() == '"' && toml[at] == '\\') ++at;
  }
  return std::min(at + quote.size(), toml.size());
}

// TOML allows characters that are not ASCII only in strings and comments, and the parser relies on it.
void check_ascii(const std::string& path, std::string_view toml) {
  size_t at = toml.starts_with("\xef\xbb\xbf") ? 3 : 0;
  while (at < toml.size()) {
    if (const size_t end = end_of_text(toml, at); end != toml.npos) {
      at = end;
    } else if (const auto byte = static_cast<unsigned char>(toml[at++]); byte >= 0x80) {
      const auto line = 1 + std::count(toml.begin(), toml.begin() + static_cast<std::ptrdiff_t>(at), '\n');
      fail<UsageError>(fmt::format("{}:{}", path, line),
                       "this is not TOML: outside of a string, 0x{:02x} is not ASCII", byte);
    }
  }
}

}  // namespace

// Tables within tables are destroyed recursively, so their depth is bounded before they are made: by the dots of a
// line (a.b.c.d = 1) times the nested values that the parser allows.
std::string read_toml(const std::string& path) {
  constexpr size_t max_bytes = 64 << 10, max_dots = 100;
  std::string text = read_file_or_pipe(path, max_bytes);
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const auto dots = static_cast<size_t>(std::count(line.begin(), line.end(), '.'));
    require<UsageError>(dots <= max_dots, fmt::format("{}:{}", path, number),
                        "a line with {} dots, expected at most {}: KEY = VALUE, or [COMMAND]", dots, max_dots);
  }
  check_ascii(path, text);
  return text;
}

size_t first_line_where(std::string_view text, bool (*is_wrong)(std::string_view)) {
  std::vector<size_t> ends;  // of the lines
  for (size_t end = text.find('\n'); end != text.npos; end = text.find('\n', end + 1)) ends.push_back(end + 1);
  const auto is_right = [&](size_t end) { return !is_wrong(text.substr(0, end)); };
  return static_cast<size_t>(std::partition_point(ends.begin(), ends.end(), is_right) - ends.begin()) + 1;
}

}  // namespace qkv::cli
