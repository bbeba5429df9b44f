#include "qkv/text/chat_template/show.h"

#include <fmt/format.h>

#include "qkv/text/chat_template/operators.h"
#include "qkv/text/chat_template/python_text.h"
#include "qkv/text/chat_template/syntax.h"
#include "qkv/text/chat_template/template_error.h"

namespace qkv::jinja {
namespace {

using SequenceKind = Sequence::Kind;

class Shower {
 public:
  explicit Shower(Heap& heap) : heap_(heap), out_(heap) {}

  std::string_view finish() { return out_.finish(); }

  void repr(const Value& value) {
    std::visit([&](const auto& v) { show(v); }, value);
  }

 private:
  void show(const Undefined&) { out_.append("Undefined"); }
  void show(const None&) { out_.append("None"); }
  void show(bool value) { out_.append(value ? "True" : "False"); }
  void show(int64_t value) { out_.append(fmt::format_int(value).c_str()); }
  void show(double value) { out_.append(float_text(value)); }
  void show(std::string_view text) {
    heap_.check_room(text.size() * 16);
    out_.append(quoted_text(text));
  }
  void show(const Macro* macro) { out_.append(fmt::format("<Macro '{}'>", macro->definition->name)); }
  void show(const BoundMethod* method) { out_.append(fmt::format("<method {}>", method->name)); }
  void show(const Function*) { out_.append("<function>"); }
  void show(const Loop* loop) { out_.append(fmt::format("<loop {}>", loop->index0 + 1)); }

  void show(const Namespace* space) {
    out_.append("<Namespace ");
    show(&space->attributes);
    out_.append(">");
  }

  void show(const Dict* dict) {
    const Heap::Deeper deeper(heap_);
    out_.append("{");
    for (size_t i = 0; i < dict->items.size(); ++i) {
      if (i > 0) out_.append(", ");
      repr(dict->items[i].first);
      out_.append(": ");
      repr(dict->items[i].second);
    }
    out_.append("}");
  }

  void show(const Sequence* sequence) {
    const Heap::Deeper deeper(heap_);
    const SequenceKind kind = sequence->kind;
    if (kind == SequenceKind::range) return out_.append(sequence->shown);
    if (kind == SequenceKind::generator) return out_.append("<generator>");
    const bool is_view =
        kind == SequenceKind::dict_items || kind == SequenceKind::dict_keys || kind == SequenceKind::dict_values;
    if (is_view) out_.append(std::string(type_name(const_cast<Sequence*>(sequence))) + "(");
    out_.append(kind == SequenceKind::tuple ? "(" : "[");
    for (size_t i = 0; i < sequence->items.size(); ++i) {
      if (i > 0) out_.append(", ");
      repr(sequence->items[i]);
    }
    if (kind == SequenceKind::tuple && sequence->items.size() == 1) out_.append(",");
    out_.append(kind == SequenceKind::tuple ? ")" : "]");
    if (is_view) out_.append(")");
  }

  Heap& heap_;
  TextBuilder out_;
};

}  // namespace

std::string_view text_of(Heap& heap, const Value& value) {
  if (const auto* text = std::get_if<std::string_view>(&value)) return *text;
  if (const auto* undefined = std::get_if<Undefined>(&value)) {
    if (undefined->forbidden) undefined_used(*undefined);
    return {};
  }
  return repr_of(heap, value);
}

std::string_view repr_of(Heap& heap, const Value& value) {
  Shower shower(heap);
  shower.repr(value);
  return shower.finish();
}

}  // namespace qkv::jinja
