// Filters that give numbers.
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "qkv/text/chat_template/filters.h"
#include "qkv/text/chat_template/operators.h"
#include "qkv/text/chat_template/python_text.h"
#include "qkv/text/chat_template/template_error.h"

namespace qkv::jinja {
namespace {

// The digits of a number without the underscores that may stand between two of them; none: misplaced.
std::optional<std::string> joined_digits(std::string_view text) {
  std::string out;
  const auto is_digit = [&](size_t i) {
    return i < text.size() &&
           ((text[i] >= '0' && text[i] <= '9') || ((text[i] | 0x20) >= 'a' && (text[i] | 0x20) <= 'z'));
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out.push_back(text[i]);
    } else if (i == 0 || !is_digit(i - 1) || !is_digit(i + 1)) {
      return {};
    }
  }
  return out;
}

// int(text, base) of Python; none: not a number.
std::optional<int64_t> parsed_integer(std::string_view text, int64_t base) {
  if (base != 0 && (base < 2 || base > 36)) template_error("int: the base must be 0 or 2 to 36, got {}", base);
  text = stripped_right(stripped_left(text));
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.size() > 1 && text[0] == '0') {
    const char kind = static_cast<char>(text[1] | 0x20);
    const int64_t named = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 0;
    if (named != 0 && (base == 0 || base == named)) {
      base = named;
      text.remove_prefix(text.size() > 2 && text[2] == '_' ? 3 : 2);
    }
  }
  if (base == 0) base = 10;
  const std::optional<std::string> digits = joined_digits(text);
  if (!digits || digits->empty() || digits->front() == '-') return {};
  const std::string whole = (negative ? "-" : "") + *digits;
  int64_t value = 0;
  const auto [end, error] =
      std::from_chars(whole.data(), whole.data() + whole.size(), value, static_cast<int>(base));
  if (end != whole.data() + whole.size()) return {};
  if (error == std::errc::result_out_of_range) template_error("an integer has more than 64 bits");
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

// float(text) of Python.
std::optional<double> parsed_float(std::string_view text) {
  text = stripped_right(stripped_left(text));
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const std::optional<std::string> digits = joined_digits(text);
  if (!digits || digits->empty() || digits->front() == '-' || digits->find('(') != std::string::npos) return {};
  double value = 0;
  const auto [end, error] = std::from_chars(digits->data(), digits->data() + digits->size(), value);
  if (end != digits->data() + digits->size()) return {};
  if (error == std::errc::result_out_of_range) value = std::strtod(digits->c_str(), nullptr);
  return negative ? -value : value;
}

std::optional<int64_t> whole_part(double value) {
  if (!std::isfinite(value)) return {};
  if (std::abs(value) >= 9.2e18) template_error("an integer has more than 64 bits");
  return static_cast<int64_t>(value);
}

Value to_integer(const FilterCall& c) {
  require_defined(c.value);
  const Value missing = c.given.value(0, int64_t{0});
  if (const auto integer = as_integer(c.value)) return *integer;
  std::optional<int64_t> value;
  if (const auto* text = std::get_if<std::string_view>(&c.value)) {
    c.heap.step_text(text->size());
    c.heap.check_room(text->size() * 2);
    value = parsed_integer(*text, c.given.integer(1, 10));
    if (!value)
      if (const auto number = parsed_float(*text)) value = whole_part(*number);
  } else if (const auto* number = std::get_if<double>(&c.value)) {
    if (std::isinf(*number)) template_error("int: infinity is not an integer");
    value = whole_part(*number);
  }
  return value ? Value(*value) : missing;
}

Value to_float(const FilterCall& c) {
  require_defined(c.value);
  if (is_number(c.value)) return as_double(c.value);
  const auto* text = std::get_if<std::string_view>(&c.value);
  if (text) c.heap.step_text(text->size()), c.heap.check_room(text->size() * 2);
  const std::optional<double> value = text ? parsed_float(*text) : std::nullopt;
  return value ? Value(*value) : c.given.value(0, 0.0);
}

Value absolute(const FilterCall& c) {
  require_defined(c.value);
  if (!is_number(c.value)) template_error("abs: a {} is not a number", type_name(c.value));
  if (const auto integer = as_integer(c.value)) return *integer < 0 ? negated(c.value) : Value(*integer);
  return std::abs(as_double(c.value));
}

// round() of Python: exact halves to even. An integer stays one.
Value rounded_half_even(const Value& value, int64_t digits) {
  if (const auto integer = as_integer(value)) {
    if (digits >= 0) return *integer;
    if (digits < -18) return int64_t{0};
    int64_t unit = 1;
    for (int64_t i = 0; i < -digits; ++i) unit *= 10;
    int64_t rest = *integer % unit;
    if (rest < 0) rest += unit;
    const bool odd = ((*integer / unit) - (*integer < 0 && rest != 0 ? 1 : 0)) % 2 != 0;
    const bool up = rest > unit - rest || (rest == unit - rest && odd);
    int64_t out = 0;
    if (__builtin_sub_overflow(*integer, rest, &out) || (up && __builtin_add_overflow(out, unit, &out)))
      template_error("an integer has more than 64 bits");
    return out;
  }
  const double number = std::get<double>(value);
  if (!std::isfinite(number) || digits > 300) return number;
  if (digits < -308) return std::copysign(0.0, number);
  if (digits >= 0) return std::strtod(fmt::format("{:.{}f}", number, static_cast<int>(digits)).c_str(), nullptr);
  const double unit = std::pow(10.0, static_cast<double>(-digits));
  return std::nearbyint(number / unit) * unit;
}

Value round(const FilterCall& c) {
  require_defined(c.value);
  if (!is_number(c.value)) template_error("round: a {} is not a number", type_name(c.value));
  const int64_t digits = c.given.integer(0, 0);
  const std::string_view method = c.given.text(1, "common");
  if (method == "common") return rounded_half_even(c.value, digits);
  if (method != "ceil" && method != "floor") template_error("round: the method must be common, ceil or floor");
  if (std::abs(digits) > 300) template_error("round: the precision must be -300 to 300, got {}", digits);
  const double unit = std::pow(10.0, static_cast<double>(digits));
  const double scaled = as_double(c.value) * unit;
  return (method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit;
}

Value length(const FilterCall& c) { return length_of(c.heap, c.value); }

Value sum(const FilterCall& c) {
  const ValueFunction attribute =
      attribute_getter(c.heap, c.given.is_none(0) ? std::nullopt : std::optional(*c.given[0]));
  Value out = c.given.value(1, int64_t{0});
  if (std::holds_alternative<std::string_view>(out)) template_error("sum: text is joined, not added");
  for (const Value& item : items_of(c.heap, c.value)) out = arithmetic(c.heap, Operator::add, out, attribute(item));
  return out;
}

constexpr std::array number_filter_table = {
    FilterEntry{"int", to_integer, {"default", "base"}},
    FilterEntry{"float", to_float, {"default"}},
    FilterEntry{"abs", absolute, {}},
    FilterEntry{"round", round, {"precision", "method"}},
    FilterEntry{"length", length, {}},
    FilterEntry{"count", length, {}},
    FilterEntry{"sum", sum, {"attribute", "start"}},
};

}  // namespace

std::span<const FilterEntry> number_filters() { return number_filter_table; }

}  // namespace qkv::jinja
