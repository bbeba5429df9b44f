// Template source to tokens, as Jinja2 does with trim_blocks and lstrip_blocks: white space around tags is removed here,
// comments are dropped, and {% raw %} becomes text.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace qkv::jinja {

struct Token {
  enum class Kind {
    text,
    block_begin,
    block_end,
    print_begin,
    print_end,
    name,
    string,
    integer,
    floating,
    symbol,
    end  // of the source
  };
  Kind kind;
  std::string_view text = {};  // a string: its value
  int line = 0;
  int64_t integer = 0;
  double floating = 0;

  bool is_symbol(std::string_view symbol) const { return kind == Kind::symbol && text == symbol; }
  bool is_name(std::string_view name) const { return kind == Kind::name && text == name; }
};

// Line breaks as "\n", without the last one.
std::string normalised_source(std::string_view text);

// The tokens are views of `source` and of `strings`. TemplateError for what is no token. The last one is `end`.
std::vector<Token> tokens_of(std::string_view source, std::deque<std::string>& strings);

}  // namespace qkv::jinja
