// Flags of the commands, declared in one way: the help shows the default and the unit, and a choice lists its
// names.
#pragma once

#include <string>

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>

#include "qkv/base/names.h"

namespace qkv::cli {

// A number or a text. `unit` stands in the help for the value: "N tokens", "FILE".
template <class T>
CLI::Option* flag(CLI::App& app, const std::string& name, T& value, const std::string& help,
                  const std::string& unit) {
  CLI::Option* option = app.add_option(name, value, help)->type_name(unit);
  option->default_str(fmt::format("{}", value));
  return option;
}

// One of the names of an enum's values.
template <WithNames Enum>
CLI::Option* choice(CLI::App& app, const std::string& name, Enum& value, const std::string& help) {
  const auto read = [&value, name, command = "qkv " + app.get_name()](const std::string& given) {
    value = value_named<Enum>(given, command, name);
  };
  return app.add_option_function<std::string>(name, read, help)
      ->type_name(fmt::format("{}", fmt::join(all_names<Enum>(), "|")))
      ->default_str(std::string(name_of(value)));
}

}  // namespace qkv::cli
