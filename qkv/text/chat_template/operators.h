// The operators of the template language, with the meaning that Python gives them. TemplateError for operands they do
// not have, and for integers of more than 64 bits.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "qkv/text/chat_template/heap.h"
#include "qkv/text/chat_template/syntax.h"
#include "qkv/text/chat_template/value.h"

namespace qkv::jinja {

bool truth(const Value& value);
bool equal(Heap& heap, const Value& a, const Value& b);
bool less(Heap& heap, const Value& a, const Value& b);
bool compare(Heap& heap, Comparator comparator, const Value& a, const Value& b);
bool contains(Heap& heap, const Value& container, const Value& item);

Value arithmetic(Heap& heap, Operator op, const Value& a, const Value& b);
Value negated(const Value& value);
double as_double(const Value& number);
bool is_number(const Value& value);                             // a boolean is one
std::optional<int64_t> as_integer(const Value& value);          // an integer or a boolean
int64_t integer_of(const Value& value, std::string_view what);  // or an error
std::string_view text_value(const Value& value, std::string_view what);

// len(): of text in code points.
int64_t length_of(Heap& heap, const Value& value);
bool is_iterable(const Value& value);
// What a loop goes through: characters, items, keys. Uses a generator up.
std::vector<Value> items_of(Heap& heap, const Value& value);

// object[index], none if there is no such item or the object has no items. Errors for an undefined object only.
std::optional<Value> item_of(Heap& heap, const Value& object, const Value& index);
const Value* find_item(Heap& heap, const Dict& dict, const Value& key);
void set_item(Heap& heap, Dict& dict, const Value& key, const Value& value);
// object[start:stop:step]; none: not given.
Value slice_of(Heap& heap, const Value& object, const std::optional<int64_t>& start,
               const std::optional<int64_t>& stop, const std::optional<int64_t>& step);

[[noreturn]] void undefined_used(const Undefined& value);
void require_defined(const Value& value);

}  // namespace qkv::jinja
