// Filters of and to lists, and default.
#include <algorithm>
#include <array>

#include "qkv/text/chat_template/attributes.h"
#include "qkv/text/chat_template/filters.h"
#include "qkv/text/chat_template/operators.h"
#include "qkv/text/chat_template/python_text.h"
#include "qkv/text/chat_template/show.h"
#include "qkv/text/chat_template/template_error.h"
#include "qkv/text/chat_template/text_finder.h"

namespace qkv::jinja {
namespace {

using SequenceKind = Sequence::Kind;

std::optional<Value> path_of(const FilterCall& c, size_t parameter) {
  return c.given.is_none(parameter) ? std::nullopt : std::optional(*c.given[parameter]);
}

// Text is compared without regard to case, unless that is wanted.
Value folded(Heap& heap, const Value& value, bool case_sensitive) {
  const auto* text = std::get_if<std::string_view>(&value);
  return text && !case_sensitive ? call_text_method(heap, *text, "lower", {}) : value;
}

Value pair_of(Heap& heap, const Value& a, const Value& b) {
  ListBuilder out(heap);
  out.push(a), out.push(b);
  return out.finish(SequenceKind::tuple);
}

// Sorts items by keys; equal ones keep their order.
Value sorted(Heap& heap, const std::vector<Value>& items, const std::vector<Value>& keys, bool reverse) {
  std::vector<size_t> order(items.size());
  heap.take(items.size() * sizeof(size_t));
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (reverse) std::swap(a, b);
    return !equal(heap, keys[a], keys[b]) && less(heap, keys[a], keys[b]);
  });
  ListBuilder out(heap);
  for (const size_t i : order) out.push(items[i]);
  return out.finish();
}

Value sort(const FilterCall& c) {
  const bool case_sensitive = c.given.boolean(1, false);
  std::vector<ValueFunction> attributes;  // several, separated by commas
  const auto* names = c.given[2] ? std::get_if<std::string_view>(&*c.given[2]) : nullptr;
  if (names) {
    for (const std::string_view name : TextFinder(c.heap, ",").split(*names, -1))
      attributes.push_back(attribute_getter(c.heap, Value(name)));
  } else {
    attributes.push_back(attribute_getter(c.heap, path_of(c, 2)));
  }
  const std::vector<Value> items = items_of(c.heap, c.value);
  std::vector<Value> keys;
  for (const Value& item : items) {
    ListBuilder key(c.heap);
    for (const ValueFunction& attribute : attributes) key.push(folded(c.heap, attribute(item), case_sensitive));
    keys.push_back(key.finish());
  }
  return sorted(c.heap, items, keys, c.given.boolean(0, false));
}

Value dict_sort(const FilterCall& c) {
  const auto* dict = std::get_if<Dict*>(&c.value);
  if (!dict) template_error("dictsort: needs a dict, got a {}", type_name(c.value));
  const std::string_view by = c.given.text(1, "key");
  if (by != "key" && by != "value") template_error("dictsort: by must be key or value");
  std::vector<Value> items, keys;
  for (const auto& [key, value] : (*dict)->items) {
    items.push_back(pair_of(c.heap, key, value));
    keys.push_back(folded(c.heap, by == "key" ? key : value, c.given.boolean(0, false)));
  }
  return sorted(c.heap, items, keys, c.given.boolean(2, false));
}

Value unique(const FilterCall& c) {
  const bool case_sensitive = c.given.boolean(0, false);
  const ValueFunction attribute = attribute_getter(c.heap, path_of(c, 1));
  ListBuilder out(c.heap);
  Dict seen;
  for (const Value& item : items_of(c.heap, c.value)) {
    const Value key = folded(c.heap, attribute(item), case_sensitive);
    if (find_item(c.heap, seen, key)) continue;
    set_item(c.heap, seen, key, None{});
    out.push(item);
  }
  return out.finish(SequenceKind::generator);
}

// min and max: the first of equal ones.
Value extreme(const FilterCall& c) {
  const ValueFunction attribute = attribute_getter(c.heap, path_of(c, 1));
  std::optional<Value> best, best_key;
  for (const Value& item : items_of(c.heap, c.value)) {
    const Value key = folded(c.heap, attribute(item), c.given.boolean(0, false));
    if (best && !(c.name == "min" ? less(c.heap, key, *best_key) : less(c.heap, *best_key, key))) continue;
    best = item, best_key = key;
  }
  return best.value_or(Undefined{.name = c.name, .of = "empty sequence"});
}

Value first(const FilterCall& c) {
  if (const auto* text = std::get_if<std::string_view>(&c.value))
    if (!text->empty()) return text->substr(0, byte_offset(*text, 1));
  if (const auto* sequence = std::get_if<Sequence*>(&c.value))
    if (!(*sequence)->consumed && !(*sequence)->items.empty() && (*sequence)->kind != SequenceKind::generator)
      return (*sequence)->items.front();
  const std::vector<Value> items = items_of(c.heap, c.value);
  return items.empty() ? Value(Undefined{.name = "first", .of = "empty sequence"}) : items.front();
}

Value last(const FilterCall& c) {
  const auto* sequence = std::get_if<Sequence*>(&c.value);
  if (sequence && (*sequence)->kind == SequenceKind::generator) template_error("last: a generator has no end");
  require_defined(c.value);
  const std::vector<Value> items = items_of(c.heap, c.value);
  return items.empty() ? Value(Undefined{.name = "last", .of = "empty sequence"}) : items.back();
}

