#include <initializer_list>

#include "qkv/base/names.h"
#include "qkv/text/chat_template/parser.h"
#include "qkv/text/chat_template/template_error.h"

namespace qkv::jinja {
namespace {

using Kind = Token::Kind;

class StatementParser {
 public:
  explicit StatementParser(TokenCursor& tokens) : tokens_(tokens), expressions_(tokens) {}

  // Up to a tag with one of these names, which is current() then; without names up to the end of the source.
  Body body(std::initializer_list<std::string_view> ends = {}) {
    const TokenCursor::Deeper deeper(tokens_);
    Body out;
    for (;;) {
      const Token token = tokens_.next();
      if (token.kind == Kind::end) {
        if (ends.size() > 0) missing_end(token.line, ends);
        return out;
      }
      if (token.kind == Kind::text) {
        out.push_back({token.line, TextOutput{token.text}});
      } else if (token.kind == Kind::print_begin) {
        out.push_back({token.line, Print{expressions_.expression_list()}});
        tokens_.expect(Kind::print_end, "}}");
      } else {
        for (const std::string_view end : ends)
          if (tokens_.current().is_name(end)) return out;
        out.push_back(statement());
        end_tag();
      }
    }
  }

 private:
  [[noreturn]] static void missing_end(int line, std::initializer_list<std::string_view> ends) {
    template_error_at(line, "the template ends within a block: expected {{% {} %}}",
                      name_list(std::vector<std::string_view>(ends), " or "));
  }

  void end_tag() { tokens_.expect(Kind::block_end, "%}"); }

  // After the head of a tag: its body and the name of the tag that ends it.
  Body block(std::initializer_list<std::string_view> ends) {
    tokens_.skip_symbol(":");
    end_tag();
    return body(ends);
  }
  Body block_to(std::string_view end) {
    Body out = block({end});
    tokens_.next();
    return out;
  }

  Statement statement() {
    const Token tag = tokens_.expect(Kind::name, "the name of a tag");
    const std::string_view name = tag.text;
    if (name == "if") return {tag.line, if_statement()};
    if (name == "for") return {tag.line, for_statement()};
    if (name == "set") return set_statement(tag.line);
    if (name == "macro") return {tag.line, macro()};
    if (name == "call") return {tag.line, call_block()};
    if (name == "filter") {
      ExpressionPtr filter = expressions_.filters_of_block();
      return {tag.line, FilterBlock{std::move(filter), block_to("endfilter")}};
    }
    if (name == "with") return {tag.line, with()};
    if (name == "generation") return {tag.line, With{{}, block_to("endgeneration")}};
    if (name == "print") return {tag.line, Print{expressions_.expression_list()}};
    if (name == "break" || name == "continue") {
      if (loops_ == 0) template_error_at(tag.line, "'{}' outside a loop", name);
      return name == "break" ? Statement{tag.line, Break{}} : Statement{tag.line, Continue{}};
    }
    template_error_at(tag.line, "unknown tag {}", quoted_name(name).text());
  }

  If if_statement() {
    If out;
    for (;;) {
      ExpressionPtr condition = expressions_.expression_list(false);
      out.branches.push_back({std::move(condition), block({"elif", "else", "endif"})});
      const Token tag = tokens_.next();
      if (tag.text == "endif") return out;
      if (tag.text == "elif") continue;
      out.branches.push_back({nullptr, block_to("endif")});
      return out;
    }
  }

  For for_statement() {
    For out;
    out.target = expressions_.target(false);
    tokens_.expect_name("in");
    out.items = expressions_.expression_list(false);
    if (tokens_.skip_name("if")) out.condition = expressions_.expression();
    if (tokens_.current().is_name("recursive"))
      template_error_at(tokens_.current().line, "recursive loops are not supported");
    ++loops_;
    out.body = block({"endfor", "else"});
    --loops_;
    if (tokens_.next().text == "else") out.otherwise = block_to("endfor");
    return out;
  }

  Statement set_statement(int line) {
    Target target = expressions_.target(true);
    if (tokens_.skip_symbol("=")) return {line, Set{std::move(target), expressions_.expression_list()}};
    ExpressionPtr filter = expressions_.filters_of_set();
    return {line, SetBlock{std::move(target), std::move(filter), block_to("endset")}};
  }

