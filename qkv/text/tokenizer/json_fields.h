// The fields of an object in tokenizer.json, which is not trusted: each is checked, and errors name it.
//
//     const JsonFields split(json["pre_tokenizer"], "tokenizer.json: 'pre_tokenizer'");
//     split.text("behavior")                                             // an InputError if it is missing or no string
#pragma once

#include "qkv/base/error.h"
#include "qkv/base/json.h"
#include "qkv/base/names.h"
#include "qkv/text/utf8.h"

namespace qkv {

class JsonFields {
 public:
  JsonFields(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    require<InputError>(json.is_object(), where_, "must be an object, got {}", shown_json(json));
  }

  const std::string& where() const { return where_; }
  bool has(const char* key) const { return json_.contains(key) && !json_[key].is_null(); }
  const Json& get(const char* key) const {
    require<InputError>(has(key), where_, "there is no '{}'", key);
    return json_[key];
  }
  std::string text(const char* key) const {
    require<InputError>(get(key).is_string(), where_, "'{}' must be a string, got {}", key, shown_json(get(key)));
    return get(key).get<std::string>();
  }
  std::string text(const char* key, const std::string& absent) const { return has(key) ? text(key) : absent; }
  bool flag(const char* key, bool absent) const {
    if (!has(key)) return absent;
    require<InputError>(get(key).is_boolean(), where_, "'{}' must be true or false, got {}", key,
                        shown_json(get(key)));
    return get(key).get<bool>();
  }
  int64_t integer(const char* key) const { return as_integer(get(key), key); }
  int64_t integer(const char* key, int64_t absent) const { return has(key) ? integer(key) : absent; }
  const Json& list(const char* key) const {
    require<InputError>(get(key).is_array(), where_, "'{}' must be a list, got {}", key, shown_json(get(key)));
    return get(key);
  }
  JsonFields object(const char* key) const { return {get(key), where_ + ": '" + key + "'"}; }
  // The items of a list of objects.
  std::vector<JsonFields> objects(const char* key) const {
    std::vector<JsonFields> out;
    for (const Json& item : list(key)) out.emplace_back(item, fmt::format("{}: '{}' {}", where_, key, out.size()));
    return out;
  }
  // 0 to 2^31 - 1.
  int64_t as_integer(const Json& value, const char* key) const {
    constexpr int64_t largest = INT32_MAX;
    const bool fits = value.is_number_integer() &&
                      (!value.is_number_unsigned() || value.get<uint64_t>() <= static_cast<uint64_t>(largest)) &&
                      value.get<int64_t>() >= 0 && value.get<int64_t>() <= largest;
    require<InputError>(fits, where_, "'{}' must be an integer from 0 to {}, got {}", key, largest,
                        shown_json(value));
    return value.get<int64_t>();
  }
  // One character, which is a code point.
  std::string character(const char* key, const std::string& absent) const {
    const std::string value = text(key, absent);
    require<InputError>(utf8_length(value) == 1, where_, "'{}' must be one character, got {}", key,
                        quoted_name(value));
    return value;
  }
  [[noreturn]] void unknown_type(std::string_view kind) const {
    fail<InputError>(where_, "{} of type {} are not supported", kind, quoted_name(text("type")));
  }

 private:
  const Json& json_;
  std::string where_;
};

}  // namespace qkv
