#include "qkv/text/chat_template/attributes.h"

#include <algorithm>
#include <array>

#include "qkv/text/chat_template/operators.h"
#include "qkv/text/chat_template/syntax.h"
#include "qkv/text/chat_template/template_error.h"

namespace qkv::jinja {
namespace {

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array<std::string_view, 5> dict_methods = {"items", "keys", "values", "get", "copy"};
constexpr std::array<std::string_view, 5> dict_changes = {"clear", "pop", "popitem", "setdefault", "update"};
constexpr std::array<std::string_view, 3> list_methods = {"index", "count", "copy"};
constexpr std::array<std::string_view, 8> list_changes = {"append", "clear", "pop",    "reverse",
                                                          "insert", "sort",  "extend", "remove"};

enum class Member { none, method, forbidden };

Member member(const Value& object, std::string_view name) {
  std::span<const std::string_view> methods, changes;
  if (std::holds_alternative<std::string_view>(object)) return is_text_method(name) ? Member::method : Member::none;
  if (std::holds_alternative<Loop*>(object)) return is_loop_method(name) ? Member::method : Member::none;
  if (std::holds_alternative<Dict*>(object)) {
    methods = dict_methods, changes = dict_changes;
  } else if (const auto* sequence = std::get_if<Sequence*>(&object)) {
    const bool is_list = (*sequence)->kind == Sequence::Kind::list;
    if (is_list || (*sequence)->kind == Sequence::Kind::tuple || (*sequence)->kind == Sequence::Kind::range)
      methods = std::span(list_methods).first(is_list ? 3 : 2);
    if (is_list) changes = list_changes;
  }
  return is_one_of(name, methods) ? Member::method : is_one_of(name, changes) ? Member::forbidden : Member::none;
}

// Methods and properties; not items.
std::optional<Value> member_of(Heap& heap, const Value& object, std::string_view name) {
  if (const auto* loop = std::get_if<Loop*>(&object))
    if (const auto value = loop_attribute(heap, **loop, name)) return value;
  if (const auto* space = std::get_if<Namespace*>(&object)) {
    const Value* found = find_item(heap, (*space)->attributes, name);
    return found ? std::optional(*found) : std::nullopt;
  }
  if (const auto* macro = std::get_if<const Macro*>(&object); macro && name == "name")
    return (*macro)->definition->name;
  switch (member(object, name)) {
    case Member::method: return heap.make(BoundMethod{object, name});
    case Member::forbidden: return Undefined{.name = name, .of = type_name(object), .forbidden = true};
    case Member::none: break;
  }
  return {};
}

Value dict_method(Heap& heap, Dict& dict, std::string_view name, const Arguments& arguments) {
  constexpr std::array<std::string_view, 2> key_default = {"key", "default"};
  const Bound given = match_arguments(name, arguments, std::span(key_default).first(name == "get" ? 2 : 0));
  if (name == "get") {
    const Value* found = find_item(heap, dict, given.required(0));
    return found ? *found : given.value(1, None{});
  }
  if (name == "copy") {
    heap.take(dict.items.size() * 2 * sizeof(Value));
    return heap.make(Dict(dict));
  }
  ListBuilder out(heap);
  for (const auto& [key, value] : dict.items) {
    if (name == "keys") {
      out.push(key);
    } else if (name == "values") {
      out.push(value);
    } else {
      ListBuilder pair(heap);
      pair.push(key), pair.push(value);
      out.push(pair.finish(Sequence::Kind::tuple));
    }
  }
  using Kind = Sequence::Kind;
  return out.finish(name == "keys" ? Kind::dict_keys : name == "values" ? Kind::dict_values : Kind::dict_items);
}

Value list_method(Heap& heap, const Sequence& list, std::string_view name, const Arguments& arguments) {
  constexpr std::array<std::string_view, 1> parameters = {"value"};
  const Bound given = match_arguments(name, arguments, std::span(parameters).first(name == "copy" ? 0 : 1));
  if (name == "copy") {
    ListBuilder out(heap);
    out.push_all(list.items);
    return out.finish();
  }
  const auto is_value = [&](const Value& item) { return equal(heap, item, given.required(0)); };
  if (name == "count") return int64_t{std::count_if(list.items.begin(), list.items.end(), is_value)};
  const auto found = std::find_if(list.items.begin(), list.items.end(), is_value);
  if (found == list.items.end()) template_error("index(): the value is not in the list");
  return int64_t{found - list.items.begin()};
}

Value undefined_member(const Value& object, std::string_view name) {
  return Undefined{.name = name, .of = type_name(object)};
}

}  // namespace

Value attribute_of(Heap& heap, const Value& object, std::string_view name) {
  heap.step();
  require_defined(object);
  if (const auto value = member_of(heap, object, name)) return *value;
  if (const auto* dict = std::get_if<Dict*>(&object))
    if (const Value* found = find_item(heap, **dict, name)) return *found;
  return undefined_member(object, name);
}

Value subscript_of(Heap& heap, const Value& object, const Value& index) {
  if (const auto value = item_of(heap, object, index)) return *value;
  const auto* name = std::get_if<std::string_view>(&index);
  if (!name) return undefined_member(object, "");
  if (const auto value = member_of(heap, object, *name)) return *value;
  return undefined_member(object, *name);
}

Value call_method(Heap& heap, const BoundMethod& method, const Arguments& arguments) {
  const Value& object = method.object;
  if (const auto* text = std::get_if<std::string_view>(&object))
    return call_text_method(heap, *text, method.name, arguments);
  if (const auto* dict = std::get_if<Dict*>(&object)) return dict_method(heap, **dict, method.name, arguments);
  if (const auto* loop = std::get_if<Loop*>(&object)) return call_loop_method(heap, **loop, method.name, arguments);
  return list_method(heap, *std::get<Sequence*>(object), method.name, arguments);
}

}  // namespace qkv::jinja
