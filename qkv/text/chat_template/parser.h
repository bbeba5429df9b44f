// Tokens to the syntax tree. The parsers of expressions and of statements share a cursor over the tokens.
//
//     const std::shared_ptr<const Template> parsed = parse_template(text);
//
// Trees are at most max_tree_depth deep, so that walking one cannot overflow the stack.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qkv/text/chat_template/lexer.h"
#include "qkv/text/chat_template/syntax.h"

namespace qkv::jinja {

inline constexpr int max_tree_depth = 200;

// TemplateError with a line.
std::shared_ptr<const Template> parse_template(std::string_view text);

class TokenCursor {
 public:
  explicit TokenCursor(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  // What the parser is within, expressions and statements.
  class Deeper {
   public:
    explicit Deeper(TokenCursor& tokens) : tokens_(tokens) {
      if (tokens_.depth_ >= max_tree_depth) tokens_.too_deep();
      ++tokens_.depth_;
    }
    ~Deeper() { --tokens_.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    TokenCursor& tokens_;
  };

  const Token& current() const { return tokens_[at_]; }
  const Token& following() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Token next() {
    const Token token = current();
    if (token.kind != Token::Kind::end) ++at_;
    return token;
  }
  bool skip_symbol(std::string_view symbol);
  bool skip_name(std::string_view name);
  Token expect(Token::Kind kind, std::string_view what);
  void expect_symbol(std::string_view symbol);
  void expect_name(std::string_view name);
  [[noreturn]] void unexpected(std::string_view expected) const;

 private:
  [[noreturn]] void too_deep() const;

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
};

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenCursor& tokens) : tokens_(tokens) {}

  ExpressionPtr expression();                            // with an inline if
  ExpressionPtr expression_list(bool inline_if = true);  // "a, b" is a tuple
  ExpressionPtr filters_of_block();                      // {% filter NAME | ... %}
  ExpressionPtr filters_of_set();                        // the same, after a target; none: null
  Target target(bool is_set);                            // a, b; namespace attributes in {% set %} only

  // Names that the body of the macro that is being parsed mentions.
  struct Mentioned {
    bool rest = false, keyword_rest = false;
  };
  Mentioned mentioned = {};

 private:
  ExpressionPtr either();
  ExpressionPtr both();
  ExpressionPtr negation();
  ExpressionPtr comparison();
  ExpressionPtr sum();
  ExpressionPtr concatenation();
  ExpressionPtr product();
  ExpressionPtr power();
  ExpressionPtr unary(bool with_filters = true);
  ExpressionPtr primary();
  ExpressionPtr name();
  ExpressionPtr string();
  ExpressionPtr parenthesised();
  ExpressionPtr list();
  ExpressionPtr dict();
  ExpressionPtr postfix(ExpressionPtr value);
  ExpressionPtr subscript(ExpressionPtr object);
  ExpressionPtr filters_and_tests(ExpressionPtr value);
  ExpressionPtr filters(ExpressionPtr value);
  ExpressionPtr filter(ExpressionPtr value);
  ExpressionPtr test(ExpressionPtr value);
  ExpressionPtr call(ExpressionPtr function);
  CallArguments arguments();
  void argument(CallArguments& out);
  std::string_view dotted_name();
  bool at_list_end() const;
  Target single_target(bool is_set);
  Target target_items(bool is_set, bool in_parentheses);

  template <class Parse, class Accepts>
  ExpressionPtr left_associative(Parse parse, Accepts accepts);

  TokenCursor& tokens_;
};

}  // namespace qkv::jinja
