// The pattern that Replace and Split of tokenizer.json search for: a string or a regular expression.
#pragma once

#include <optional>
#include <string>

#include "qkv/text/tokenizer/regex.h"

namespace qkv {

class JsonFields;

class Pattern {
 public:
  explicit Pattern(std::string text) : text_(std::move(text)) {}
  explicit Pattern(const Regex& regex) : regex_(regex) {}

  void for_each_match(std::string_view text, FunctionRef<void(size_t begin, size_t end)> function) const;

 private:
  std::string text_;
  std::optional<Regex> regex_;
};

// Reads {"pattern": {"String": " "}} or {"pattern": {"Regex": " +"}}.
Pattern read_pattern(const JsonFields& fields);

}  // namespace qkv
