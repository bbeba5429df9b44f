#include "qkv/base/json_fields.h"

namespace qkv {

JsonFields::JsonFields(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
  require<InputError>(json.is_object(), where_, "must be an object, got {}", shown_json(json));
}

bool JsonFields::has(const char* key) const {
  const Json* value = json_.find(key);
  return value && !value->is_null();
}

const Json& JsonFields::get(const char* key) const {
  require<InputError>(has(key), where_, "there is no '{}'", key);
  return json_[key];
}

std::string JsonFields::text(const char* key) const {
  const Json& value = get(key);
  require<InputError>(value.is_string(), where_, "'{}' must be a string, got {}", key, shown_json(value));
  return value.get<std::string>();
}

bool JsonFields::flag(const char* key) const {
  const Json& value = get(key);
  require<InputError>(value.is_boolean(), where_, "'{}' must be true or false, got {}", key, shown_json(value));
  return value.get<bool>();
}

int64_t JsonFields::integer(const char* key, const IntegerRange& within) const {
  return as_integer(get(key), key, within);
}

double JsonFields::number(const char* key) const {
  const Json& value = get(key);
  require<InputError>(value.is_number(), where_, "'{}' must be a number, got {}", key, shown_json(value));
  return value.get<double>();
}

std::optional<double> JsonFields::number_or_none(const char* key) const {
  return has(key) ? std::optional(number(key)) : std::nullopt;
}

std::optional<double> JsonFields::number_or_null(const char* key) const {
  require<InputError>(json_.contains(key), where_, "there is no '{}'", key);
  return number_or_none(key);
}

const Json& JsonFields::list(const char* key) const {
  const Json& value = get(key);
  require<InputError>(value.is_array(), where_, "'{}' must be a list, got {}", key, shown_json(value));
  return value;
}

std::vector<JsonFields> JsonFields::objects(const char* key) const {
  std::vector<JsonFields> out;
  for (const Json& item : list(key)) out.emplace_back(item, fmt::format("{}: '{}' {}", where_, key, out.size()));
  return out;
}

int64_t JsonFields::as_integer(const Json& value, const char* key, const IntegerRange& within) const {
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() || value.get<uint64_t>() <= static_cast<uint64_t>(within.to)) &&
                    value.get<int64_t>() >= within.from && value.get<int64_t>() <= within.to;
  require<InputError>(fits, where_, "'{}' must be an integer from {} to {}, got {}", key, within.from, within.to,
                      shown_json(value));
  return value.get<int64_t>();
}

void JsonFields::unknown_type(std::string_view kind) const {
  fail<InputError>(where_, "{} of type {} are not supported", kind, quoted_name(text("type")));
}

}  // namespace qkv