  void parameters(MacroDefinition& out) {
    tokens_.expect_symbol("(");
    while (!tokens_.current().is_symbol(")")) {
      const Token name = tokens_.expect(Kind::name, "the name of a parameter");
      ExpressionPtr value = tokens_.skip_symbol("=") ? expressions_.expression() : nullptr;
      if (!value && !out.parameters.empty() && out.parameters.back().default_value)
        template_error_at(name.line, "the parameter '{}' needs a default, as the one before it has", name.text);
      out.parameters.push_back({name.text, std::move(value)});
      if (!tokens_.skip_symbol(",")) break;
    }
    tokens_.expect_symbol(")");
  }

  // The body of a macro or a call is no part of the loop around it.
  void macro_body(MacroDefinition& out, std::string_view end) {
    const ExpressionParser::Mentioned outer = std::exchange(expressions_.mentioned, {});
    const int loops = std::exchange(loops_, 0);
    out.body = block_to(end);
    loops_ = loops;
    out.uses_rest = expressions_.mentioned.rest;
    out.uses_keyword_rest = expressions_.mentioned.keyword_rest;
    expressions_.mentioned = outer;
  }

  MacroDefinition macro() {
    MacroDefinition out;
    out.name = tokens_.expect(Kind::name, "the name of the macro").text;
    parameters(out);
    macro_body(out, "endmacro");
    return out;
  }

  CallBlock call_block() {
    CallBlock out;
    out.caller.name = "caller";
    if (tokens_.current().is_symbol("(")) parameters(out.caller);
    const int line = tokens_.current().line;
    out.call = expressions_.expression();
    if (!std::holds_alternative<Call>(out.call->node)) template_error_at(line, "a call block needs a call");
    macro_body(out.caller, "endcall");
    return out;
  }

  With with() {
    With out;
    while (tokens_.current().kind != Kind::block_end) {
      Target target = expressions_.target(false);
      tokens_.expect_symbol("=");
      out.variables.emplace_back(std::move(target), expressions_.expression());
      if (!tokens_.skip_symbol(",")) break;
    }
    out.body = block_to("endwith");
    return out;
  }

  TokenCursor& tokens_;
  ExpressionParser expressions_;
  int loops_ = 0;
};

// As a message shows it.
std::string shown(const Token& token) {
  switch (token.kind) {
    case Kind::text: return "text";
    case Kind::block_begin: return "'{%'";
    case Kind::block_end: return "'%}'";
    case Kind::print_begin: return "'{{'";
    case Kind::print_end: return "'}}'";
    case Kind::string: return "the string " + quoted_name(token.text).text();
    case Kind::end: return "the end of the template";
    default: return quoted_name(token.text);
  }
}

}  // namespace

bool TokenCursor::skip_symbol(std::string_view symbol) {
  const bool skips = current().is_symbol(symbol);
  if (skips) next();
  return skips;
}

bool TokenCursor::skip_name(std::string_view name) {
  const bool skips = current().is_name(name);
  if (skips) next();
  return skips;
}

Token TokenCursor::expect(Token::Kind kind, std::string_view what) {
  if (current().kind != kind) unexpected(what);
  return next();
}

void TokenCursor::expect_symbol(std::string_view symbol) {
  if (!skip_symbol(symbol)) unexpected(fmt::format("'{}'", symbol));
}

void TokenCursor::expect_name(std::string_view name) {
  if (!skip_name(name)) unexpected(fmt::format("'{}'", name));
}

void TokenCursor::unexpected(std::string_view expected) const {
  template_error_at(current().line, "expected {}, got {}", expected, shown(current()));
}

void TokenCursor::too_deep() const {
  template_error_at(current().line, "blocks and expressions are nested more than {} deep", max_tree_depth);
}

std::shared_ptr<const Template> parse_template(std::string_view text) {
  auto out = std::make_shared<Template>();
  out->source = normalised_source(text);
  TokenCursor tokens(tokens_of(out->source, out->strings));
  out->body = StatementParser(tokens).body();
  return out;
}

}  // namespace qkv::jinja
