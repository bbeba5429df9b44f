#include "qkv/text/chat_template/percent_format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "qkv/text/chat_template/operators.h"
#include "qkv/text/chat_template/python_text.h"
#include "qkv/text/chat_template/show.h"
#include "qkv/text/chat_template/template_error.h"
#include "qkv/text/utf8.h"

namespace qkv::jinja {
namespace {

constexpr int max_width = 1000;

struct Placeholder {
  std::string flags = {};
  int width = 0, precision = -1;
  char conversion = '\0';
  bool has(char flag) const { return flags.find(flag) != std::string::npos; }
};

class PercentFormatter {
 public:
  PercentFormatter(Heap& heap, std::string_view format, const Value& values)
      : heap_(heap), format_(format), values_(values), out_(heap) {}

  std::string_view text() {
    for (;;) {
      const size_t percent = format_.find('%', at_);
      out_.append(format_.substr(at_, percent - at_));
      if (percent == std::string_view::npos) break;
      at_ = percent + 1;
      placeholder();
    }
    const bool is_dict = std::holds_alternative<Dict*>(values_);
    if (!named_ && !is_dict && used_ < given().size())
      template_error("% has more values than the text has placeholders");
    return out_.finish();
  }

 private:
  std::vector<Value> given() const {
    const auto* sequence = std::get_if<Sequence*>(&values_);
    const bool is_tuple = sequence && (*sequence)->kind == Sequence::Kind::tuple;
    return is_tuple ? (*sequence)->items : std::vector<Value>{values_};
  }

  char take() {
    if (at_ >= format_.size()) template_error("% has an incomplete placeholder");
    return format_[at_++];
  }

  Value next_value() {
    const std::vector<Value> values = given();
    heap_.step(values.size());
    if (used_ >= values.size()) template_error("% has fewer values than the text has placeholders");
    return values[used_++];
  }

  int number(char& c) {
    if (c == '*') {
      const int64_t value = integer_of(next_value(), "a width");
      c = take();
      if (std::abs(value) > max_width) template_error("a width must be at most {}, got {}", max_width, value);
      return static_cast<int>(value);
    }
    int value = 0;
    for (; c >= '0' && c <= '9'; c = take()) {
      value = value * 10 + (c - '0');
      if (value > max_width) template_error("a width must be at most {}", max_width);
    }
    return value;
  }

  void placeholder() {
    char c = take();
    if (c == '%') return out_.append("%");
    std::optional<Value> value;
    if (c == '(') {
      const size_t end = format_.find(')', at_);
      const auto* dict = std::get_if<Dict*>(&values_);
      if (end == std::string_view::npos || !dict) template_error("%(name) needs a closing bracket, and a dict");
      const std::string_view name = format_.substr(at_, end - at_);
      const Value* found = find_item(heap_, **dict, name);
      if (!found) template_error("%({}) names no item of the dict", name);
      value = *found;
      named_ = true;
      at_ = end + 1;
      c = take();
    }
    Placeholder how;
    for (; std::string_view("#0- +").find(c) != std::string_view::npos; c = take())
      if (how.flags.find(c) == std::string::npos) how.flags.push_back(c);
    how.width = number(c);
    if (how.width < 0) how.flags.push_back('-'), how.width = -how.width;
    if (c == '.') {
      c = take();
      how.precision = std::max(0, number(c));
    }
    while (c == 'l' || c == 'h' || c == 'L') c = take();
    how.conversion = c;
    write(how, value ? *value : next_value());
  }

  void write(const Placeholder& how, const Value& value) {
    if (how.conversion == 's' || how.conversion == 'r')
      return padded(how, clipped(how, how.conversion == 's' ? text_of(heap_, value) : repr_of(heap_, value)));
    if (how.conversion == 'c') {
      const auto* text = std::get_if<std::string_view>(&value);
      if (!text || utf8_length(*text) != 1) template_error("%c needs one character");
      return padded(how, *text);
    }
    require_defined(value);
    if (!is_number(value)) template_error("%{} needs a number, got a {}", how.conversion, type_name(value));
    switch (how.conversion) {
      case 'd':
      case 'i':
      case 'u': return padded(how, printed(how, "ld", whole(value)));
      case 'x':
      case 'X':
      case 'o': {
        if (!as_integer(value)) template_error("%{} needs an integer", how.conversion);
        const std::string digits = printed({.flags = how.has('#') ? "#" : "", .precision = how.precision},
                                           std::string("l") + how.conversion, std::abs(whole(value)));
        return padded(how, whole(value) < 0 ? "-" + digits : digits);
      }
      case 'f':
      case 'F':
      case 'e':
      case 'E':
      case 'g':
      case 'G': return padded(how, printed(how, std::string(1, how.conversion), as_double(value)));
      default: template_error("%{} is not supported", how.conversion);
    }
  }

  static int64_t whole(const Value& value) {
    if (const auto integer = as_integer(value)) return *integer;
    const double number = std::trunc(as_double(value));
    if (!(std::abs(number) < 9e18)) template_error("an integer has more than 64 bits");
    return static_cast<int64_t>(number);
  }

  // By the C library, for what Python defines in the same way; the width is applied afterwards.
  template <class Number>
  static std::string printed(const Placeholder& how, const std::string& conversion, Number value) {
    std::string format = "%";
    for (const char flag : how.flags)
      if (flag == '+' || flag == ' ' || flag == '#') format.push_back(flag);
    if (how.precision >= 0) format += fmt::format(".{}", how.precision);
    format += conversion;
    std::array<char, 1500> buffer = {};
    const int size = std::snprintf(buffer.data(), buffer.size(), format.c_str(), value);
    return std::string(buffer.data(),
                       static_cast<size_t>(std::clamp(size, 0, static_cast<int>(buffer.size()) - 1)));
  }

  static std::string_view clipped(const Placeholder& how, std::string_view text) {
    return how.precision < 0 ? text : text.substr(0, byte_offset(text, how.precision));
  }

  void padded(const Placeholder& how, std::string_view text) {
    const int64_t missing = std::max<int64_t>(0, how.width - utf8_length(text));
    const bool is_number = std::string_view("src").find(how.conversion) == std::string_view::npos;
    if (how.has('-')) {
      out_.append(text);
      return out_.append(static_cast<size_t>(missing), ' ');
    }
    if (is_number && how.has('0')) {
      const size_t sign = text.find_first_not_of("+- ");
      out_.append(text.substr(0, sign));
      out_.append(static_cast<size_t>(missing), '0');
      return out_.append(text.substr(std::min(sign, text.size())));
    }
    out_.append(static_cast<size_t>(missing), ' ');
    out_.append(text);
  }

  Heap& heap_;
  std::string_view format_;
  const Value& values_;
  TextBuilder out_;
  size_t at_ = 0, used_ = 0;
  bool named_ = false;
};

}  // namespace

std::string_view percent_formatted(Heap& heap, std::string_view format, const Value& values) {
  return PercentFormatter(heap, format, values).text();
}

}  // namespace qkv::jinja
