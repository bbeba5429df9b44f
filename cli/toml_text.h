// The text of a TOML file, with the checks that its parser leaves to others.
//
//     const std::string text = read_toml("train.toml");
//     const size_t line = first_line_where(text, lacks_a_key);
//
// UsageError that names the line: more bytes or dots than settings need.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace qkv::cli {

std::string read_toml(const std::string& path);

// The first line, counted from 1, with which the text from its beginning `is_wrong`; the last one if none before it is.
size_t first_line_where(std::string_view text, bool (*is_wrong)(std::string_view));

}  // namespace qkv::cli
