// Flags of the commands, declared in one way: the help shows the default and the unit, and a choice lists its
// names. The rows of a table (base/setting.h) become flags by
//
//     visit_options(options, AddFlags{app, flags});
#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include <fmt/core.h>

#include "cli/app.h"
#include "qkv/base/names.h"
#include "qkv/base/setting.h"
#include "qkv/base/threads.h"
#include "qkv/layer/attention_pattern.h"
#include "qkv/model/config.h"
#include "qkv/text/corpus_paths.h"
#include "qkv/train/duration.h"

namespace qkv::cli {

// What a flag accepts, for settings from a file: corpus is one file or two, variant a +-separated list.
enum class ValueType { text, integer, number, corpus, variant };
constexpr auto names_of(ValueType) {
  return std::array{Named{ValueType::text, "text"}, Named{ValueType::integer, "integer"},
                    Named{ValueType::number, "number"}, Named{ValueType::corpus, "corpus"},
                    Named{ValueType::variant, "variant"}};
}

constexpr const char* corpus_unit = "FILE[,FILE]";

template <class T>
constexpr ValueType value_type_of(std::string_view unit) {
  if constexpr (std::is_integral_v<T>) {
    return ValueType::integer;
  } else if constexpr (std::is_floating_point_v<T>) {
    return ValueType::number;
  } else if constexpr (std::is_same_v<T, AttentionPattern>) {
    return ValueType::variant;
  } else {
    return unit == corpus_unit ? ValueType::corpus : ValueType::text;
  }
}

// Why a text is not a value of type T; empty if it is one. CLI11 would read 1e3 as 1, and -1 as the largest number.
template <class T>
std::string value_error(const std::string& given) {
  if constexpr (std::is_arithmetic_v<T>) {
    const char* expected = std::is_integral_v<T> ? "an integer" : "a number";
    if (given.empty()) return fmt::format("must be {}, got nothing", expected);
    if (std::is_unsigned_v<T> && given.starts_with('-')) return "must not be negative, got " + one_line(given);
    T number = 0;
    const char* begin = given.data() + (given.starts_with('+') ? 1 : 0);
    // CLI11 would read 010 as 8.
    if (std::is_integral_v<T> && begin[0] == '0' && begin[1] != '\0')
      return fmt::format("must be {}, without zeros before it, got {}", expected, quoted_name(given));
    const auto [end, error] = std::from_chars(begin, given.data() + given.size(), number);
    if (error == std::errc::result_out_of_range) return "is out of range: " + one_line(given);
    if (error != std::errc() || end != given.data() + given.size())
      return fmt::format("must be {}, got {}", expected, quoted_name(given));
  }
  return "";
}

// A number, a text, or a truth value, which needs no value. `unit` stands for the value in the help: N, TOKENS, FILE.
template <class T>
Option* flag(App& app, const std::string& name, T& value, const std::string& help, const std::string& unit) {
  if constexpr (std::is_same_v<T, bool>)
    return app.add_flag(name, value, help)->default_str(value ? "true" : "");
  else
    return app.add_value(name, value, help)
        ->type_name(unit)
        ->default_str(fmt::format("{}", value))
        ->check(value_error<T>, std::string(name_of(value_type_of<T>(unit))));
}

// A flag that may be given several times.
inline Option* list_flag(App& app, const std::string& name, std::vector<std::string>& values,
                         const std::string& help, const std::string& unit) {
  return app.add_value(name, values, help)->type_name(unit)->several();
}

// One corpus, or several, each with the flag.
inline Option* corpora_flag(App& app, const std::string& name, CorpusPaths& value, const std::string& help,
                            const std::string& unit) {
  const auto anything = [](const std::string&) { return std::string(); };
  return list_flag(app, name, value.list, help, unit)->check(anything, std::string(name_of(ValueType::corpus)));
}

inline Option* model_flag(App& app, std::string& model) {
  return flag(app, "--model", model, "model folder, made by qkv train or published, or a GGUF file", "FOLDER");
}

inline Option* corpus_flag(App& app, std::string& corpus) {
  return flag(app, "--input", corpus,
              "sentence pairs: TSV (source TAB target), or two files with a sentence per line; plain, gzip or zstd",
              corpus_unit);
}

inline Option* strict_flag(App& app, bool& value, const std::string& in_its_place = "an empty line") {
  return app
      .add_flag("--strict", value,
                "stop at a line that cannot be read or tokenized; default: write " + in_its_place + " in its place")
      ->group("Input and output");
}

inline Option* quiet_flag(App& app, bool& value) {
  return app.add_flag("--quiet", value, "print no progress, warnings only")->group("General");
}

inline Option* timings_flag(App& app, bool& value) {
  return app.add_flag("--timings", value, "print seconds, tokens per second and memory at the end, on stderr")
      ->group("General");
}

inline Option* recipe_flag(App& app, std::string& value, const std::string& help) {
  const auto check = [](const std::string& given) {
    const std::vector<std::string_view> names = recipe_names();
    if (std::find(names.begin(), names.end(), given) != names.end()) return std::string();
    const std::string of_transformer = "transformer-" + given;  // big, base
    const bool is_size = std::find(names.begin(), names.end(), of_transformer) != names.end();
    return fmt::format("must be one of {}, got {}{}", name_list(names), quoted_name(given),
                       did_you_mean(is_size ? of_transformer : given, names));
  };
  return flag(app, "--recipe", value, help, "RECIPE")->check(check);
}

// Each thread allocates memory of its own: far more threads than cores are a mistake.
inline Option* threads_flag(App& app, int& value) {
  const auto check = [](const std::string& given) {
    int number = 0;
    std::from_chars(given.data(), given.data() + given.size(), number);
    return number >= 0 && number <= max_threads() ? ""
                                                  : fmt::format("must be 0 to {}, got {}", max_threads(), given);
  };
  return flag(app, "--threads", value, "number of threads; 0: one per core that this process may use", "N")
      ->check(check)
      ->group("General");
}

// One of the names of an enum's values.
template <WithNames Enum>
Option* choice(App& app, const std::string& name, Enum& value, const std::string& help) {
  const auto read = [&value, name, command = "qkv " + app.get_name()](const std::string& given) {
    value = value_named<Enum>(given, command, name);
  };
  return app.add_reader(name, read, help)
      ->type_name(name_list(all_names<Enum>(), "|"))
      ->default_str(std::string(name_of(value)));
}

// The same, or "automatic": none of them.
template <WithNames Enum>
Option* choice(App& app, const std::string& name, std::optional<Enum>& value, const std::string& help) {
  const auto read = [&value, name, command = "qkv " + app.get_name()](const std::string& given) {
    value.reset();
    if (given == "automatic") return;
    std::vector<std::string_view> names = all_names<Enum>();
    names.insert(names.begin(), "automatic");
    require<UsageError>(std::find(names.begin(), names.end(), given) != names.end(), command,
                        "{} must be one of {}, got {}{}", name, name_list(names), quoted_name(given),
                        did_you_mean(given, names));
    value = value_named<Enum>(given, command, name);
  };
  return app.add_reader(name, read, help)
      ->type_name("automatic|" + name_list(all_names<Enum>(), "|"))
      ->default_str("automatic");
}

// The attention variants of the layers: an attention pattern, or those of both self-attentions.
template <class Pattern>
Option* variant_flag(App& app, const std::string& name, Pattern& value, const std::string& help,
                     const std::string& unit) {
  const auto read = [&value, where = "qkv " + app.get_name() + ": " + name](const std::string& given) {
    value = attention_pattern(given, where);
  };
  const auto anything = [](const std::string&) { return std::string(); };
  return app.add_reader(name, read, help)
      ->type_name(unit)
      ->default_str(to_string(value))
      ->check(anything, std::string(name_of(ValueType::variant)));
}

inline Option* duration_flag(App& app, const std::string& name, Seconds& value, const std::string& help,
                             const std::string& unit) {
  const auto read = [&value, name, command = "qkv " + app.get_name()](const std::string& given) {
    value = seconds_from_text(given, command, name);
  };
  return app.add_reader(name, read, help)->type_name(unit)->default_str(duration_text(value));
}

template <class T>
constexpr bool IsOptional = false;
template <class T>
constexpr bool IsOptional<std::optional<T>> = true;

struct AddFlags {
  App& app;
  std::vector<Option*>& flags;  // those added, in their order

