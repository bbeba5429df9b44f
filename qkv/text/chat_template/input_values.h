// JSON as values of a template.
#pragma once

#include "qkv/base/json.h"
#include "qkv/text/chat_template/heap.h"
#include "qkv/text/chat_template/value.h"

namespace qkv::jinja {

// Text stays in `json`, which must outlive the value. TemplateError, with `what`, for text that is not UTF-8.
Value value_of(Heap& heap, const Json& json, std::string_view what);

}  // namespace qkv::jinja
