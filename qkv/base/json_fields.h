// The fields of a JSON object that is not trusted: each is checked, and errors name it.
//
//     const JsonFields split(json["pre_tokenizer"], "tokenizer.json: 'pre_tokenizer'");
//     split.text("behavior")                                   // InputError if it is missing or not a string
//     split.integer("max_length", 512)                         // 512 if it is missing or null
//     split.integer("step", JsonFields::any_count)             // up to 2^63 - 1
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/base/error.h"
#include "qkv/base/json.h"
#include "qkv/base/names.h"

namespace qkv {

struct IntegerRange {
  int64_t from = 0, to = INT32_MAX;
};

class JsonFields {
 public:
  static constexpr IntegerRange any_count = {0, INT64_MAX};

  // json outlives it.
  JsonFields(const Json& json, std::string where);

  const std::string& where() const { return where_; }
  bool has(const char* key) const;  // and not null
  const Json& get(const char* key) const;

  std::string text(const char* key) const;
  std::string text(const char* key, const std::string& absent) const { return has(key) ? text(key) : absent; }
  bool flag(const char* key) const;
  bool flag(const char* key, bool absent) const { return has(key) ? flag(key) : absent; }
  int64_t integer(const char* key, const IntegerRange& within = {}) const;
  int64_t integer(const char* key, int64_t absent, const IntegerRange& within = {}) const {
    return has(key) ? integer(key, within) : absent;
  }
  double number(const char* key) const;
  double number(const char* key, double absent) const { return has(key) ? number(key) : absent; }
  std::optional<double> number_or_none(const char* key) const;
  std::optional<double> number_or_null(const char* key) const;  // InputError if it is missing

  const Json& list(const char* key) const;
  JsonFields object(const char* key) const { return {get(key), where_ + ": '" + key + "'"}; }
  std::vector<JsonFields> objects(const char* key) const;  // a list of them

  // A value that is not a field of its own; errors call it `key`.
  int64_t as_integer(const Json& value, const char* key, const IntegerRange& within = {}) const;

  // Names what has a type, such as "decoders", and the type.
  [[noreturn]] void unknown_type(std::string_view kind) const;

 private:
  const Json& json_;
  std::string where_;
};

}  // namespace qkv
