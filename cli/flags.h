// Flags of the commands, declared in one way: the help shows the default and the unit, and a choice lists its
// names. The rows of a table (base/setting.h) become flags by
//
//     visit_options(options, AddFlags{app, flags});
#pragma once

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>

#include "qkv/base/names.h"
#include "qkv/base/setting.h"
#include "qkv/base/threads.h"
#include "qkv/layer/attention_variant.h"

namespace qkv::cli {

// A number or a text. `unit` stands in the help for the value: "N tokens", "FILE".
template <class T>
CLI::Option* flag(CLI::App& app, const std::string& name, T& value, const std::string& help,
                  const std::string& unit) {
  CLI::Option* option = app.add_option(name, value, help)->type_name(unit);
  option->default_str(fmt::format("{}", value));
  // What strtoull() would take for another number: nothing for 0, -1 and what is too large for the largest there
  // is.
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    option->check([](const std::string& given) {
      T number = 0;
      const std::errc error = std::from_chars(given.data(), given.data() + given.size(), number).ec;
      if (given.empty()) return std::string("must be a number, got nothing");
      if (error == std::errc::result_out_of_range) return fmt::format("is out of range: {}", given);
      const bool negative = std::is_unsigned_v<T> && given.starts_with('-');
      return negative ? fmt::format("must not be negative, got {}", given) : std::string();
    });
  } else if constexpr (std::is_floating_point_v<T>) {
    option->check([](const std::string& given) {
      return given.empty() ? std::string("must be a number, got nothing") : std::string();
    });
  }
  return option;
}

// --threads of a command; 0 leaves the default. Each thread takes memory of its own: far more of them than cores
// are a mistake.
inline CLI::Option* threads_flag(CLI::App& app, int& value) {
  return flag(app, "--threads", value, "0: one for every core", "N")->check(CLI::Range(0, max_threads()), "");
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

// An attention variant, or that of both self-attentions.
template <class Variant>
CLI::Option* variant_flag(CLI::App& app, const std::string& name, Variant& value, const std::string& help,
                          const std::string& unit) {
  const auto read = [&value, where = "qkv " + app.get_name() + ": " + name](const std::string& given) {
    value = attention_variant(given, where);
  };
  return app.add_option_function<std::string>(name, read, help)->type_name(unit)->default_str(to_string(value));
}

struct AddFlags {
  CLI::App& app;
  std::vector<CLI::Option*>& flags;  // those added, in their order

  template <class T, class... Rest>
  void operator()(const Setting& setting, T& value, const Rest&...) {
    const std::string name = std::string("--") + setting.name;
    if constexpr (WithNames<T>) {
      flags.push_back(choice(app, name, value, setting.help));
    } else if constexpr (std::is_assignable_v<T&, AttentionVariant>) {
      flags.push_back(variant_flag(app, name, value, setting.help, setting.unit));
    } else {
      flags.push_back(flag(app, name, value, setting.help, setting.unit));
    }
  }
};

}  // namespace qkv::cli
