#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "qkv/text/chat_template/arguments.h"
#include "qkv/text/chat_template/attributes.h"
#include "qkv/text/chat_template/operators.h"
#include "qkv/text/chat_template/percent_format.h"
#include "qkv/text/chat_template/python_text.h"
#include "qkv/text/chat_template/show.h"
#include "qkv/text/chat_template/template_error.h"

namespace qkv::jinja {
namespace {

// A number that is written in digits, as the index of a field.
std::optional<int64_t> index_of(std::string_view name) {
  int64_t index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  const bool is_index =
      !name.empty() && name.front() != '-' && error == std::errc() && end == name.data() + name.size();
  return is_index ? std::optional(index) : std::nullopt;
}

class BraceFormatter {
 public:
  BraceFormatter(Heap& heap, const Arguments& arguments) : heap_(heap), arguments_(arguments), out_(heap) {}

  std::string_view text(std::string_view format) {
    for (size_t at = 0; at < format.size();) {
      const size_t brace = std::min(format.find_first_of("{}", at), format.size());
      out_.append(format.substr(at, brace - at));
      if (brace == format.size()) break;
      if (brace + 1 < format.size() && format[brace + 1] == format[brace]) {
        out_.append(format.substr(brace, 1));
        at = brace + 2;
        continue;
      }
      const size_t end = format.find_first_of("{}", brace + 1);
      if (format[brace] == '}' || end == std::string_view::npos || format[end] == '{')
        template_error("format(): a brace has no counterpart, or a field has one within");
      field(format.substr(brace + 1, end - brace - 1));
      at = end + 1;
    }
    return out_.finish();
  }

 private:
  void field(std::string_view text) {
    std::string_view style;
    if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
      style = text.substr(colon + 1);
      text = text.substr(0, colon);
    }
    char conversion = '\0';
    if (const size_t mark = text.find('!'); mark != std::string_view::npos) {
      if (mark + 2 != text.size() || (text[mark + 1] != 's' && text[mark + 1] != 'r'))
        template_error("format(): a field may end in !s or !r, got '{}'", text);
      conversion = text[mark + 1];
      text = text.substr(0, mark);
    }
    const Value value = looked_up(text);
    if (conversion == 'r') return styled(repr_of(heap_, value), style);
    styled(conversion == 's' ? Value(text_of(heap_, value)) : value, style);
  }

  Value looked_up(std::string_view path) {
    size_t at = std::min(path.find_first_of(".["), path.size());
    Value value = argument(path.substr(0, at));
    while (at < path.size()) {
      const bool is_attribute = path[at] == '.';
      const size_t end =
          is_attribute ? std::min(path.find_first_of(".[", at + 1), path.size()) : path.find(']', at);
      if (end == std::string_view::npos) template_error("format(): a field has no closing bracket");
      const std::string_view name = path.substr(at + 1, end - at - 1);
      if (is_attribute) {
        value = attribute_of(heap_, value, name);
      } else {
        const std::optional<int64_t> index = index_of(name);
        value = subscript_of(heap_, value, index ? Value(*index) : Value(name));
      }
      at = end + (is_attribute ? 0 : 1);
    }
    return value;
  }

  Value argument(std::string_view name) {
    const std::optional<int64_t> given = index_of(name);
    if (name.empty() || given) {
      const auto index = static_cast<uint64_t>(given ? *given : next_++);
      if (index >= arguments_.positional.size()) template_error("format(): there is no value for field {}", index);
      return arguments_.positional[index];
    }
    for (const auto& [known, value] : arguments_.keywords)
      if (known == name) return value;
    template_error("format(): there is no value for the field '{}'", name);
  }

  // The styles "", "d", "s" and ".2f".
  void styled(const Value& value, std::string_view style) {
    if (style.empty() || (style == "s" && std::holds_alternative<std::string_view>(value)) ||
        (style == "d" && std::holds_alternative<int64_t>(value)))
      return out_.append(text_of(heap_, value));
    const bool is_fixed = style.size() > 2 && style.front() == '.' && style.back() == 'f' && is_number(value);
    const std::optional<int64_t> digits = is_fixed ? index_of(style.substr(1, style.size() - 2)) : std::nullopt;
    if (!digits || *digits > 300) template_error("format(): the style '{}' is not supported", style);
    out_.append(fmt::format("{:.{}f}", as_double(value), static_cast<int>(*digits)));
  }

  Heap& heap_;
  const Arguments& arguments_;
  TextBuilder out_;
  int64_t next_ = 0;
};

}  // namespace

std::string_view brace_formatted(Heap& heap, std::string_view format, const Arguments& arguments) {
  return BraceFormatter(heap, arguments).text(format);
}

}  // namespace qkv::jinja
