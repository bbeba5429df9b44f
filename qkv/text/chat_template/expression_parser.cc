#include <algorithm>
#include <array>
#include <optional>

#include "qkv/text/chat_template/expression_maker.h"
#include "qkv/text/chat_template/parser.h"

namespace qkv::jinja {
namespace {

using Kind = Token::Kind;

std::optional<Comparator> comparator_of(const Token& token) {
  if (token.kind != Kind::symbol) return {};
  if (token.text == "==") return Comparator::equal;
  if (token.text == "!=") return Comparator::not_equal;
  if (token.text == "<") return Comparator::less;
  if (token.text == "<=") return Comparator::less_equal;
  if (token.text == ">") return Comparator::greater;
  if (token.text == ">=") return Comparator::greater_equal;
  return {};
}

}  // namespace

// a OP b OP c as (a OP b) OP c.
template <class Parse, class Accepts>
ExpressionPtr ExpressionParser::left_associative(Parse parse, Accepts accepts) {
  ExpressionPtr left = parse();
  while (const std::optional<Operator> op = accepts(tokens_.current())) {
    const int line = tokens_.next().line;
    ExpressionPtr right = parse();
    const int depth = std::max(depth_of(left), depth_of(right));
    left = make_expression(line, Binary{*op, std::move(left), std::move(right)}, depth);
  }
  return left;
}

ExpressionPtr ExpressionParser::expression() {
  const TokenCursor::Deeper deeper(tokens_);
  const int line = tokens_.current().line;
  ExpressionPtr value = either();
  while (tokens_.skip_name("if")) {
    ExpressionPtr condition = either();
    ExpressionPtr otherwise = tokens_.skip_name("else") ? expression() : nullptr;
    const int depth = std::max({depth_of(value), depth_of(condition), depth_of(otherwise)});
    value = make_expression(line, Conditional{std::move(condition), std::move(value), std::move(otherwise)}, depth);
  }
  return value;
}

ExpressionPtr ExpressionParser::expression_list(bool inline_if) {
  const int line = tokens_.current().line;
  std::vector<ExpressionPtr> items;
  bool is_tuple = false;
  while (!at_list_end()) {
    items.push_back(inline_if ? expression() : either());
    if (!tokens_.skip_symbol(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && items.empty()) tokens_.unexpected("an expression");
  if (!is_tuple) return std::move(items.front());
  const int depth = depth_of(items);
  return make_expression(line, ListDisplay{true, std::move(items)}, depth);
}

bool ExpressionParser::at_list_end() const {
  const Token& token = tokens_.current();
  return token.kind == Kind::print_end || token.kind == Kind::block_end || token.is_symbol(")");
}

ExpressionPtr ExpressionParser::either() {
  return left_associative(
      [&] { return both(); },
      [](const Token& token) { return token.is_name("or") ? std::optional(Operator::logical_or) : std::nullopt; });
}

ExpressionPtr ExpressionParser::both() {
  return left_associative([&] { return negation(); },
                          [](const Token& token) {
                            return token.is_name("and") ? std::optional(Operator::logical_and) : std::nullopt;
                          });
}

ExpressionPtr ExpressionParser::negation() {
  const int line = tokens_.current().line;
  if (!tokens_.skip_name("not")) return comparison();
  const TokenCursor::Deeper deeper(tokens_);
  ExpressionPtr operand = negation();
  const int depth = depth_of(operand);
  return make_expression(line, Unary{UnaryOperator::logical_not, std::move(operand)}, depth);
}

ExpressionPtr ExpressionParser::comparison() {
  const int line = tokens_.current().line;
  ExpressionPtr first = sum();
  std::vector<std::pair<Comparator, ExpressionPtr>> rest;
  for (;;) {
    if (const auto comparator = comparator_of(tokens_.current())) {
      tokens_.next();
      rest.emplace_back(*comparator, sum());
    } else if (tokens_.skip_name("in")) {
      rest.emplace_back(Comparator::in, sum());
    } else if (tokens_.current().is_name("not") && tokens_.following().is_name("in")) {
      tokens_.next(), tokens_.next();
      rest.emplace_back(Comparator::not_in, sum());
    } else {
      break;
    }
  }
  if (rest.empty()) return first;
  int depth = depth_of(first);
  for (const auto& [comparator, operand] : rest) depth = std::max(depth, depth_of(operand));
  return make_expression(line, Comparison{std::move(first), std::move(rest)}, depth);
}

ExpressionPtr ExpressionParser::sum() {
  return left_associative([&] { return concatenation(); },
                          [](const Token& token) -> std::optional<Operator> {
                            if (token.is_symbol("+")) return Operator::add;
                            if (token.is_symbol("-")) return Operator::subtract;
                            return {};
                          });
}

ExpressionPtr ExpressionParser::concatenation() {
  const int line = tokens_.current().line;
  std::vector<ExpressionPtr> items;
  do items.push_back(product());
  while (tokens_.skip_symbol("~"));
  if (items.size() == 1) return std::move(items.front());
  const int depth = depth_of(items);
  return make_expression(line, Concatenation{std::move(items)}, depth);
}

ExpressionPtr ExpressionParser::product() {
  return left_associative([&] { return power(); },
                          [](const Token& token) -> std::optional<Operator> {
                            if (token.is_symbol("*")) return Operator::multiply;
                            if (token.is_symbol("/")) return Operator::divide;
                            if (token.is_symbol("//")) return Operator::floor_divide;
                            if (token.is_symbol("%")) return Operator::modulo;
                            return {};
                          });
}

ExpressionPtr ExpressionParser::power() {
  return left_associative(
      [&] { return unary(); },
      [](const Token& token) { return token.is_symbol("**") ? std::optional(Operator::power) : std::nullopt; });
}

ExpressionPtr ExpressionParser::unary(bool with_filters) {
  const int line = tokens_.current().line;
  ExpressionPtr value;
  if (tokens_.current().is_symbol("-") || tokens_.current().is_symbol("+")) {
    const TokenCursor::Deeper deeper(tokens_);
    const UnaryOperator op = tokens_.next().text == "-" ? UnaryOperator::minus : UnaryOperator::plus;
    value = unary(false);
    const int depth = depth_of(value);
    value = make_expression(line, Unary{op, std::move(value)}, depth);
  } else {
    value = primary();
  }
  value = postfix(std::move(value));
  return with_filters ? filters_and_tests(std::move(value)) : std::move(value);
}

ExpressionPtr ExpressionParser::primary() {
  const Token& token = tokens_.current();
  switch (token.kind) {
    case Kind::name: return name();
    case Kind::string: return string();
    case Kind::integer: tokens_.next(); return make_expression(token.line, Literal{token.integer});
    case Kind::floating: tokens_.next(); return make_expression(token.line, Literal{token.floating});
    default: break;
  }
  if (token.is_symbol("(")) return parenthesised();
  if (token.is_symbol("[")) return list();
  if (token.is_symbol("{")) return dict();
  tokens_.unexpected("an expression");
}

ExpressionPtr ExpressionParser::name() {
  const Token token = tokens_.next();
  if (token.text == "true" || token.text == "True") return make_expression(token.line, Literal{true});
  if (token.text == "false" || token.text == "False") return make_expression(token.line, Literal{false});
  if (token.text == "none" || token.text == "None") return make_expression(token.line, Literal{None{}});
  if (token.text == "varargs") mentioned.rest = true;
  if (token.text == "kwargs") mentioned.keyword_rest = true;
  return make_expression(token.line, Name{token.text});
}

// Adjacent strings are one.
ExpressionPtr ExpressionParser::string() {
  const Token token = tokens_.next();
  if (tokens_.current().kind != Kind::string) return make_expression(token.line, Literal{token.text});
  std::vector<ExpressionPtr> parts;
  parts.push_back(make_expression(token.line, Literal{token.text}));
  while (tokens_.current().kind == Kind::string)
    parts.push_back(make_expression(token.line, Literal{tokens_.next().text}));
  return make_expression(token.line, Concatenation{std::move(parts)}, 1);
}

ExpressionPtr ExpressionParser::parenthesised() {
  const TokenCursor::Deeper deeper(tokens_);
  const int line = tokens_.next().line;
  if (tokens_.skip_symbol(")")) return make_expression(line, ListDisplay{true, {}});
  ExpressionPtr value = expression_list();
  tokens_.expect_symbol(")");
  return value;
}

ExpressionPtr ExpressionParser::list() {
  const TokenCursor::Deeper deeper(tokens_);
  const int line = tokens_.next().line;
  std::vector<ExpressionPtr> items;
  while (!tokens_.current().is_symbol("]")) {
    items.push_back(expression());
    if (!tokens_.skip_symbol(",")) break;
  }
  tokens_.expect_symbol("]");
  const int depth = depth_of(items);
  return make_expression(line, ListDisplay{false, std::move(items)}, depth);
}

ExpressionPtr ExpressionParser::dict() {
  const TokenCursor::Deeper deeper(tokens_);
  const int line = tokens_.next().line;
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> items;
  int depth = 0;
  while (!tokens_.current().is_symbol("}")) {
    ExpressionPtr key = expression();
    tokens_.expect_symbol(":");
    items.emplace_back(std::move(key), expression());
    depth = std::max({depth, depth_of(items.back().first), depth_of(items.back().second)});
    if (!tokens_.skip_symbol(",")) break;
  }
  tokens_.expect_symbol("}");
  return make_expression(line, DictDisplay{std::move(items)}, depth);
}

}  // namespace qkv::jinja
