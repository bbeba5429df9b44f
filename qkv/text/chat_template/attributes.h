// object.name and object[index], and the methods of text, lists, dicts and loops. What would change an object is not
// among them, as in the immutable sandbox of Jinja2.
#pragma once

#include <string_view>

#include "qkv/text/chat_template/arguments.h"
#include "qkv/text/chat_template/heap.h"
#include "qkv/text/chat_template/value.h"

namespace qkv::jinja {

// A method first, then an item; undefined if there is neither. An error if the object is undefined.
Value attribute_of(Heap& heap, const Value& object, std::string_view name);
// An item first.
Value subscript_of(Heap& heap, const Value& object, const Value& index);

Value call_method(Heap& heap, const BoundMethod& method, const Arguments& arguments);

// Methods of text, which filters share.
bool is_text_method(std::string_view name);
Value call_text_method(Heap& heap, std::string_view text, std::string_view name, const Arguments& arguments);
std::string_view replaced(Heap& heap, std::string_view text, std::string_view old_part, std::string_view new_part,
                          int64_t limit);

// The loop of {% for %}.
bool advance(Heap& heap, Loop& loop);  // to the next item, if there is one
std::optional<Value> loop_attribute(Heap& heap, Loop& loop, std::string_view name);
bool is_loop_method(std::string_view name);
Value call_loop_method(Heap& heap, Loop& loop, std::string_view name, const Arguments& arguments);

}  // namespace qkv::jinja
