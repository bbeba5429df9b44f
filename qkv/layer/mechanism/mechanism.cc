#include "qkv/layer/mechanism/mechanism.h"

#include <cmath>

#include <fmt/format.h>

#include "qkv/base/error.h"
#include "qkv/base/names.h"

namespace qkv {

bool AttentionMechanism::Number::allows(double value) const {
  return value >= minimum && value <= maximum && (!integer || value == std::floor(value));
}

std::string AttentionMechanism::Number::error(std::string_view given) const {
  return fmt::format("{} must be {} from {} to {}, got {}", name, integer ? "an integer" : "a number",
                     number_text(minimum), number_text(maximum), quoted_name(given));
}

Variable AttentionMechanism::project_global(const AttentionPart&, GlobalProjection, const Variable&) const {
  fail("attention mechanism", "'{}' has no projections of global positions", facts().name);
}

AttentionVariableResult AttentionMechanism::attend(const AttentionPart&, const AttentionHeads&, bool) const {
  fail("attention mechanism", "'{}' does not replace attention()", facts().name);
}

Variable AttentionMechanism::extend(const AttentionPart&, const AttentionHeads&, AttentionCache&) const {
  fail("attention mechanism", "'{}' does not replace attention()", facts().name);
}

std::string number_text(double number) {
  if (number == std::floor(number) && std::abs(number) < 1e15)
    return fmt::format("{}", static_cast<int64_t>(number));
  return fmt::format("{}", number);
}

std::string usage(const AttentionMechanism& mechanism) {
  const std::vector<AttentionMechanism::Number> numbers = mechanism.numbers();
  std::string names;
  for (const AttentionMechanism::Number& number : numbers)
    names += fmt::format("{}{}", names.empty() ? "=" : ":", number.name);
  const bool optional = !numbers.empty() && numbers.front().default_value.has_value();
  return fmt::format("{}{}", mechanism.facts().name, optional ? "[" + names + "]" : names);
}

std::string to_string(const AttentionMechanism& mechanism) {
  const std::vector<AttentionMechanism::Number> numbers = mechanism.numbers();
  size_t count = numbers.size();
  while (count > 0 && numbers[count - 1].default_value == mechanism.number(count - 1)) --count;
  std::string text(mechanism.facts().name);
  for (size_t i = 0; i < count; ++i)
    text += fmt::format("{}{}", i == 0 ? "=" : ":", number_text(mechanism.number(i)));
  return text;
}

}  // namespace qkv
