#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "qkv/text/chat_template/operators.h"
#include "qkv/text/chat_template/python_text.h"
#include "qkv/text/chat_template/show.h"
#include "qkv/text/chat_template/template_error.h"
#include "qkv/text/utf8.h"

namespace qkv::jinja {
namespace {

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  return std::isinf(value) ? value < 0 ? "-Infinity" : "Infinity" : float_text(value);
}

std::string unicode_escape(uint32_t unit) { return fmt::format("\\u{:04x}", unit); }

class JsonText {
 public:
  JsonText(Heap& heap, const JsonStyle& style) : heap_(heap), style_(style), out_(heap) {}

  std::string_view finish() { return out_.finish(); }

  void write(const Value& value) {
    if (is_none(value)) return out_.append("null");
    if (const auto* text = std::get_if<std::string_view>(&value)) return string(*text);
    if (is_number(value)) return out_.append(number(value));
    if (const auto* dict = std::get_if<Dict*>(&value)) return object(**dict);
    const auto* sequence = std::get_if<Sequence*>(&value);
    if (!sequence || ((*sequence)->kind != Sequence::Kind::list && (*sequence)->kind != Sequence::Kind::tuple))
      template_error("tojson: a {} is not JSON", type_name(value));
    array((*sequence)->items);
  }

 private:
  static std::string number(const Value& value) {
    if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? "true" : "false";
    if (const auto* integer = std::get_if<int64_t>(&value)) return fmt::format_int(*integer).str();
    return number_text(std::get<double>(value));
  }

  void string(std::string_view text) {
    out_.append("\"");
    size_t plain = 0;  // where text that is written as it is begins
    for (size_t at = 0; at < text.size();) {
      const CodePoint point = utf8_first(text.substr(at));
      const size_t end = at + std::max<size_t>(1, point.bytes);
      if (const std::string escape = escaped(point.value); !escape.empty()) {
        out_.append(text.substr(plain, at - plain));
        out_.append(escape);
        plain = end;
      }
      at = end;
    }
    out_.append(text.substr(plain));
    out_.append("\"");
  }

  // Empty: the character stands for itself.
  std::string escaped(char32_t point) const {
    switch (point) {
      case '"': return "\\\"";
      case '\\': return "\\\\";
      case '\n': return "\\n";
      case '\r': return "\\r";
      case '\t': return "\\t";
      case '\f': return "\\f";
      case '\b': return "\\b";
      default: break;
    }
    const auto number = static_cast<uint32_t>(point);
    if (number >= 0x20 && (!style_.ascii || number < 0x7f)) return {};
    if (number < 0x10000) return unicode_escape(number);
    return unicode_escape(0xd800 + ((number - 0x10000) >> 10)) +
           unicode_escape(0xdc00 + ((number - 0x10000) & 0x3ff));
  }

  void line_break() {
    if (!style_.indent) return;
    out_.append("\n");
    for (int i = 0; i < level_; ++i) out_.append(*style_.indent);
  }

  template <class Items, class Write>
  void container(const Items& items, const char* brackets, Write write) {
    const Heap::Deeper deeper(heap_);
    out_.append(std::string_view(brackets, 1));
    ++level_;
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_.append(style_.item_separator);
      line_break();
      write(items[i]);
    }
    --level_;
    if (!items.empty()) line_break();
    out_.append(std::string_view(brackets + 1, 1));
  }

  void array(const std::vector<Value>& items) {
    container(items, "[]", [&](const Value& item) { write(item); });
  }

  void object(const Dict& dict) {
    using Item = const std::pair<Value, Value>*;
    std::vector<Item> items;
    heap_.take(dict.items.size() * sizeof(Item));
    for (const auto& item : dict.items) items.push_back(&item);
    if (style_.sorted)
      std::stable_sort(items.begin(), items.end(), [&](Item a, Item b) { return less(heap_, a->first, b->first); });
    container(items, "{}", [&](Item item) {
      name(item->first);
      out_.append(style_.name_separator);
      write(item->second);
    });
  }

  void name(const Value& key) {
    if (const auto* text = std::get_if<std::string_view>(&key)) return string(*text);
    if (!is_none(key) && !is_number(key))
      template_error("tojson: a {} cannot be the name of a member", type_name(key));
    out_.append("\"" + (is_none(key) ? "null" : number(key)) + "\"");
  }

  Heap& heap_;
  const JsonStyle& style_;
  TextBuilder out_;
  int level_ = 0;
};

}  // namespace

std::string_view json_of(Heap& heap, const Value& value, const JsonStyle& style) {
  JsonText text(heap, style);
  text.write(value);
  return text.finish();
}

}  // namespace qkv::jinja
