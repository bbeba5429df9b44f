#include "qkv/layer/attention_variant.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/ranges.h>

#include "qkv/base/names.h"

namespace qkv {
namespace {

using Number = AttentionMechanism::Number;

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    const size_t end = std::min(text.find(at, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    if (end == text.size()) return parts;
    begin = end + 1;
  }
}

std::string as_text(double x) {
  if (x == std::floor(x) && std::abs(x) < 1e15) return fmt::format("{}", static_cast<int64_t>(x));
  return fmt::format("{}", x);
}

const AttentionMechanism& mechanism_named(std::string_view name, std::string_view where) {
  std::vector<std::string_view> names;
  for (const AttentionMechanism& mechanism : attention_mechanisms()) {
    if (mechanism.name == name) return mechanism;
    names.push_back(mechanism.name);
  }
  fail<UsageError>(where, "unknown mechanism {}, must be one of {}{}", quoted_name(name), name_list(names),
                   did_you_mean(name, names));
}

double parse_number(const Number& n, std::string_view given, std::string_view text, std::string_view where) {
  double value = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
  const bool read = error == std::errc() && end == given.data() + given.size();
  require<UsageError>(
      read && value >= n.minimum && value <= n.maximum && (!n.integer || value == std::floor(value)), where,
      "{}: {} must be {} from {} to {}, got {}", quoted_name(text), n.name, n.integer ? "an integer" : "a number",
      as_text(n.minimum), as_text(n.maximum), quoted_name(given));
  return value;
}

AttentionVariant::Part parse_part(std::string_view text, std::string_view where) {
  const size_t equals = std::min(text.find('='), text.size());
  AttentionVariant::Part part = {&mechanism_named(text.substr(0, equals), where), {}};
  const AttentionMechanism& mechanism = *part.mechanism;
  const std::vector<std::string_view> given =
      equals == text.size() ? std::vector<std::string_view>{} : split(text.substr(equals + 1), ':');
  require<UsageError>(given.size() <= mechanism.numbers.size(), where,
                      "{} has {} number{}, expected at most {}: {}", quoted_name(text), given.size(),
                      given.size() == 1 ? "" : "s", mechanism.numbers.size(), usage(mechanism));
  for (size_t i = 0; i < mechanism.numbers.size(); ++i) {
    const Number& number = mechanism.numbers[i];
    require<UsageError>(i < given.size() || number.default_value, where, "{}: {} is missing: {}", quoted_name(text),
                        number.name, usage(mechanism));
    part.numbers.push_back(i < given.size() ? parse_number(number, given[i], text, where) : *number.default_value);
  }
  return part;
}

std::string as_text(const AttentionVariant::Part& part) {
  const std::vector<Number>& numbers = part.mechanism->numbers;
  size_t count = numbers.size();  // defaults at the end are not written
  while (count > 0 && numbers[count - 1].default_value == part.numbers[count - 1]) --count;
  std::string text(part.mechanism->name);
  for (size_t i = 0; i < count; ++i) text += fmt::format("{}{}", i == 0 ? "=" : ":", as_text(part.numbers[i]));
  return text;
}

bool excludes(const AttentionMechanism& a, const AttentionMechanism& b) {
  return std::find(a.excludes.begin(), a.excludes.end(), b.role) != a.excludes.end();
}

// The text in lines of at most `width` columns, the second and further ones indented.
std::string wrapped(const std::string& text, size_t width, size_t indent) {
  std::string out, line;
  for (const std::string_view word : split(text, ' ')) {
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      out += line + "\n" + std::string(indent, ' ');
      line.clear();
    }
    line += fmt::format("{}{}", line.empty() ? "" : " ", word);
  }
  return out + line;
}

}  // namespace

AttentionMechanism::Parameters AttentionVariant::Part::parameters(const AttentionSize& size) const {
  return mechanism->parameters ? mechanism->parameters(numbers, size) : AttentionMechanism::Parameters{};
}

