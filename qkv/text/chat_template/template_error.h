// An error of a template, before its file and its line are known; ChatTemplate reports both.
#pragma once

#include <string>
#include <utility>

#include <fmt/core.h>

namespace qkv::jinja {

struct TemplateError {
  std::string message;
  int line = 0;  // 0: that of what is evaluated
};

template <class... Args>
[[noreturn]] void template_error(fmt::format_string<Args...> format, Args&&... args) {
  throw TemplateError{fmt::format(format, std::forward<Args>(args)...)};
}

template <class... Args>
[[noreturn]] void template_error_at(int line, fmt::format_string<Args...> format, Args&&... args) {
  throw TemplateError{fmt::format(format, std::forward<Args>(args)...), line};
}

}  // namespace qkv::jinja
