// Filters that give text.
#include <algorithm>
#include <array>

#include "qkv/text/chat_template/attributes.h"
#include "qkv/text/chat_template/filters.h"
#include "qkv/text/chat_template/operators.h"
#include "qkv/text/chat_template/percent_format.h"
#include "qkv/text/chat_template/python_text.h"
#include "qkv/text/chat_template/show.h"
#include "qkv/text/chat_template/template_error.h"

namespace qkv::jinja {
namespace {

std::string_view text(const FilterCall& c) { return text_of(c.heap, c.value); }

Value as_text(const FilterCall& c) { return text(c); }

Value method(const FilterCall& c) { return call_text_method(c.heap, text(c), c.name, c.arguments); }

Value trim(const FilterCall& c) { return call_text_method(c.heap, text(c), "strip", c.arguments); }

Value center(const FilterCall& c) {
  return call_text_method(c.heap, text(c), "center", {.positional = {c.given.value(0, int64_t{80})}});
}

// Words begin after white space, hyphens and opening brackets, unlike those of the method.
Value title(const FilterCall& c) {
  const std::string_view from = text(c);
  c.heap.step_text(from.size() * 4);
  c.heap.check_room(from.size() * 16);
  TextBuilder out(c.heap);
  const auto word = [&](std::string_view whole) {
    if (whole.empty()) return;
    const size_t first = byte_offset(whole, 1);
    out.append(upper_case(whole.substr(0, first)));
    out.append(lower_case(whole.substr(first)));
  };
  size_t begin = 0, at = 0;
  while (at < from.size()) {
    const size_t end = at + byte_offset(from.substr(at, 4), 1);
    const std::string_view character = from.substr(at, end - at);
    if (std::string_view("-({[<").find(character) != std::string_view::npos || stripped_left(character).empty()) {
      word(from.substr(begin, at - begin));
      out.append(character);
      begin = end;
    }
    at = end;
  }
  word(from.substr(begin));
  return out.finish();
}

Value replace(const FilterCall& c) {
  const std::string_view old_part = text_of(c.heap, c.given.required(0));
  const std::string_view new_part = text_of(c.heap, c.given.required(1));
  return replaced(c.heap, text(c), old_part, new_part, c.given.is_none(2) ? -1 : c.given.integer(2, -1));
}

Value escape(const FilterCall& c) {
  TextBuilder out(c.heap);
  const std::string_view from = text(c);
  for (size_t at = 0; at < from.size();) {
    const size_t special = std::min(from.find_first_of("&<>'\"", at), from.size());
    out.append(from.substr(at, special - at));
    if (special < from.size()) {
      const char found = from[special];
      out.append(found == '&'   ? "&amp;"
                 : found == '<' ? "&lt;"
                 : found == '>' ? "&gt;"
                 : found == '"' ? "&#34;"
                                : "&#39;");
    }
    at = special + 1;
  }
  return out.finish();
}

Value indent(const FilterCall& c) {
  const std::string_view from = text_value(c.value, "what is indented");
  std::string margin;
  if (c.given[0] && std::holds_alternative<std::string_view>(*c.given[0])) {
    margin = c.given.text(0, "");
  } else {
    const int64_t width = std::max<int64_t>(0, c.given.integer(0, 4));
    c.heap.take(static_cast<size_t>(width));
    margin.assign(static_cast<size_t>(width), ' ');
  }
  const bool blank = c.given.boolean(2, false);
  std::vector<std::string_view> lines = lines_of(from, false);
  // Jinja adds a line break at the end, so that a text that ends in one has an empty last line.
  if (lines.empty() || lines_of(from, true).back() != lines.back()) lines.push_back("");
  TextBuilder out(c.heap);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out.append("\n");
    if (i == 0 ? c.given.boolean(1, false) : blank || !lines[i].empty()) out.append(margin);
    out.append(lines[i]);
  }
  return out.finish();
}

Value format(const FilterCall& c) {
  if (!c.arguments.positional.empty() && !c.arguments.keywords.empty())
    template_error("format: values are given either by position or by name");
  if (c.arguments.keywords.empty()) {
    const Value values = c.heap.sequence(Sequence::Kind::tuple, c.arguments.positional);
    return percent_formatted(c.heap, text(c), values);
  }
  Dict names;
  for (const auto& [name, value] : c.arguments.keywords) names.items.emplace_back(name, value);
  return percent_formatted(c.heap, text(c), c.heap.make(std::move(names)));
}

Value join(const FilterCall& c) {
  const std::string_view separator = text_of(c.heap, c.given.value(0, ""));
  const ValueFunction attribute =
      attribute_getter(c.heap, c.given.is_none(1) ? std::nullopt : std::optional(*c.given[1]));
  TextBuilder out(c.heap);
  bool first = true;
  for (const Value& item : items_of(c.heap, c.value)) {
    if (!std::exchange(first, false)) out.append(separator);
    out.append(text_of(c.heap, attribute(item)));
  }
  return out.finish();
}

Value to_json(const FilterCall& c) {
  JsonStyle style{.ascii = c.given.boolean(0, false), .sorted = c.given.boolean(3, false)};
  if (!c.given.is_none(1)) {
    const auto* margin = std::get_if<std::string_view>(&*c.given[1]);
    const int64_t width = margin ? 0 : std::max<int64_t>(0, c.given.integer(1, 0));
    c.heap.take(static_cast<size_t>(width));
    style.indent = margin ? std::string(*margin) : std::string(static_cast<size_t>(width), ' ');
    style.item_separator = ",";
  }
  if (!c.given.is_none(2)) {
    const std::vector<Value> separators = items_of(c.heap, *c.given[2]);
    if (separators.size() != 2) template_error("tojson: separators must be two texts, got {}", separators.size());
    style.item_separator = text_value(separators[0], "a separator");
    style.name_separator = text_value(separators[1], "a separator");
  }
  return json_of(c.heap, c.value, style);
}

constexpr std::array text_filter_table = {
    FilterEntry{"string", as_text, {}},
    FilterEntry{"safe", as_text, {}},
    FilterEntry{"upper", method, {}},
    FilterEntry{"lower", method, {}},
    FilterEntry{"capitalize", method, {}},
    FilterEntry{"title", title, {}},
    FilterEntry{"trim", trim, {"chars"}},
    FilterEntry{"center", center, {"width"}},
    FilterEntry{"replace", replace, {"old", "new", "count"}},
    FilterEntry{"escape", escape, {}},
    FilterEntry{"e", escape, {}},
    FilterEntry{"forceescape", escape, {}},
    FilterEntry{"indent", indent, {"width", "first", "blank"}},
    FilterEntry{"format", format, {FilterEntry::any}},
    FilterEntry{"join", join, {"d", "attribute"}},
    FilterEntry{"tojson", to_json, {"ensure_ascii", "indent", "separators", "sort_keys"}},
};

}  // namespace

std::span<const FilterEntry> text_filters() { return text_filter_table; }

}  // namespace qkv::jinja
