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
  for (const AttentionMechanism& word : attention_mechanisms()) {
    if (word.name == name) return word;
    names.push_back(word.name);
  }
  fail<UsageError>(where, "there is no word {}, the words are {}{}", quoted_name(name), name_list(names),
                   did_you_mean(name, names));
}

double number_of(const Number& n, std::string_view given, std::string_view text, std::string_view where) {
  double value = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
  const bool read = error == std::errc() && end == given.data() + given.size();
  require<UsageError>(
      read && value >= n.minimum && value <= n.maximum && (!n.integer || value == std::floor(value)), where,
      "{}: {} must be a {}number from {} to {}, got {}", quoted_name(text), n.name, n.integer ? "whole " : "",
      as_text(n.minimum), as_text(n.maximum), quoted_name(given));
  return value;
}

AttentionVariant::Part part_of(std::string_view text, std::string_view where) {
  const size_t equals = std::min(text.find('='), text.size());
  AttentionVariant::Part part = {&mechanism_named(text.substr(0, equals), where), {}};
  const AttentionMechanism& word = *part.word;
  const std::vector<std::string_view> given =
      equals == text.size() ? std::vector<std::string_view>{} : split(text.substr(equals + 1), ':');
  require<UsageError>(given.size() <= word.numbers.size(), where, "{} has {} numbers, {} takes {}: {}",
                      quoted_name(text), given.size(), word.name, word.numbers.size(), usage(word));
  for (size_t i = 0; i < word.numbers.size(); ++i) {
    const Number& number = word.numbers[i];
    require<UsageError>(i < given.size() || number.default_value, where, "{} lacks its {}: write {}",
                        quoted_name(text), number.name, usage(word));
    part.numbers.push_back(i < given.size() ? number_of(number, given[i], text, where) : *number.default_value);
  }
  return part;
}

std::string as_text(const AttentionVariant::Part& part) {
  const std::vector<Number>& numbers = part.word->numbers;
  size_t count = numbers.size();  // those at the end that are as usual go without saying
  while (count > 0 && numbers[count - 1].default_value == part.numbers[count - 1]) --count;
  std::string text(part.word->name);
  for (size_t i = 0; i < count; ++i) text += fmt::format("{}{}", i == 0 ? "=" : ":", as_text(part.numbers[i]));
  return text;
}

bool excludes(const AttentionMechanism& a, const AttentionMechanism& b) {
  return std::find(a.excludes.begin(), a.excludes.end(), b.role) != a.excludes.end();
}

std::string_view place_of(AttentionUse use) {
  return use == AttentionUse::cross ? "attention to the other sentence" : "self-attention";
}

}  // namespace

std::vector<AttentionMechanism::Parameter> AttentionVariant::Part::parameters(const AttentionSize& size) const {
  return word->parameters ? word->parameters(numbers, size) : std::vector<AttentionMechanism::Parameter>{};
}

bool AttentionVariant::has(AttentionMechanism::Role role) const {
  return std::any_of(parts_.begin(), parts_.end(), [&](const Part& part) { return part.word->role == role; });
}

void AttentionVariant::add(Part part, std::string_view where) {
  for (const Part& other : parts_) {
    require<UsageError>(other.word != part.word, where, "'{}' stands there twice", part.word->name);
    require<UsageError>(!excludes(*other.word, *part.word) && !excludes(*part.word, *other.word), where,
                        "'{}' and '{}' exclude each other", other.word->name, part.word->name);
  }
  parts_.push_back(std::move(part));
}

AttentionVariant attention_variant(std::string_view text, std::string_view where) {
  AttentionVariant variant;
  const std::vector<std::string_view> words = split(text, '+');
  for (const std::string_view word : words) {
    AttentionVariant::Part part = part_of(word, where);
    const bool full = part.word->role == AttentionMechanism::Role::full;
    require<UsageError>(!full || words.size() == 1, where, "'full' goes with no other word, got {}",
                        quoted_name(text));
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
  for (const AttentionVariant::Part& part : variant.parts()) {
    const AttentionMechanism& word = *part.word;
    require<UsageError>(size.use == AttentionUse::cross ? word.in_cross : word.in_self, where, "'{}' is not for {}",
                        word.name, place_of(size.use));
    const std::string error = word.error ? word.error(part.numbers, size) : "";
    require<UsageError>(error.empty(), where, "'{}': {}", as_text(part), error);
  }
}

std::string attention_mechanisms_help() {
  size_t width = 0;
  for (const AttentionMechanism& word : attention_mechanisms()) width = std::max(width, usage(word).size());
  std::string text = "Words of attention (self, cross), with their numbers:\n";
  for (const AttentionMechanism& word : attention_mechanisms()) {
    std::string usual;
    for (const AttentionMechanism::Number& number : word.numbers)
      if (number.default_value && *number.default_value != 0)
        usual += fmt::format("{}{}", usual.empty() ? "" : ":", *number.default_value);
    text += fmt::format("  {:{}}  {:4} {:5}  {}{}\n", usage(word), width, word.in_self ? "self" : "",
                        word.in_cross ? "cross" : "", word.help, usual.empty() ? "" : fmt::format(" [{}]", usual));
  }
  return text + "For example: window=64+softcap=30";
}

}  // namespace qkv
