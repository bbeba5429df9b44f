// The functions that a template may call: range, namespace, dict, raise_exception, strftime_now.
#pragma once

#include <ctime>
#include <span>
#include <string_view>

#include "qkv/text/chat_template/arguments.h"
#include "qkv/text/chat_template/heap.h"
#include "qkv/text/chat_template/value.h"

namespace qkv::jinja {

struct FunctionCall {
  Heap& heap;
  const Arguments& arguments;
  std::time_t now;
};

struct Function {
  std::string_view name;
  Value (*call)(const FunctionCall&);
};

std::span<const Function> functions();

}  // namespace qkv::jinja
