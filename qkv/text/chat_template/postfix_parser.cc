// What follows a value: attributes, subscripts, calls, filters and tests; and the targets of assignments.
#include <algorithm>

#include "qkv/text/chat_template/expression_maker.h"
#include "qkv/text/chat_template/parser.h"
#include "qkv/text/chat_template/template_error.h"

namespace qkv::jinja {

using Kind = Token::Kind;

ExpressionPtr ExpressionParser::postfix(ExpressionPtr value) {
  for (;;) {
    const Token& token = tokens_.current();
    if (token.is_symbol(".") || token.is_symbol("[")) {
      value = subscript(std::move(value));
    } else if (token.is_symbol("(")) {
      value = call(std::move(value));
    } else {
      return value;
    }
  }
}

ExpressionPtr ExpressionParser::subscript(ExpressionPtr object) {
  const int line = tokens_.current().line;
  const int depth = depth_of(object);
  if (tokens_.next().text == ".") {
    const Token name = tokens_.next();
    if (name.kind == Kind::name) return make_expression(line, Attribute{std::move(object), name.text}, depth);
    if (name.kind != Kind::integer) template_error_at(name.line, "expected a name or a number after '.'");
    return make_expression(line, Subscript{std::move(object), make_expression(line, Literal{name.integer})}, depth);
  }
  ExpressionPtr start, stop, step;
  const auto at_bound = [&] { return !tokens_.current().is_symbol(":") && !tokens_.current().is_symbol("]"); };
  if (at_bound()) start = expression();
  if (!tokens_.current().is_symbol(":")) {
    if (!start) tokens_.unexpected("an index");
    tokens_.expect_symbol("]");
    const int both = std::max(depth, depth_of(start));
    return make_expression(line, Subscript{std::move(object), std::move(start)}, both);
  }
  tokens_.next();
  if (at_bound()) stop = expression();
  if (tokens_.skip_symbol(":") && at_bound()) step = expression();
  tokens_.expect_symbol("]");
  const int all = std::max({depth, depth_of(start), depth_of(stop), depth_of(step)});
  return make_expression(line, Slice{std::move(object), std::move(start), std::move(stop), std::move(step)}, all);
}

ExpressionPtr ExpressionParser::filters_and_tests(ExpressionPtr value) {
  for (;;) {
    const Token& token = tokens_.current();
    if (token.is_symbol("|")) {
      value = filters(std::move(value));
    } else if (token.is_name("is")) {
      value = test(std::move(value));
    } else if (token.is_symbol("(")) {
      value = call(std::move(value));
    } else {
      return value;
    }
  }
}

ExpressionPtr ExpressionParser::filters(ExpressionPtr value) {
  while (tokens_.skip_symbol("|")) value = filter(std::move(value));
  return value;
}

ExpressionPtr ExpressionParser::filter(ExpressionPtr value) {
  const int line = tokens_.current().line;
  const std::string_view name = dotted_name();
  CallArguments given;
  if (tokens_.current().is_symbol("(")) given = arguments();
  const int depth = std::max(depth_of(value), depth_of(given));
  return make_expression(line, Filter{std::move(value), name, std::move(given)}, depth);
}

ExpressionPtr ExpressionParser::filters_of_block() { return filters(filter(nullptr)); }

ExpressionPtr ExpressionParser::filters_of_set() { return filters(nullptr); }

ExpressionPtr ExpressionParser::test(ExpressionPtr value) {
  const int line = tokens_.next().line;
  const bool negated = tokens_.skip_name("not");
  const std::string_view name = dotted_name();
  CallArguments given;
  const Token& token = tokens_.current();
  const bool is_word = token.kind == Kind::name;
  if (token.is_symbol("(")) {
    given = arguments();
  } else if (token.is_name("is")) {
    tokens_.unexpected("one test: tests with 'is' cannot be chained");
  } else if ((is_word && !token.is_name("else") && !token.is_name("or") && !token.is_name("and")) ||
             token.kind == Kind::string || token.kind == Kind::integer || token.kind == Kind::floating ||
             token.is_symbol("[") || token.is_symbol("{")) {
    given.positional.push_back(postfix(primary()));
  }
  const int depth = std::max(depth_of(value), depth_of(given));
  ExpressionPtr result = make_expression(line, Test{std::move(value), name, std::move(given)}, depth);
  return negated ? make_expression(line, Unary{UnaryOperator::logical_not, std::move(result)}, depth + 1)
                 : std::move(result);
}

// No filter or test of ours has a dot in its name.
std::string_view ExpressionParser::dotted_name() {
  const Token name = tokens_.expect(Kind::name, "a name");
  if (tokens_.current().is_symbol("."))
    template_error_at(name.line, "there is no filter or test whose name begins with '{}.'", name.text);
  return name.text;
}

ExpressionPtr ExpressionParser::call(ExpressionPtr function) {
  const int line = tokens_.current().line;
  CallArguments given = arguments();
  const int depth = std::max(depth_of(function), depth_of(given));
  return make_expression(line, Call{std::move(function), std::move(given)}, depth);
}

CallArguments ExpressionParser::arguments() {
  const TokenCursor::Deeper deeper(tokens_);
  tokens_.expect_symbol("(");
  CallArguments out;
  while (!tokens_.current().is_symbol(")")) {
    argument(out);
    if (!tokens_.skip_symbol(",")) break;
  }
  tokens_.expect_symbol(")");
  return out;
}

void ExpressionParser::argument(CallArguments& out) {
  const int line = tokens_.current().line;
  const bool is_keyword = tokens_.current().kind == Kind::name && tokens_.following().is_symbol("=");
  const bool in_order =
      is_keyword || tokens_.current().is_symbol("**")
          ? !out.keyword_rest
          : !out.rest && !out.keyword_rest && (tokens_.current().is_symbol("*") || out.keywords.empty());
  if (!in_order) template_error_at(line, "arguments are out of order: by position, by name, *list, **dict");
  if (tokens_.skip_symbol("**")) {
    out.keyword_rest = expression();
  } else if (tokens_.skip_symbol("*")) {
    out.rest = expression();
  } else if (is_keyword) {
    const Token name = tokens_.next();
    tokens_.next();
    for (const auto& [given, value] : out.keywords)
      if (given == name.text) template_error_at(line, "the argument '{}' is given twice", name.text);
    out.keywords.emplace_back(name.text, expression());
  } else {
    out.positional.push_back(expression());
  }
}

Target ExpressionParser::target(bool is_set) { return target_items(is_set, false); }

Target ExpressionParser::target_items(bool is_set, bool in_parentheses) {
  Target out;
  for (;;) {
    if (in_parentheses && tokens_.current().is_symbol(")")) break;
    if (!in_parentheses && (at_list_end() || tokens_.current().is_name("in"))) break;
    out.items.push_back(single_target(is_set));
    if (!tokens_.skip_symbol(",")) break;
    out.is_tuple = true;
  }
  if (out.is_tuple) return out;
  if (out.items.empty()) tokens_.unexpected("a name to assign to");
  return Target(std::move(out.items.front()));
}

Target ExpressionParser::single_target(bool is_set) {
  const TokenCursor::Deeper deeper(tokens_);
  if (tokens_.skip_symbol("(")) {
    Target inner = target_items(is_set, true);
    tokens_.expect_symbol(")");
    return inner;
  }
  const Token name = tokens_.expect(Kind::name, "a name to assign to");
  constexpr std::string_view constants[] = {"true", "True", "false", "False", "none", "None"};
  if (std::find(std::begin(constants), std::end(constants), name.text) != std::end(constants))
    template_error_at(name.line, "'{}' cannot be assigned to", name.text);
  Target out{.name = name.text};
  if (is_set && tokens_.skip_symbol(".")) out.attribute = tokens_.expect(Kind::name, "an attribute").text;
  return out;
}

}  // namespace qkv::jinja
