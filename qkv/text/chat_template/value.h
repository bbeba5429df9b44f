// The values of a template: those of Python that templates use.
//
//     Value v = int64_t{3};  if (const auto* text = std::get_if<std::string_view>(&v)) ...
//
// A value is small and copied freely: what it points to, text included, is owned by the Heap of a rendering, by the
// template or by the input. Text is valid UTF-8. Integers have 64 bits.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace qkv::jinja {

struct Sequence;
struct Dict;
struct Namespace;
struct Macro;
struct BoundMethod;
struct Function;
struct Loop;

// What a name or an attribute that does not exist gives. It may be printed, tested and iterated; anything else is an
// error that names it.
struct Undefined {
  std::string_view name = {};  // empty: an item of a list
  std::string_view of = {};    // the type of the object that has no such attribute: "dict"; empty: a variable
  bool forbidden = false;      // an attribute that exists but would change the object
};
struct None {};

using Value = std::variant<Undefined, None, bool, int64_t, double, std::string_view, Sequence*, Dict*, Namespace*,
                           const Macro*, const BoundMethod*, const Function*, Loop*>;

struct Sequence {
  enum class Kind { list, tuple, range, generator, dict_items, dict_keys, dict_values };
  Kind kind = Kind::list;
  std::vector<Value> items = {};
  std::string_view shown = {};  // str() of a range
  bool consumed = false;        // a generator gives its items once
};

struct Dict {
  std::vector<std::pair<Value, Value>> items = {};  // keys differ
};

struct Namespace {
  Dict attributes = {};
};

// A method of a string, list, dict or loop, before it is called.
struct BoundMethod {
  Value object;
  std::string_view name;
};

// The items of the innermost {% for %}: they are taken one by one, since its condition may depend on the body.
struct Loop {
  std::vector<Value> items = {};
  std::function<bool(const Value&)> condition = {};  // none: every item
  size_t next = 0;                                   // in items, the first that was not looked at
  int64_t index0 = -1;
  std::deque<Value> ahead = {};  // items that follow, as far as they are known
  Value current = {}, previous = {};
  std::vector<Value> last_changed = {};
  bool has_changed = false;
};

// "str", "int", "dict": as Python names the type.
std::string_view type_name(const Value& value);

inline bool is_undefined(const Value& value) { return std::holds_alternative<Undefined>(value); }
inline bool is_none(const Value& value) { return std::holds_alternative<None>(value); }
bool is_list_like(const Value& value);  // a list, tuple or range: has a length and an order

}  // namespace qkv::jinja
