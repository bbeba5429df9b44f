// What values hold: iteration, indices and slices.
#include <algorithm>

#include "qkv/text/chat_template/operators.h"
#include "qkv/text/chat_template/python_text.h"
#include "qkv/text/chat_template/template_error.h"
#include "qkv/text/utf8.h"

namespace qkv::jinja {
namespace {

// The indices first, first + step, ..., `count` of them.
struct SliceIndices {
  int64_t first = 0, step = 1, count = 0;
};

SliceIndices slice_indices(int64_t size, const std::optional<int64_t>& start, const std::optional<int64_t>& stop,
                           int64_t step) {
  const bool forward = step > 0;
  const int64_t lowest = forward ? 0 : -1, highest = forward ? size : size - 1;
  const auto bound = [&](const std::optional<int64_t>& given, int64_t missing) {
    if (!given) return missing;
    if (*given < 0) return *given < -size ? lowest : std::max(lowest, *given + size);
    return std::min(*given, highest);
  };
  const int64_t first = bound(start, forward ? lowest : highest);
  const int64_t end = bound(stop, forward ? highest : lowest);
  SliceIndices out{.first = first, .step = step};
  if (forward && first < end) out.count = (end - first - 1) / step + 1;
  if (!forward && end < first) out.count = step == INT64_MIN ? 1 : (first - end - 1) / -step + 1;
  return out;
}

std::string_view text_slice(Heap& heap, std::string_view text, const SliceIndices& at) {
  heap.step_text(text.size());
  if (at.count == 0) return {};
  if (at.step == 1) {
    const size_t begin = byte_offset(text, at.first);
    return text.substr(begin, byte_offset(text.substr(begin), at.count));
  }
  heap.check_room(text.size() * sizeof(std::string_view));
  const std::vector<std::string_view> characters = characters_of(text);
  TextBuilder out(heap);
  for (int64_t i = 0; i < at.count; ++i) out.append(characters[static_cast<size_t>(at.first + i * at.step)]);
  return out.finish();
}

// Whether a dict may have the key: what cannot change.
void require_hashable(const Value& key) {
  const auto* sequence = std::get_if<Sequence*>(&key);
  if (std::holds_alternative<Dict*>(key) || (sequence && (*sequence)->kind == Sequence::Kind::list))
    template_error("a {} cannot be the key of a dict", type_name(key));
  if (sequence && (*sequence)->kind == Sequence::Kind::tuple)
    for (const Value& item : (*sequence)->items)
      if (std::holds_alternative<Dict*>(item) || std::holds_alternative<Sequence*>(item))
        template_error("a tuple of a {} cannot be the key of a dict", type_name(item));
}

}  // namespace

std::string_view type_name(const Value& value) {
  struct Names {
    std::string_view operator()(const Undefined&) const { return "undefined"; }
    std::string_view operator()(const None&) const { return "None"; }
    std::string_view operator()(bool) const { return "bool"; }
    std::string_view operator()(int64_t) const { return "int"; }
    std::string_view operator()(double) const { return "float"; }
    std::string_view operator()(std::string_view) const { return "str"; }
    std::string_view operator()(const Dict*) const { return "dict"; }
    std::string_view operator()(const Namespace*) const { return "namespace"; }
    std::string_view operator()(const Macro*) const { return "macro"; }
    std::string_view operator()(const BoundMethod*) const { return "method"; }
    std::string_view operator()(const Function*) const { return "function"; }
    std::string_view operator()(const Loop*) const { return "loop"; }
    std::string_view operator()(const Sequence* sequence) const {
      switch (sequence->kind) {
        case Sequence::Kind::list: return "list";
        case Sequence::Kind::tuple: return "tuple";
        case Sequence::Kind::range: return "range";
        case Sequence::Kind::generator: return "generator";
        case Sequence::Kind::dict_items: return "dict_items";
        case Sequence::Kind::dict_keys: return "dict_keys";
        case Sequence::Kind::dict_values: return "dict_values";
      }
      return "sequence";
    }
  };
  return std::visit(Names(), value);
}

bool is_list_like(const Value& value) {
  const auto* sequence = std::get_if<Sequence*>(&value);
  return sequence && ((*sequence)->kind == Sequence::Kind::list || (*sequence)->kind == Sequence::Kind::tuple ||
                      (*sequence)->kind == Sequence::Kind::range);
}

int64_t length_of(Heap& heap, const Value& value) {
  if (is_undefined(value)) return 0;
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    heap.step_text(text->size());
    return utf8_length(*text);
  }
  if (const auto* dict = std::get_if<Dict*>(&value)) return std::ssize((*dict)->items);
  if (const auto* sequence = std::get_if<Sequence*>(&value);
      sequence && (*sequence)->kind != Sequence::Kind::generator)
    return std::ssize((*sequence)->items);
  template_error("a {} has no length", type_name(value));
}

