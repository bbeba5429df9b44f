// Text as Python's str has it: by code points, white space of Unicode, case, and the forms of str() and repr().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace qkv::jinja {

// Without white space (str.strip()), or without any of `characters`.
std::string_view stripped_left(std::string_view text);
std::string_view stripped_right(std::string_view text);
std::string_view stripped_left(std::string_view text, std::string_view characters);
std::string_view stripped_right(std::string_view text, std::string_view characters);

// The byte at which code point number `index` begins; the size of the text, if it has fewer.
size_t byte_offset(std::string_view text, int64_t index);
std::vector<std::string_view> characters_of(std::string_view text);

std::string upper_case(std::string_view text);
std::string lower_case(std::string_view text);
std::string capitalized(std::string_view text);  // str.capitalize()
std::string title_case(std::string_view text);   // str.title()
std::string swapped_case(std::string_view text);

// What str.isdigit() and its like ask of every character of a text that is not empty.
enum class CharacterClass { alpha, digit, numeric, alnum, space };
bool consists_of(std::string_view text, CharacterClass kind);
bool is_upper_case(std::string_view text);  // at least one letter with a case, and all of these capital
bool is_lower_case(std::string_view text);

// str.splitlines(); str.split() at white space, at most `limit` times (below 0: no limit), from either end.
std::vector<std::string_view> lines_of(std::string_view text, bool with_ends);
std::vector<std::string_view> split_at_space(std::string_view text, int64_t limit, bool from_right);

std::string quoted_text(std::string_view text);  // repr()
std::string float_text(double value);            // repr(): 1.0, 1e-05, inf

}  // namespace qkv::jinja