Value reverse(const FilterCall& c) {
  if (std::holds_alternative<std::string_view>(c.value)) return slice_of(c.heap, c.value, {}, {}, -1);
  const auto* sequence = std::get_if<Sequence*>(&c.value);
  const bool is_generator = (sequence && (*sequence)->kind == SequenceKind::generator) || is_undefined(c.value);
  ListBuilder out(c.heap);
  const std::vector<Value> items = items_of(c.heap, c.value);
  for (auto item = items.rbegin(); item != items.rend(); ++item) out.push(*item);
  return out.finish(is_generator ? SequenceKind::list : SequenceKind::generator);
}

Value to_list(const FilterCall& c) {
  ListBuilder out(c.heap);
  out.push_all(items_of(c.heap, c.value));
  return out.finish();
}

Value items(const FilterCall& c) {
  ListBuilder out(c.heap);
  const auto* dict = std::get_if<Dict*>(&c.value);
  if (!dict && !is_undefined(c.value)) template_error("items: needs a dict, got a {}", type_name(c.value));
  if (dict)
    for (const auto& [key, value] : (*dict)->items) out.push(pair_of(c.heap, key, value));
  return out.finish(SequenceKind::generator);
}

Value default_value(const FilterCall& c) {
  const bool missing = is_undefined(c.value) || (c.given.boolean(1, false) && !truth(c.value));
  return missing ? c.given.value(0, "") : c.value;
}

Value map(const FilterCall& c) {
  ListBuilder out(c.heap);
  if (!truth(c.value)) return out.finish(SequenceKind::generator);
  ValueFunction function;
  Arguments rest = c.arguments;
  if (rest.positional.empty()) {
    constexpr std::array<std::string_view, 2> parameters = {"attribute", "default"};
    const Bound given = match_arguments("map", rest, parameters);
    const auto missing = given.is_none(1) ? std::nullopt : std::optional(*given[1]);
    function = attribute_getter(c.heap, given.required(0), missing);
  } else {
    const std::string_view name = text_value(rest.positional.front(), "the filter of map");
    rest.positional.erase(rest.positional.begin());
    function = [&heap = c.heap, name, rest](const Value& item) { return apply_filter(heap, name, item, rest); };
  }
  for (const Value& item : items_of(c.heap, c.value)) out.push(function(item));
  return out.finish(SequenceKind::generator);
}

// select, reject, selectattr, rejectattr.
Value select(const FilterCall& c) {
  ListBuilder out(c.heap);
  if (!truth(c.value)) return out.finish(SequenceKind::generator);
  Arguments rest = c.arguments;
  const auto take = [&]() -> std::optional<Value> {
    if (rest.positional.empty()) return {};
    const Value value = rest.positional.front();
    rest.positional.erase(rest.positional.begin());
    return value;
  };
  std::optional<Value> path;
  if (c.name.ends_with("attr") && !(path = take())) template_error("{}: needs the name of an attribute", c.name);
  const ValueFunction attribute = attribute_getter(c.heap, path);
  const std::optional<Value> test = take();
  const bool wanted = c.name.starts_with("select");
  for (const Value& item : items_of(c.heap, c.value)) {
    const Value value = attribute(item);
    const bool holds =
        test ? apply_test(c.heap, text_value(*test, "the name of a test"), value, rest) : truth(value);
    if (holds == wanted) out.push(item);
  }
  return out.finish(SequenceKind::generator);
}

constexpr std::array sequence_filter_table = {
    FilterEntry{"sort", sort, {"reverse", "case_sensitive", "attribute"}},
    FilterEntry{"dictsort", dict_sort, {"case_sensitive", "by", "reverse"}},
    FilterEntry{"unique", unique, {"case_sensitive", "attribute"}},
    FilterEntry{"min", extreme, {"case_sensitive", "attribute"}},
    FilterEntry{"max", extreme, {"case_sensitive", "attribute"}},
    FilterEntry{"first", first, {}},
    FilterEntry{"last", last, {}},
    FilterEntry{"reverse", reverse, {}},
    FilterEntry{"list", to_list, {}},
    FilterEntry{"items", items, {}},
    FilterEntry{"default", default_value, {"default_value", "boolean"}},
    FilterEntry{"d", default_value, {"default_value", "boolean"}},
    FilterEntry{"map", map, {FilterEntry::any}},
    FilterEntry{"select", select, {FilterEntry::any}},
    FilterEntry{"reject", select, {FilterEntry::any}},
    FilterEntry{"selectattr", select, {FilterEntry::any}},
    FilterEntry{"rejectattr", select, {FilterEntry::any}},
};

}  // namespace

std::span<const FilterEntry> sequence_filters() { return sequence_filter_table; }

ValueFunction attribute_getter(Heap& heap, const std::optional<Value>& path, const std::optional<Value>& missing) {
  std::vector<Value> parts;
  if (path) {
    const auto* text = std::get_if<std::string_view>(&*path);
    if (!text) parts.push_back(*path);
    if (text)
      for (const std::string_view part : TextFinder(heap, ".").split(*text, -1)) {
        const bool is_index = part.size() < 19 && consists_of(part, CharacterClass::digit);
        int64_t index = 0;
        if (is_index)
          for (const char digit : part) index = index * 10 + (digit - '0');
        parts.push_back(is_index ? Value(index) : Value(part));
      }
  }
  return [&heap, parts, missing](const Value& item) {
    Value value = item;
    for (const Value& part : parts) {
      value = subscript_of(heap, value, part);
      if (missing && is_undefined(value)) value = *missing;
    }
    return value;
  };
}

}  // namespace qkv::jinja
