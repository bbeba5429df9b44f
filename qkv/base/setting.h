// The name, unit, help text and range of a setting. Flags, configuration files, Python and their help are generated
// from tables of settings, and so are the checks of ranges. A table is a function that calls visitor(Setting, field, ...)
// for each setting: decode/option_table.h, train/option_table.h, model/architecture_table.h.
//
//     visitor(Setting{"top-p", "P", "nucleus sampling", {.from = 0, .to = 1}}, options.top_p);
//     visit_sampling(options, CheckRanges{"sampling"});      // UsageError: sampling: top-p must be 0 to 1, got 2
#pragma once

#include <chrono>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "qkv/base/error.h"

namespace qkv {

// The numbers that a setting may have: finite ones within these bounds.
struct Range {
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  double from = -infinity, above = -infinity;  // above: the bound itself is excluded
  double to = infinity, below = infinity;      // below: the bound itself is excluded

  constexpr bool contains(double x) const {
    return x > -infinity && x < infinity && x >= from && x > above && x <= to && x < below;
  }
};
inline constexpr Range not_negative = {.from = 0}, below_one = {.from = 0, .below = 1};
// What a number within it is: "0 to 1", "at least 0 and less than 1", "a finite number".
std::string to_string(const Range& range);

struct Setting {
  const char* name = "";  // with dashes, as on the command line
  const char* unit = "";  // of its value: TOKENS, RATE; empty if the value is one of a list of names
  const char* help = "";
  Range range = {};          // of a number
  const char* heading = "";  // of a group of flags in the help
  const char* key = "";      // its name in the files of other programs
};

// UsageError for a number that is out of its range. `where` names the operation.
struct CheckRanges {
  std::string_view where;

  template <class T, class... Rest>
  void operator()(const Setting& setting, const T& value, const Rest&...) const {
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
      if (!setting.range.contains(static_cast<double>(value)))
        fail<UsageError>(where, "{} must be {}, got {}", setting.name, to_string(setting.range), value);
  }
  template <class Count, class Unit, class... Rest>
  void operator()(const Setting& setting, const std::chrono::duration<Count, Unit>& time, const Rest&...) const {
    (*this)(setting, time.count());
  }
};

}  // namespace qkv
