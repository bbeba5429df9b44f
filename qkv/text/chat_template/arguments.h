// The arguments of a call, and a call's arguments by the names of its parameters.
//
//     const Bound given = match_arguments("indent", arguments, {"width", "first", "blank"});
//     const int64_t width = given.integer(0, 4);
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "qkv/text/chat_template/value.h"

namespace qkv::jinja {

struct Arguments {
  std::vector<Value> positional = {};
  std::vector<std::pair<std::string_view, Value>> keywords = {};
};

class Bound {
 public:
  static constexpr size_t max_parameters = 4;
  explicit Bound(std::span<const std::string_view> names) : names_(names) {}

  const std::optional<Value>& operator[](size_t i) const { return values_[i]; }
  std::optional<Value>& operator[](size_t i) { return values_[i]; }
  const Value& required(size_t i) const;
  Value value(size_t i, const Value& missing) const { return values_[i].value_or(missing); }
  bool boolean(size_t i, bool missing) const;
  int64_t integer(size_t i, int64_t missing) const;
  std::string_view text(size_t i, std::string_view missing) const;
  bool is_none(size_t i) const;  // or not given

 private:
  std::span<const std::string_view> names_;
  std::array<std::optional<Value>, max_parameters> values_;
};

// TemplateError for more arguments than parameters, and for names that no parameter has or that are given twice.
Bound match_arguments(std::string_view callee, const Arguments& arguments,
                      std::span<const std::string_view> parameters);

}  // namespace qkv::jinja
