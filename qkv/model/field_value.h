// A field of a configuration as a value of JSON: how it is written to config.json, and compared.
#pragma once

#include <optional>
#include <type_traits>

#include "qkv/base/json.h"
#include "qkv/base/names.h"
#include "qkv/model/transformer_config.h"

namespace qkv {

template <class T>
requires std::is_arithmetic_v<T> Json field_value(T value) { return value; }
template <WithNames Enum>
Json field_value(Enum value) {
  return name_of(value);
}
inline Json field_value(const AttentionPattern& value) { return to_string(value); }
inline Json field_value(const SelfAttention& value) { return to_string(value); }
template <class T>
Json field_value(const std::optional<T>& value) {
  return value ? field_value(*value) : Json();
}

}  // namespace qkv
