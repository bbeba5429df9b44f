// Filters, value | name(arguments), and tests, value is name(arguments), as Jinja2 has them.
#pragma once

#include <functional>
#include <string_view>

#include "qkv/text/chat_template/arguments.h"
#include "qkv/text/chat_template/heap.h"
#include "qkv/text/chat_template/value.h"

namespace qkv::jinja {

// A filter with its arguments, for a table of them.
struct FilterCall {
  Heap& heap;
  const Value& value;
  std::string_view name;
  const Bound& given;  // none of those that read all arguments themselves
  const Arguments& arguments;
};

struct FilterEntry {
  static constexpr std::string_view any = "*";  // the filter reads all arguments itself
  std::string_view name;
  Value (*call)(const FilterCall&);
  std::array<std::string_view, 4> parameters;
};

std::span<const FilterEntry> text_filters();
std::span<const FilterEntry> number_filters();
std::span<const FilterEntry> sequence_filters();

bool is_filter(std::string_view name);
bool is_test(std::string_view name);
Value apply_filter(Heap& heap, std::string_view name, const Value& value, const Arguments& arguments);
bool apply_test(Heap& heap, std::string_view name, const Value& value, const Arguments& arguments);

// "message.content" as a function of items; none: the item itself.
using ValueFunction = std::function<Value(const Value&)>;
ValueFunction attribute_getter(Heap& heap, const std::optional<Value>& path,
                               const std::optional<Value>& missing = {});

}  // namespace qkv::jinja
