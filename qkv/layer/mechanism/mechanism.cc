#include "qkv/layer/mechanism/mechanism.h"

#include <fmt/format.h>

namespace qkv {

std::string usage(const AttentionMechanism& mechanism) {
  std::string names;
  bool optional = false, by_name = false;
  for (const MechanismArgument& argument : mechanism.arguments()) {
    if (names.empty()) optional = argument.default_value.has_value();
    if (argument.by_name)
      by_name = true;
    else
      names += fmt::format("{}{}", names.empty() ? "=" : ":", argument.name);
  }
  if (by_name) names += names.empty() ? "=name=value..." : ":name=value...";
  return fmt::format("{}{}", mechanism.facts().name, optional ? "[" + names + "]" : names);
}

std::string to_string(const AttentionMechanism& mechanism) {
  const std::vector<MechanismArgument> arguments = mechanism.arguments();
  std::vector<MechanismArgument::Value> values;
  for (size_t i = 0; i < arguments.size(); ++i) values.push_back(mechanism.argument(i));
  const auto is_default = [&](size_t i) { return arguments[i].default_value == values[i]; };
  size_t places = 0;  // written by place
  for (size_t i = 0; i < arguments.size(); ++i)
    if (!arguments[i].by_name && !is_default(i)) places = i + 1;
  std::string text;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (i >= places && is_default(i)) continue;
    text += fmt::format("{}{}{}", text.empty() ? "=" : ":", i < places ? "" : fmt::format("{}=", arguments[i].name),
                        value_text(values[i]));
  }
  return fmt::format("{}{}", mechanism.facts().name, text);
}

}  // namespace qkv