bool is_iterable(const Value& value) {
  return is_undefined(value) || std::holds_alternative<std::string_view>(value) ||
         std::holds_alternative<Dict*>(value) || std::holds_alternative<Sequence*>(value);
}

std::vector<Value> items_of(Heap& heap, const Value& value) {
  ListBuilder out(heap);
  if (const auto* undefined = std::get_if<Undefined>(&value)) {
    if (undefined->forbidden) undefined_used(*undefined);
  } else if (const auto* text = std::get_if<std::string_view>(&value)) {
    heap.check_room(text->size() * sizeof(std::string_view));
    for (const std::string_view character : characters_of(*text)) out.push(character);
  } else if (const auto* dict = std::get_if<Dict*>(&value)) {
    for (const auto& [key, item] : (*dict)->items) out.push(key);
  } else if (const auto* sequence = std::get_if<Sequence*>(&value)) {
    if (!(*sequence)->consumed) out.push_all((*sequence)->items);
    (*sequence)->consumed = (*sequence)->kind == Sequence::Kind::generator;
  } else {
    template_error("a {} is not iterable", type_name(value));
  }
  return std::move(out.items());
}

const Value* find_item(Heap& heap, const Dict& dict, const Value& key) {
  require_hashable(key);
  for (const auto& [known, value] : dict.items)
    if (equal(heap, known, key)) return &value;
  return nullptr;
}

void set_item(Heap& heap, Dict& dict, const Value& key, const Value& value) {
  require_hashable(key);
  for (auto& [known, held] : dict.items)
    if (equal(heap, known, key)) {
      held = value;
      return;
    }
  heap.take(2 * sizeof(Value));
  dict.items.emplace_back(key, value);
}

std::optional<Value> item_of(Heap& heap, const Value& object, const Value& index) {
  heap.step();
  require_defined(object);
  if (const auto* dict = std::get_if<Dict*>(&object)) {
    const auto* sequence = std::get_if<Sequence*>(&index);
    if (std::holds_alternative<Dict*>(index) || (sequence && (*sequence)->kind == Sequence::Kind::list)) return {};
    const Value* found = find_item(heap, **dict, index);
    return found ? std::optional(*found) : std::nullopt;
  }
  const std::optional<int64_t> given = as_integer(index);
  if (!given) return {};
  const auto* text = std::get_if<std::string_view>(&object);
  if (!text && !is_list_like(object)) return {};
  const int64_t size = length_of(heap, object);
  const int64_t at = *given < 0 ? *given + size : *given;
  if (at < 0 || at >= size) return {};
  if (!text) return std::get<Sequence*>(object)->items[static_cast<size_t>(at)];
  return text_slice(heap, *text, {.first = at, .step = 1, .count = 1});
}

Value slice_of(Heap& heap, const Value& object, const std::optional<int64_t>& start,
               const std::optional<int64_t>& stop, const std::optional<int64_t>& step) {
  require_defined(object);
  if (step == 0) template_error("the step of a slice must not be 0");
  const auto* text = std::get_if<std::string_view>(&object);
  if (!text && !is_list_like(object)) template_error("a {} has no slices", type_name(object));
  const SliceIndices at = slice_indices(length_of(heap, object), start, stop, step.value_or(1));
  if (text) return text_slice(heap, *text, at);
  const Sequence& from = *std::get<Sequence*>(object);
  ListBuilder out(heap);
  for (int64_t i = 0; i < at.count; ++i) out.push(from.items[static_cast<size_t>(at.first + i * at.step)]);
  return out.finish(from.kind);
}

}  // namespace qkv::jinja
