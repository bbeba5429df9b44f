#include "qkv/text/chat_template/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "qkv/base/names.h"
#include "qkv/text/chat_template/literal.h"
#include "qkv/text/chat_template/python_text.h"
#include "qkv/text/chat_template/template_error.h"

namespace qkv::jinja {
namespace {

using Kind = Token::Kind;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Lexer {
 public:
  Lexer(std::string_view source, std::deque<std::string>& strings) : source_(source), strings_(strings) {}

  std::vector<Token> tokens() {
    while (at_ < source_.size()) read_text();
    add(Kind::end, {});
    return std::move(tokens_);
  }

 private:
  bool starts_with(std::string_view text) const { return source_.substr(at_).starts_with(text); }
  char peek(size_t offset = 0) const { return at_ + offset < source_.size() ? source_[at_ + offset] : '\0'; }

  void advance(size_t bytes) {
    const std::string_view passed = source_.substr(at_, bytes);
    line_ += static_cast<int>(std::count(passed.begin(), passed.end(), '\n'));
    at_ += passed.size();
  }
  void skip_space() { advance(source_.size() - at_ - stripped_left(source_.substr(at_)).size()); }
  bool skip(std::string_view text) {
    if (!starts_with(text)) return false;
    advance(text.size());
    return true;
  }

  void add(Kind kind, std::string_view text) { tokens_.push_back({.kind = kind, .text = text, .line = line_}); }

  // Text up to the next tag, whose sign says which white space before it is removed, and the tag.
  void read_text() {
    size_t tag = at_;
    do {
      tag = source_.find('{', tag);
      if (tag >= source_.size()) {
        add(Kind::text, source_.substr(at_));
        at_ = source_.size();
        return;
      }
      ++tag;
    } while (tag >= source_.size() || (source_[tag] != '%' && source_[tag] != '{' && source_[tag] != '#'));
    const char kind = source_[tag];
    const char sign = sign_at(tag + 1);
    add_text(at_, tag - 1, sign, kind != '{');
    advance(tag + 1 + (sign ? 1 : 0) - at_);
    if (kind == '#') {
      skip_comment();
    } else if (kind == '{') {
      add(Kind::print_begin, {});
      read_tag(Kind::print_end);
    } else if (!read_raw()) {
      add(Kind::block_begin, {});
      read_tag(Kind::block_end);
    }
  }

  char sign_at(size_t at) const {
    return at < source_.size() && (source_[at] == '-' || source_[at] == '+') ? source_[at] : '\0';
  }

  void add_text(size_t begin, size_t end, char sign, bool strips_line) {
    std::string_view text = source_.substr(begin, end - begin);
    if (sign == '-') {
      text = stripped_right(text);
    } else if (sign != '+' && strips_line) {
      const size_t line_begin = text.rfind('\n') + 1;  // npos + 1 is 0
      const bool at_line_begin = line_begin > 0 || begin == 0 || source_[begin - 1] == '\n';
      if (at_line_begin && stripped_right(text.substr(line_begin)).empty()) text = text.substr(0, line_begin);
    }
    if (!text.empty()) add(Kind::text, text);
  }

  // What follows "%}" or "#}" with its sign: all white space, nothing, or one line break.
  void skip_after_tag(char sign) {
    if (sign == '-') {
      skip_space();
    } else if (sign != '+') {
      skip("\n");
    }
  }

  void skip_comment() {
    const size_t end = source_.find("#}", at_);
    if (end == std::string_view::npos) template_error_at(line_, "a comment has no end #}}");
    const char sign = end > at_ ? sign_at(end - 1) : '\0';
    advance(end + 2 - at_);
    skip_after_tag(sign);
  }

  // {% raw %}; after "{%" and its sign.
  bool read_raw() {
    const size_t begin = at_;
    const int line = line_;
    skip_space();
    if (skip("raw")) {
      skip_space();
      const bool strips = starts_with("-%}");
      if (strips || starts_with("%}")) {
        advance(strips ? 3 : 2);
        if (strips) skip_space();
        read_raw_text();
        return true;
      }
    }
    at_ = begin, line_ = line;
    return false;
  }

  void read_raw_text() {
    const size_t text = at_;
    const int text_line = line_;
    for (size_t tag = source_.find("{%", at_); tag != std::string_view::npos; tag = source_.find("{%", tag + 1)) {
      const char sign = sign_at(tag + 2);
      advance(tag + 2 + (sign ? 1 : 0) - at_);
      skip_space();
      if (!skip("endraw")) continue;
      skip_space();
      const char end_sign = sign_at(at_);
      if (!source_.substr(at_ + (end_sign ? 1 : 0)).starts_with("%}")) continue;
      const int line = std::exchange(line_, text_line);
      add_text(text, tag, sign, true);
      line_ = line;
      advance(end_sign ? 3 : 2);
      skip_after_tag(end_sign);
      return;
    }
    template_error_at(text_line, "a raw block has no endraw");
  }

  // The tokens of a tag, to its end.
  void read_tag(Kind end) {
    std::string open;  // brackets: within them "}}" and "%}" do not end the tag
    for (;;) {
      skip_space();
      if (at_ >= source_.size())
        template_error_at(line_, "the template ends within a tag: expected {}",
                          end == Kind::print_end ? "}}" : "%}");
      if (open.empty() && read_end(end)) return;
      read_token(open);
    }
  }

  bool read_end(Kind end) {
    const char sign = sign_at(at_);
    if (sign == '+' && end == Kind::print_end) return false;
    if (!source_.substr(at_ + (sign ? 1 : 0)).starts_with(end == Kind::print_end ? "}}" : "%}")) return false;
    add(end, {});
    advance(sign ? 3 : 2);
    if (end == Kind::block_end) {
      skip_after_tag(sign);
    } else if (sign == '-') {
      skip_space();
    }
    return true;
  }

  void read_token(std::string& open) {
    const char c = peek();
    if (is_digit(c)) return read_number();
    if (is_name_start(c)) {
      size_t size = 1;
      while (is_name_start(peek(size)) || is_digit(peek(size))) ++size;
      add(Kind::name, source_.substr(at_, size));
      return advance(size);
    }
    if (c == '\'' || c == '"') return read_string();
    constexpr std::array<std::string_view, 6> pairs = {"//", "**", "==", "!=", ">=", "<="};
    const auto pair = std::find_if(pairs.begin(), pairs.end(), [&](std::string_view p) { return starts_with(p); });
    if (pair == pairs.end() && std::string_view("+-/*%~[](){}<>=.:|,;").find(c) == std::string_view::npos)
      template_error_at(line_, "unexpected character {}",
                        quoted_name(source_.substr(at_, static_cast<unsigned char>(c) < 0x80 ? 1 : 4)).text());
    const std::string_view symbol = source_.substr(at_, pair == pairs.end() ? 1 : 2);
    balance(symbol, open);
    add(Kind::symbol, symbol);
    advance(symbol.size());
  }

  void balance(std::string_view symbol, std::string& open) const {
    constexpr std::string_view begins = "([{", ends = ")]}";
    if (const size_t bracket = begins.find(symbol); bracket != std::string_view::npos) {
      open.push_back(ends[bracket]);
    } else if (ends.find(symbol) != std::string_view::npos) {
      if (open.empty() || open.back() != symbol.front()) template_error_at(line_, "unexpected '{}'", symbol);
      open.pop_back();
    }
  }

  void read_string() {
    size_t size = 1;
    while (at_ + size < source_.size() && peek(size) != peek()) size += peek(size) == '\\' ? 2 : 1;
    if (at_ + size >= source_.size()) template_error_at(line_, "a string has no end");
    const std::string_view body = source_.substr(at_ + 1, size - 1);
    if (body.find('\\') == std::string_view::npos) {
      add(Kind::string, body);
    } else {
      add(Kind::string, strings_.emplace_back(unescaped(body, line_)));
    }
    advance(size + 1);
  }

  void read_number() {
    const bool after_dot = at_ > 0 && source_[at_ - 1] == '.';
    const NumberLiteral number = number_at(source_.substr(at_), !after_dot, line_);
    add(number.is_float ? Kind::floating : Kind::integer, source_.substr(at_, number.size));
    tokens_.back().integer = number.integer;
    tokens_.back().floating = number.floating;
    advance(number.size);
  }

  std::string_view source_;
  std::deque<std::string>& strings_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

std::string normalised_source(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r') {
      out.push_back('\n');
      if (i + 1 < text.size() && text[i + 1] == '\n') ++i;
    } else {
      out.push_back(text[i]);
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

std::vector<Token> tokens_of(std::string_view source, std::deque<std::string>& strings) {
  return Lexer(source, strings).tokens();
}

}  // namespace qkv::jinja
