// value is name(argument)
#include <algorithm>
#include <array>

#include "qkv/base/names.h"
#include "qkv/text/chat_template/attributes.h"
#include "qkv/text/chat_template/filters.h"
#include "qkv/text/chat_template/operators.h"
#include "qkv/text/chat_template/show.h"
#include "qkv/text/chat_template/template_error.h"

namespace qkv::jinja {
namespace {

struct TestCall {
  Heap& heap;
  const Value& value;
  const Value& other;  // of those that take an argument
};

template <class T>
bool is(const TestCall& c) {
  return std::holds_alternative<T>(c.value);
}

template <Comparator comparator>
bool compares(const TestCall& c) {
  return compare(c.heap, comparator, c.value, c.other);
}

template <int remainder>
bool leaves(const TestCall& c) {
  return equal(c.heap, arithmetic(c.heap, Operator::modulo, c.value, int64_t{2}), int64_t{remainder});
}

bool is_divisible(const TestCall& c) {
  return equal(c.heap, arithmetic(c.heap, Operator::modulo, c.value, c.other), int64_t{0});
}

bool is_true(const TestCall& c) { return is<bool>(c) && std::get<bool>(c.value); }
bool is_false(const TestCall& c) { return is<bool>(c) && !std::get<bool>(c.value); }
bool is_defined(const TestCall& c) { return !is_undefined(c.value); }
bool is_number_test(const TestCall& c) { return is_number(c.value); }
bool is_iterable_test(const TestCall& c) { return is_iterable(c.value) || is<Loop*>(c); }
bool is_sequence(const TestCall& c) {
  return is_undefined(c.value) || is<std::string_view>(c) || is<Dict*>(c) || is_list_like(c.value);
}
bool is_callable(const TestCall& c) {
  return is<const Macro*>(c) || is<const BoundMethod*>(c) || is<const Function*>(c);
}
bool never(const TestCall&) { return false; }

bool has_case(const TestCall& c, std::string_view method) {
  return std::get<bool>(call_text_method(c.heap, text_of(c.heap, c.value), method, {}));
}
bool is_lower(const TestCall& c) { return has_case(c, "islower"); }
bool is_upper(const TestCall& c) { return has_case(c, "isupper"); }

// The same object: of what cannot change, the same value.
bool is_same(const TestCall& c) {
  if (c.value.index() != c.other.index()) return false;
  if (const auto* sequence = std::get_if<Sequence*>(&c.value)) return *sequence == std::get<Sequence*>(c.other);
  if (const auto* dict = std::get_if<Dict*>(&c.value)) return *dict == std::get<Dict*>(c.other);
  return equal(c.heap, c.value, c.other);
}

bool names_filter(const TestCall& c) {
  return is<std::string_view>(c) && is_filter(std::get<std::string_view>(c.value));
}
bool names_test(const TestCall& c) {
  return is<std::string_view>(c) && is_test(std::get<std::string_view>(c.value));
}

struct TestEntry {
  std::string_view name;
  bool (*holds)(const TestCall&);
  std::string_view parameter = {};
};

constexpr std::array test_table = {
    TestEntry{"defined", is_defined},
    TestEntry{"undefined", is<Undefined>},
    TestEntry{"none", is<None>},
    TestEntry{"boolean", is<bool>},
    TestEntry{"true", is_true},
    TestEntry{"false", is_false},
    TestEntry{"integer", is<int64_t>},
    TestEntry{"float", is<double>},
    TestEntry{"number", is_number_test},
    TestEntry{"string", is<std::string_view>},
    TestEntry{"mapping", is<Dict*>},
    TestEntry{"sequence", is_sequence},
    TestEntry{"iterable", is_iterable_test},
    TestEntry{"callable", is_callable},
    TestEntry{"escaped", never},
    TestEntry{"lower", is_lower},
    TestEntry{"upper", is_upper},
    TestEntry{"filter", names_filter},
    TestEntry{"test", names_test},
    TestEntry{"odd", leaves<1>},
    TestEntry{"even", leaves<0>},
    TestEntry{"divisibleby", is_divisible, "num"},
    TestEntry{"sameas", is_same, "other"},
    TestEntry{"in", compares<Comparator::in>, "seq"},
    TestEntry{"==", compares<Comparator::equal>, "other"},
    TestEntry{"eq", compares<Comparator::equal>, "other"},
    TestEntry{"equalto", compares<Comparator::equal>, "other"},
    TestEntry{"!=", compares<Comparator::not_equal>, "other"},
    TestEntry{"ne", compares<Comparator::not_equal>, "other"},
    TestEntry{"<", compares<Comparator::less>, "other"},
    TestEntry{"lt", compares<Comparator::less>, "other"},
    TestEntry{"lessthan", compares<Comparator::less>, "other"},
    TestEntry{"<=", compares<Comparator::less_equal>, "other"},
    TestEntry{"le", compares<Comparator::less_equal>, "other"},
    TestEntry{">", compares<Comparator::greater>, "other"},
    TestEntry{"gt", compares<Comparator::greater>, "other"},
    TestEntry{"greaterthan", compares<Comparator::greater>, "other"},
    TestEntry{">=", compares<Comparator::greater_equal>, "other"},
    TestEntry{"ge", compares<Comparator::greater_equal>, "other"},
};

const TestEntry* test_named(std::string_view name) {
  const auto* found =
      std::find_if(test_table.begin(), test_table.end(), [&](const TestEntry& t) { return t.name == name; });
  return found == test_table.end() ? nullptr : found;
}

}  // namespace

bool is_test(std::string_view name) { return test_named(name) != nullptr; }

bool apply_test(Heap& heap, std::string_view name, const Value& value, const Arguments& arguments) {
  heap.step();
  const TestEntry* test = test_named(name);
  if (!test) template_error("there is no test {}", quoted_name(name).text());
  const Bound given =
      match_arguments(name, arguments, std::span(&test->parameter, test->parameter.empty() ? 0 : 1));
  return test->holds({heap, value, test->parameter.empty() ? value : given.required(0)});
}

}  // namespace qkv::jinja
