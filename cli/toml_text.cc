#include "cli/toml_text.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include <fmt/core.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"

namespace qkv::cli {

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
  return text;
}

size_t first_line_where(std::string_view text, bool (*is_wrong)(std::string_view)) {
  std::vector<size_t> ends;  // of the lines
  for (size_t end = text.find('\n'); end != text.npos; end = text.find('\n', end + 1)) ends.push_back(end + 1);
  const auto is_right = [&](size_t end) { return !is_wrong(text.substr(0, end)); };
  return static_cast<size_t>(std::partition_point(ends.begin(), ends.end(), is_right) - ends.begin()) + 1;
}

}  // namespace qkv::cli
