// Errors name the operation that failed, what it was given and what it expected.
//
//     require(k.dim(2) == v.dim(2), "attention", "k and v must have the same number of keys S: k is {}, v is {}",
//             describe("BGSD", k.shape()), describe("BGSE", v.shape()));
//
// Callers of the library catch Error. InputError is for data from outside (a file, a line, a stream); UsageError for
// an invalid flag or setting. The command line exits with 1 for the first two
// and with 2 for the third.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace qkv {

class Error : public std::runtime_error {
 public:
  // what() is "op: message", with control characters as \x1b.
  Error(std::string_view op, std::string_view message);
  const std::string& op() const { return op_; }

 private:
  std::string op_;
};

class InputError : public Error {
  using Error::Error;
};

class UsageError : public Error {
  using Error::Error;
};

template <class Kind = Error, class... Args>
[[noreturn]] void fail(std::string_view op, fmt::format_string<Args...> format, Args&&... args) {
  throw Kind(op, fmt::format(format, std::forward<Args>(args)...));
}

template <class Kind = Error, class... Args>
void require(bool holds, std::string_view op, fmt::format_string<Args...> format, Args&&... args) {
  if (!holds) [[unlikely]]
    fail<Kind>(op, format, std::forward<Args>(args)...);
}

}  // namespace qkv
