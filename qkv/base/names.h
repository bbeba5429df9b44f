// The names of the values of an enum, in files, flags and messages: one list per enum, next to its definition.
//
//     enum class Tie { all, target, none };
//     constexpr auto names_of(Tie) {
//       return std::array{Named{Tie::all, "all"}, Named{Tie::target, "target"}, Named{Tie::none, "none"}};
//     }
//
//     name_of(Tie::target)                                  // "target"
//     value_named<Tie>("tagret", "config.json", "'tie'")    // throws: config.json: 'tie' must be one of all,
//                                                           // target, none, got 'tagret'; did you mean target?
#pragma once

#include <array>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "qkv/base/error.h"

namespace qkv {

template <class Enum>
struct Named {
  Enum value;
  std::string_view name;
};
template <class Enum>
Named(Enum, const char*) -> Named<Enum>;

// Text from outside, made fit for a message: one line, control characters as \x1b, at most `max_bytes` bytes.
std::string one_line(std::string_view text, size_t max_bytes = 120);

// The same between quotation marks: 'name'. As an argument of require() it is only made if the requirement fails.
struct QuotedName {
  std::string_view name;
  std::string text() const;
  operator std::string() const { return text(); }  // NOLINT: implicit on purpose, it is a text
};
inline QuotedName quoted_name(std::string_view name) { return {name}; }

// "all, target, none", or with another separator.
std::string name_list(std::span<const std::string_view> names, std::string_view separator = ", ");
std::string name_list(std::span<const std::string> names, std::string_view separator = ", ");

template <class Enum>
concept WithNames = std::is_enum_v<Enum> && requires(Enum value) {
  names_of(value);
};

template <WithNames Enum>
std::vector<std::string_view> all_names() {
  std::vector<std::string_view> out;
  for (const auto& [value, name] : names_of(Enum{})) out.push_back(name);
  return out;
}

template <WithNames Enum>
std::string_view name_of(Enum value) {
  for (const auto& [v, name] : names_of(value))
    if (v == value) return name;
  fail("names", "there is no value {} among {}", static_cast<int>(value), name_list(all_names<Enum>()));
}

// How GoogleTest prints a value that has a name; it would print its bytes.
template <class Enum>
requires std::is_enum_v<Enum> && requires(Enum value) { name_of(value); }
void PrintTo(const Enum& value, std::ostream* out) { *out << name_of(value); }

// The known name that differs from the given one in few letters, or begins with it; upper and lower case are the same. None if there is no such name.
std::optional<std::string_view> nearest(std::string_view given, std::span<const std::string_view> known);

// "; did you mean --model?" or "". `before` is put in front of the name in the message, but is not compared.
std::string did_you_mean(std::string_view given, std::span<const std::string_view> known,
                         std::string_view before = "");

// The value of that name. `where` (a file or an operation) and `what` was to be set by it are for the error.
template <WithNames Enum, class Kind = UsageError>
Enum value_named(std::string_view given, std::string_view where, std::string_view what) {
  for (const auto& [value, name] : names_of(Enum{}))
    if (name == given) return value;
  const std::vector<std::string_view> names = all_names<Enum>();
  fail<Kind>(where, "{} must be one of {}, got {}{}", what, name_list(names), quoted_name(given),
             did_you_mean(given, names));
}

}  // namespace qkv

template <>
struct fmt::formatter<qkv::QuotedName> : fmt::formatter<std::string> {
  auto format(const qkv::QuotedName& quoted, fmt::format_context& context) const {
    return fmt::formatter<std::string>::format(quoted.text(), context);
  }
};
