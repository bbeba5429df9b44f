// Values as text: str(), repr(), and the JSON of tojson.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "qkv/text/chat_template/heap.h"
#include "qkv/text/chat_template/value.h"

namespace qkv::jinja {

// str(): what {{ value }} prints. Text is not copied.
std::string_view text_of(Heap& heap, const Value& value);
std::string_view repr_of(Heap& heap, const Value& value);

// As json.dumps() of Python writes it.
struct JsonStyle {
  bool ascii = false;                      // other characters as \uXXXX
  std::optional<std::string> indent = {};  // of a level; none: on one line
  std::string item_separator = ", ", name_separator = ": ";
  bool sorted = false;
};
std::string_view json_of(Heap& heap, const Value& value, const JsonStyle& style);

}  // namespace qkv::jinja
