// An argument of a mechanism of attention variants (mechanism.h), and its text: a number, one of several names, or a
// list of numbers joined by /.
//
//     const MechanismArgument radius = {.name = "radius", .kind = MechanismArgument::Kind::integer, .maximum = 9};
//     radius.value_of("3")                                     // 3; none: text that is not a value that it allows
//     radius.error("x")                                        // "radius must be an integer from 0 to 9, got 'x'"
//     value_text(std::vector<double>{1, 1.5})                  // "1/1.5"
//
// Arguments in their order are written by their place, window=64, or by name, window=radius=64; those with by_name
// only by name, after the others: rotary=10000:factor=4.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace qkv {

struct MechanismArgument {
  enum class Kind { number, integer, choice, list };
  using Value = std::variant<double, std::string, std::vector<double>>;  // numbers, a choice, a list

  std::string_view name;
  Kind kind = Kind::number;
  double minimum = 0, maximum = 0;             // of numbers
  std::vector<std::string_view> choices = {};  // of Kind::choice
  std::optional<Value> default_value = {};     // none: required
  bool by_name = false;

  bool allows(const Value& value) const;
  std::optional<Value> value_of(std::string_view text) const;
  std::string error(std::string_view given) const;
};

std::string value_text(const MechanismArgument::Value& value);
// 3, 0.5
std::string number_text(double number);

}  // namespace qkv
