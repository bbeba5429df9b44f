#include "qkv/layer/attention_variant_text.h"

#include <charconv>

#include <fmt/format.h>

#include "qkv/base/error.h"
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

const AttentionMechanism& mechanism_named(std::string_view name, std::string_view where) {
  std::vector<std::string_view> names;
  for (const AttentionMechanismPtr& mechanism : attention_mechanisms()) {
    names.push_back(mechanism->facts().name);
    if (names.back() == name) return *mechanism;
  }
  fail<UsageError>(where, "unknown mechanism {}, must be one of {}{}", quoted_name(name), name_list(names),
                   did_you_mean(name, names));
}

double parse_number(const Number& number, std::string_view given, std::string_view text, std::string_view where) {
  double value = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
  const bool read = error == std::errc() && end == given.data() + given.size();
  require<UsageError>(read && number.allows(value), where, "{}: {}", quoted_name(text), number.error(given));
  return value;
}

AttentionMechanismPtr parse_mechanism(std::string_view text, std::string_view where) {
  const size_t equals = std::min(text.find('='), text.size());
  const AttentionMechanism& mechanism = mechanism_named(text.substr(0, equals), where);
  const std::vector<Number> numbers = mechanism.numbers();
  const std::vector<std::string_view> given =
      equals == text.size() ? std::vector<std::string_view>{} : split(text.substr(equals + 1), ':');
  require<UsageError>(given.size() <= numbers.size(), where, "{} has {} number{}, expected at most {}: {}",
                      quoted_name(text), given.size(), given.size() == 1 ? "" : "s", numbers.size(),
                      usage(mechanism));
  std::vector<double> values;
  for (size_t i = 0; i < numbers.size(); ++i) {
    require<UsageError>(i < given.size() || numbers[i].default_value, where, "{}: {} is missing: {}",
                        quoted_name(text), numbers[i].name, usage(mechanism));
    values.push_back(i < given.size() ? parse_number(numbers[i], given[i], text, where)
                                      : *numbers[i].default_value);
  }
  return mechanism.with(values);
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

AttentionVariant attention_variant(std::string_view text, std::string_view where) {
  AttentionVariant variant;
  const std::vector<std::string_view> texts = split(text, '+');
  for (const std::string_view each : texts) {
    AttentionMechanismPtr mechanism = parse_mechanism(each, where);
    const bool full = mechanism->facts().role == AttentionMechanism::Role::full;
    require<UsageError>(!full || texts.size() == 1, where,
                        "'full' cannot be combined with other mechanisms, got {}", quoted_name(text));
    if (!full) variant.add(std::move(mechanism), where);
  }
  return variant;
}

std::string to_string(const AttentionVariant& variant) {
  std::string text;
  for (const AttentionMechanismPtr& mechanism : variant.mechanisms())
    text += fmt::format("{}{}", text.empty() ? "" : "+", to_string(*mechanism));
  return text.empty() ? "full" : text;
}

std::string attention_mechanisms_help() {
  constexpr size_t columns = 100, usage_width = 24, help_column = 2 + usage_width + 2 + 5 + 2;
  std::string text =
      "Mechanisms of an attention variant, with their numbers, [defaults], and whether they are for self-\n"
      "or cross-attention:\n";
  for (const AttentionMechanismPtr& mechanism : attention_mechanisms()) {
    const AttentionMechanism::Facts facts = mechanism->facts();
    std::string defaults;
    for (const Number& number : mechanism->numbers())
      if (number.default_value)
        defaults += fmt::format("{}{}", defaults.empty() ? "" : ":", number_text(*number.default_value));
    if (!defaults.empty()) defaults = fmt::format(" [{}]", defaults);
    const std::string written = usage(*mechanism);
    const char* use = !facts.in_cross ? "self" : !facts.in_self ? "cross" : "both";
    if (written.size() > usage_width)
      text += fmt::format("  {}\n{}", written, std::string(2 + usage_width, ' '));
    else
      text += fmt::format("  {:{}}", written, usage_width);
    text += fmt::format("  {:5}  {}\n", use,
                        wrapped(std::string(facts.help) + defaults, columns - help_column, help_column));
  }
  return text + "For example: window=64+softcap=30; for the layers in turn: full*1,window=64*3";
}

}  // namespace qkv