bool AttentionVariant::has(AttentionMechanism::Role role) const {
  return std::any_of(parts_.begin(), parts_.end(), [&](const Part& part) { return part.mechanism->role == role; });
}

bool AttentionVariant::reads_queries() const {
  return std::all_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.mechanism->reads_queries; });
}

bool AttentionVariant::reads_keys() const {
  return std::all_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.mechanism->reads_keys; });
}

void AttentionVariant::add(Part part, std::string_view where) {
  for (const Part& other : parts_) {
    require<UsageError>(other.mechanism != part.mechanism, where, "'{}' is given twice", part.mechanism->name);
    require<UsageError>(
        !excludes(*other.mechanism, *part.mechanism) && !excludes(*part.mechanism, *other.mechanism), where,
        "'{}' and '{}' cannot be combined", other.mechanism->name, part.mechanism->name);
  }
  parts_.push_back(std::move(part));
}

AttentionVariant attention_variant(std::string_view text, std::string_view where) {
  AttentionVariant variant;
  const std::vector<std::string_view> mechanisms = split(text, '+');
  for (const std::string_view mechanism : mechanisms) {
    AttentionVariant::Part part = parse_part(mechanism, where);
    const bool full = part.mechanism->role == AttentionMechanism::Role::full;
    require<UsageError>(!full || mechanisms.size() == 1, where,
                        "'full' cannot be combined with other mechanisms, got {}", quoted_name(text));
    if (!full) variant.add(std::move(part), where);
  }
  return variant;
}

std::string to_string(const AttentionVariant& variant) {
  std::string text;
  for (const AttentionVariant::Part& part : variant.parts())
    text += fmt::format("{}{}", text.empty() ? "" : "+", as_text(part));
  return text.empty() ? "full" : text;
}

void check_variant(const AttentionVariant& variant, const AttentionSize& size, std::string_view where) {
  using Role = AttentionMechanism::Role;
  for (const AttentionVariant::Part& part : variant.parts()) {
    const AttentionMechanism& mechanism = *part.mechanism;
    require<UsageError>(size.use == AttentionUse::cross ? mechanism.in_cross : mechanism.in_self, where,
                        "'{}' is for {} only", mechanism.name,
                        mechanism.in_self ? "self attention" : "cross attention");
    require<UsageError>(
        mechanism.role != Role::prefix || variant.has(Role::mask) || variant.has(Role::global_projections), where,
        "'{}' needs another mask in the variant, as in window=64+prefix=4", as_text(part));
    const std::string error = mechanism.error ? mechanism.error(part.numbers, size) : "";
    require<UsageError>(error.empty(), where, "'{}': {}", as_text(part), error);
  }
}

std::string attention_mechanisms_help() {
  constexpr size_t columns = 100, usage_width = 24, help_column = 2 + usage_width + 2 + 5 + 2;
  std::string text =
      "Mechanisms of an attention variant, with their numbers, [defaults], and whether they are for self-\n"
      "or cross-attention:\n";
  for (const AttentionMechanism& mechanism : attention_mechanisms()) {
    std::string defaults;
    for (const AttentionMechanism::Number& number : mechanism.numbers)
      if (number.default_value)
        defaults += fmt::format("{}{}", defaults.empty() ? "" : ":", as_text(*number.default_value));
    if (!defaults.empty()) defaults = fmt::format(" [{}]", defaults);
    const std::string written = usage(mechanism);
    const char* use = !mechanism.in_cross ? "self" : !mechanism.in_self ? "cross" : "both";
    if (written.size() > usage_width)
      text += fmt::format("  {}\n{}", written, std::string(2 + usage_width, ' '));
    else
      text += fmt::format("  {:{}}", written, usage_width);
    text += fmt::format("  {:5}  {}\n", use,
                        wrapped(std::string(mechanism.help) + defaults, columns - help_column, help_column));
  }
  return text + "For example: window=64+softcap=30";
}

}  // namespace qkv
