#include "qkv/layer/attention_variant_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "qkv/base/counted.h"
#include "qkv/base/error.h"
#include "qkv/base/names.h"
#include "qkv/layer/mechanism/elsewhere.h"

namespace qkv {
namespace {

using Argument = MechanismArgument;
using Value = MechanismArgument::Value;

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
  const std::string_view advice = used_elsewhere(name);
  require<UsageError>(advice.empty(), where, "{} is not part of a variant: {}", quoted_name(name), advice);
  fail<UsageError>(where, "unknown mechanism {}, must be one of {}{}", quoted_name(name), name_list(names),
                   did_you_mean(name, names));
}

// The index of the argument of that name; `text` is the whole mechanism, for the error.
size_t index_of(const AttentionMechanism& mechanism, std::string_view name, std::string_view text,
                std::string_view where) {
  std::vector<std::string_view> names;
  for (const Argument& argument : mechanism.arguments()) {
    if (argument.name == name) return names.size();
    names.push_back(argument.name);
  }
  fail<UsageError>(where, "{}: unknown argument {}, must be one of {}{}", quoted_name(text), quoted_name(name),
                   name_list(names), did_you_mean(name, names));
}

// The values that are given, in the order of the arguments.
std::vector<std::optional<Value>> parse_arguments(const AttentionMechanism& mechanism,
                                                  std::span<const std::string_view> given, std::string_view text,
                                                  std::string_view where) {
  const std::vector<Argument> arguments = mechanism.arguments();
  const auto places = std::ranges::count(arguments, false, &Argument::by_name);
  const auto by_place = std::ranges::count_if(given, [](std::string_view g) { return g.find('=') == g.npos; });
  require<UsageError>(by_place <= places, where, "{} has {}, expected at most {}: {}", quoted_name(text),
                      counted(by_place, "number"), places, usage(mechanism));
  std::vector<std::optional<Value>> values(arguments.size());
  bool named = false;
  for (size_t place = 0; place < given.size(); ++place) {
    const size_t equals = given[place].find('=');
    require<UsageError>(!named || equals != given[place].npos, where,
                        "{}: {} must be in front of the arguments that are given by name: {}", quoted_name(text),
                        quoted_name(given[place]), usage(mechanism));
    named = equals != given[place].npos;
    const size_t i = named ? index_of(mechanism, given[place].substr(0, equals), text, where) : place;
    const std::string_view value = named ? given[place].substr(equals + 1) : given[place];
    require<UsageError>(!values[i], where, "{}: {} is given twice", quoted_name(text), arguments[i].name);
    values[i] = arguments[i].value_of(value);
    require<UsageError>(values[i].has_value(), where, "{}: {}", quoted_name(text), arguments[i].error(value));
  }
  return values;
}

AttentionMechanismPtr parse_mechanism(std::string_view text, std::string_view where) {
  const size_t equals = std::min(text.find('='), text.size());
  const AttentionMechanism& mechanism = mechanism_named(text.substr(0, equals), where);
  const std::vector<std::string_view> given =
      equals == text.size() ? std::vector<std::string_view>{} : split(text.substr(equals + 1), ':');
  const std::vector<std::optional<Value>> parsed = parse_arguments(mechanism, given, text, where);
  const std::vector<Argument> arguments = mechanism.arguments();
  std::vector<Value> values;
  for (size_t i = 0; i < arguments.size(); ++i) {
    require<UsageError>(parsed[i] || arguments[i].default_value, where, "{}: {} is missing: {}", quoted_name(text),
                        arguments[i].name, usage(mechanism));
    values.push_back(parsed[i] ? *parsed[i] : *arguments[i].default_value);
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

// "[64:3:1:3]", and the arguments given by name.
std::string defaults_of(const AttentionMechanism& mechanism) {
  std::string by_place, by_name;
  for (const Argument& argument : mechanism.arguments()) {
    if (!argument.default_value) continue;
    const std::string value = value_text(*argument.default_value);
    if (!argument.by_name)
      by_place += fmt::format("{}{}", by_place.empty() ? "" : ":", value);
    else
      by_name += fmt::format("{}{}{}{}", by_name.empty() ? "; by name " : ", ", argument.name,
                             value.empty() ? "" : fmt::format(" [{}]", value),
                             argument.choices.empty() ? "" : fmt::format(" ({})", name_list(argument.choices)));
  }
  return (by_place.empty() ? "" : fmt::format(" [{}]", by_place)) + by_name;
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
      "Mechanisms of an attention variant, with their arguments, [defaults], and whether they are for self-\n"
      "or cross-attention:\n";
  for (const AttentionMechanismPtr& mechanism : attention_mechanisms()) {
    const AttentionMechanism::Facts facts = mechanism->facts();
    const std::string written = usage(*mechanism);
    const char* use = !facts.in_cross ? "self" : !facts.in_self ? "cross" : "both";
    if (written.size() > usage_width)
      text += fmt::format("  {}\n{}", written, std::string(2 + usage_width, ' '));
    else
      text += fmt::format("  {:{}}", written, usage_width);
    text +=
        fmt::format("  {:5}  {}\n", use,
                    wrapped(std::string(facts.help) + defaults_of(*mechanism), columns - help_column, help_column));
  }
  text += "Not part of a variant:\n";
  for (const auto& [name, advice] : mechanisms_elsewhere())
    text += fmt::format("  {:{}}  {}\n", name, usage_width,
                        wrapped(std::string(advice), columns - usage_width - 4, usage_width + 4));
  return text +
         "For example: window=64+softcap=30; rotary=500000:scaling=linear:factor=4; for the layers in turn:\n"
         "full*1,window=64*3";
}

}  // namespace qkv
