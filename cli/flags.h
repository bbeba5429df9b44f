// Flags of the commands, declared in one way: the help shows the default and the unit, and a choice lists its
// words.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "qkv/base/error.h"

namespace qkv::cli {

// A number or a text. `unit` stands in the help for the value: "N tokens", "FILE".
template <class T>
CLI::Option* flag(CLI::App& app, const std::string& name, T& value, const std::string& help,
                  const std::string& unit) {
  CLI::Option* option = app.add_option(name, value, help)->type_name(unit);
  option->default_str(fmt::format("{}", value));
  return option;
}

// One of some words.
template <class Enum>
using Choices = std::vector<std::pair<std::string, Enum>>;

template <class Enum>
CLI::Option* choice(CLI::App& app, const std::string& name, Enum& value, const Choices<Enum>& choices,
                    const std::string& help) {
  std::string words, chosen;
  for (const auto& [word, e] : choices) {
    words += (words.empty() ? "" : "|") + word;
    if (e == value) chosen = word;
  }
  const auto read = [&value, choices, words, name](const std::string& given) {
    for (const auto& [word, e] : choices) {
      if (word != given) continue;
      value = e;
      return;
    }
    fail<UsageError>(name, "'{}' is not one of {}", given, words);
  };
  return app.add_option_function<std::string>(name, read, help)->type_name(words)->default_str(chosen);
}

}  // namespace qkv::cli
