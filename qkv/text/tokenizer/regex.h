// Regular expressions in the syntax of tokenizer.json, which is Oniguruma's, over UTF-8.
//
//     const Regex digits(R"(\p{N}{1,3})", "tokenizer.json");
//     digits.for_each_match("a 1234", [](size_t begin, size_t end) { ... });            // [2, 5), [5, 6)
//
// Matches do not overlap, and are not empty. Errors: InputError for an invalid expression and for one that calls
// groups, \g<...>; TextError for a text on which it takes too many steps, more than 2 million plus 200 for each byte, or
// too long, more than about a second of processor time plus 10 microseconds for each byte.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "qkv/base/threads.h"

namespace qkv {

class Regex {
 public:
  Regex(const std::string& expression, const std::string& where);

  void for_each_match(std::string_view text, FunctionRef<void(size_t begin, size_t end)> function) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace qkv