  template <class T, class... Rest>
  void operator()(const Setting& setting, T& value, const Rest&...) {
    const std::string name = std::string("--") + setting.name;
    if constexpr (WithNames<T> || IsOptional<T>) {
      flags.push_back(choice(app, name, value, setting.help));
    } else if constexpr (std::is_assignable_v<T&, AttentionPattern>) {
      flags.push_back(variant_flag(app, name, value, setting.help, setting.unit));
    } else if constexpr (std::is_same_v<T, CorpusPaths>) {
      flags.push_back(corpora_flag(app, name, value, setting.help, setting.unit));
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      flags.push_back(list_flag(app, name, value, setting.help, setting.unit));
    } else if constexpr (std::is_same_v<T, Seconds>) {
      flags.push_back(duration_flag(app, name, value, setting.help, setting.unit));
    } else {
      flags.push_back(flag(app, name, value, setting.help, setting.unit));
    }
  }
};

// The names, without dashes, of the flags that were given.
inline std::set<std::string> given_names(const std::vector<Option*>& flags) {
  std::set<std::string> names;
  for (const Option* f : flags)
    if (f->count() > 0) names.insert(f->get_name().substr(2));
  return names;
}

// Sets the variables of the flags that were given once more, after their defaults were.
inline void set_given_again(const std::vector<Option*>& flags) {
  for (Option* f : flags)
    if (f->count() > 0) f->run_callback();
}

}  // namespace qkv::cli
