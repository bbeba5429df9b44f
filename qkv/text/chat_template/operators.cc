#include "qkv/text/chat_template/operators.h"

#include <algorithm>
#include <cmath>

#include "qkv/text/chat_template/percent_format.h"
#include "qkv/text/chat_template/template_error.h"
#include "qkv/text/chat_template/text_finder.h"

namespace qkv::jinja {
namespace {

template <class T>
const T* get(const Value& value) {
  return std::get_if<T>(&value);
}

int64_t floor_quotient(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

[[noreturn]] void overflow() { template_error("an integer has more than 64 bits"); }

Value integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) template_error("0 has no negative power");
    return std::pow(static_cast<double>(base), static_cast<double>(exponent));
  }
  int64_t out = 1;
  if (base == 1 || base == 0 || base == -1)
    return base == -1 ? (exponent % 2 == 0 ? 1 : -1) : exponent == 0 ? 1 : base;
  for (; exponent > 0; --exponent)  // at most 63 times
    if (__builtin_mul_overflow(out, base, &out)) overflow();
  return out;
}

// Python's: the sign of the divisor.
int64_t integer_modulo(int64_t a, int64_t b) {
  const int64_t rest = b == -1 ? 0 : a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

Value integer_arithmetic(Operator op, int64_t a, int64_t b) {
  int64_t out = 0;
  bool too_large = false;
  const bool divides = op == Operator::divide || op == Operator::floor_divide || op == Operator::modulo;
  if (divides && b == 0) template_error("division by zero");
  switch (op) {
    case Operator::add: too_large = __builtin_add_overflow(a, b, &out); break;
    case Operator::subtract: too_large = __builtin_sub_overflow(a, b, &out); break;
    case Operator::multiply: too_large = __builtin_mul_overflow(a, b, &out); break;
    case Operator::divide: return static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b));
    case Operator::floor_divide:
      too_large = a == INT64_MIN && b == -1;
      out = too_large ? 0 : floor_quotient(a, b);
      break;
    case Operator::modulo: out = integer_modulo(a, b); break;
    default: return integer_power(a, b);
  }
  if (too_large) overflow();
  return out;
}

// Python's: the sign of the divisor.
double float_modulo(double a, double b) {
  double out = std::fmod(a, b);
  if (out != 0 && (out < 0) != (b < 0)) out += b;
  return out == 0 ? std::copysign(0.0, b) : out;
}

Value float_arithmetic(Operator op, double a, double b) {
  const bool divides = op == Operator::divide || op == Operator::floor_divide || op == Operator::modulo;
  if (divides && b == 0) template_error("division by zero");
  switch (op) {
    case Operator::add: return a + b;
    case Operator::subtract: return a - b;
    case Operator::multiply: return a * b;
    case Operator::divide: return a / b;
    case Operator::floor_divide: {
      const double quotient = (a - float_modulo(a, b)) / b;  // whole but for rounding
      return quotient == 0 ? std::copysign(0.0, a / b) : std::round(quotient);
    }
    case Operator::modulo: return float_modulo(a, b);
    default: break;
  }
  if (a == 0 && b < 0) template_error("0 has no negative power");
  const double out = std::pow(a, b);
  if (std::isnan(out) && !std::isnan(a) && !std::isnan(b))
    template_error("a negative number has no power that is not an integer");
  if (std::isinf(out) && std::isfinite(a) && std::isfinite(b)) template_error("a power is out of range");
  return out;
}

Value joined(Heap& heap, const Sequence& a, const Sequence& b) {
  ListBuilder out(heap);
  out.push_all(a.items);
  out.push_all(b.items);
  return out.finish(a.kind);
}

// "ab" * 3 and [1] * 3, in either order.
std::optional<Value> repeated(Heap& heap, const Value& value, const Value& count) {
  const std::optional<int64_t> times = as_integer(count);
  if (!times) return {};
  if (const auto* text = get<std::string_view>(value)) {
    TextBuilder out(heap);
    if (!text->empty())
      for (int64_t i = 0; i < *times; ++i) out.append(*text);
    return out.finish();
  }
  const auto* sequence = get<Sequence*>(value);
  if (!sequence || ((*sequence)->kind != Sequence::Kind::list && (*sequence)->kind != Sequence::Kind::tuple))
    return {};
  ListBuilder out(heap);
  if (!(*sequence)->items.empty())
    for (int64_t i = 0; i < *times; ++i) out.push_all((*sequence)->items);
  return out.finish((*sequence)->kind);
}

std::string_view symbol_of(Operator op) {
  switch (op) {
    case Operator::add: return "+";
    case Operator::subtract: return "-";
    case Operator::multiply: return "*";
    case Operator::divide: return "/";
    case Operator::floor_divide: return "//";
    case Operator::modulo: return "%";
    default: return "**";
  }
}

bool less_items(Heap& heap, const std::vector<Value>& a, const std::vector<Value>& b) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i)
    if (!equal(heap, a[i], b[i])) return less(heap, a[i], b[i]);
  return a.size() < b.size();
}

bool equal_dicts(Heap& heap, const Dict& a, const Dict& b) {
  if (a.items.size() != b.items.size()) return false;
  return std::all_of(a.items.begin(), a.items.end(), [&](const auto& item) {
    const Value* other = find_item(heap, b, item.first);
    return other && equal(heap, item.second, *other);
  });
}

bool has_order(Sequence::Kind kind) {
  return kind == Sequence::Kind::list || kind == Sequence::Kind::tuple || kind == Sequence::Kind::range;
}

}  // namespace

void undefined_used(const Undefined& value) {
  if (value.forbidden) template_error("'{}' of a {} changes it, which a template may not do", value.name, value.of);
  if (value.of.empty()) template_error("'{}' is undefined", value.name);
  if (value.name.empty()) template_error("a {} has no item of that index", value.of);
  template_error("a {} has no attribute '{}'", value.of, value.name);
}

void require_defined(const Value& value) {
  if (const auto* undefined = get<Undefined>(value)) undefined_used(*undefined);
}

bool is_number(const Value& value) { return get<bool>(value) || get<int64_t>(value) || get<double>(value); }

std::optional<int64_t> as_integer(const Value& value) {
  if (const auto* integer = get<int64_t>(value)) return *integer;
  if (const auto* boolean = get<bool>(value)) return *boolean ? 1 : 0;
  return {};
}

double as_double(const Value& number) {
  if (const auto* value = get<double>(number)) return *value;
  return static_cast<double>(as_integer(number).value_or(0));
}

int64_t integer_of(const Value& value, std::string_view what) {
  require_defined(value);
  if (const auto integer = as_integer(value)) return *integer;
  template_error("{} must be an integer, got a {}", what, type_name(value));
}

std::string_view text_value(const Value& value, std::string_view what) {
  require_defined(value);
  if (const auto* text = get<std::string_view>(value)) return *text;
  template_error("{} must be text, got a {}", what, type_name(value));
}

bool truth(const Value& value) {
  if (is_undefined(value) || is_none(value)) return false;
  if (is_number(value)) return as_double(value) != 0;
  if (const auto* text = get<std::string_view>(value)) return !text->empty();
  if (const auto* dict = get<Dict*>(value)) return !(*dict)->items.empty();
  if (const auto* sequence = get<Sequence*>(value))
    return (*sequence)->kind == Sequence::Kind::generator || !(*sequence)->items.empty();
  return true;
}

bool equal(Heap& heap, const Value& a, const Value& b) {
  heap.step();
  if (is_number(a) && is_number(b)) {
    const auto whole_a = as_integer(a), whole_b = as_integer(b);
    if (whole_a && whole_b) return *whole_a == *whole_b;
    if (whole_a || whole_b) {  // exactly: long double holds both
      const auto exact = [](const Value& v) {
        return get<double>(v) ? static_cast<long double>(as_double(v)) : static_cast<long double>(*as_integer(v));
      };
      return exact(a) == exact(b);
    }
    return as_double(a) == as_double(b);
  }
  if (a.index() != b.index()) return false;
  if (const auto* text = get<std::string_view>(a)) {
    heap.step_text(text->size());
    return *text == std::get<std::string_view>(b);
  }
  if (is_undefined(a) || is_none(a)) return true;
  const Heap::Deeper deeper(heap);
  if (const auto* dict = get<Dict*>(a))
    return *dict == std::get<Dict*>(b) || equal_dicts(heap, **dict, *std::get<Dict*>(b));
  if (const auto* sequence = get<Sequence*>(a)) {
    const Sequence& x = **sequence;
    const Sequence& y = *std::get<Sequence*>(b);
    if (&x == &y) return true;
    if (x.kind != y.kind || !has_order(x.kind)) return false;
    return std::equal(x.items.begin(), x.items.end(), y.items.begin(), y.items.end(),
                      [&](const Value& v, const Value& w) { return equal(heap, v, w); });
  }
  if (const auto* loop = get<Loop*>(a)) return *loop == std::get<Loop*>(b);
  if (const auto* space = get<Namespace*>(a)) return *space == std::get<Namespace*>(b);
  if (const auto* macro = get<const Macro*>(a)) return *macro == std::get<const Macro*>(b);
  if (const auto* function = get<const Function*>(a)) return *function == std::get<const Function*>(b);
  const BoundMethod& x = *std::get<const BoundMethod*>(a);
  const BoundMethod& y = *std::get<const BoundMethod*>(b);
  return x.name == y.name && equal(heap, x.object, y.object);
}

bool less(Heap& heap, const Value& a, const Value& b) {
  heap.step();
  require_defined(a);
  require_defined(b);
  if (is_number(a) && is_number(b)) {
    const auto whole_a = as_integer(a), whole_b = as_integer(b);
    if (whole_a && whole_b) return *whole_a < *whole_b;
    const auto exact = [](const Value& v) {
      return get<double>(v) ? static_cast<long double>(as_double(v)) : static_cast<long double>(*as_integer(v));
    };
    return exact(a) < exact(b);
  }
  if (const auto* x = get<std::string_view>(a), *y = get<std::string_view>(b); x && y) {
    heap.step_text(std::min(x->size(), y->size()));
    return *x < *y;  // the order of UTF-8 is that of code points
  }
  if (const auto* x = get<Sequence*>(a), *y = get<Sequence*>(b);
      x && y && (*x)->kind == (*y)->kind &&
      ((*x)->kind == Sequence::Kind::list || (*x)->kind == Sequence::Kind::tuple)) {
    const Heap::Deeper deeper(heap);
    return less_items(heap, (*x)->items, (*y)->items);
  }
  template_error("a {} and a {} have no order", type_name(a), type_name(b));
}

bool compare(Heap& heap, Comparator comparator, const Value& a, const Value& b) {
  const auto is_nan = [](const Value& v) { return get<double>(v) && std::isnan(as_double(v)); };
  switch (comparator) {
    case Comparator::equal: return equal(heap, a, b);
    case Comparator::not_equal: return !equal(heap, a, b);
    case Comparator::less: return less(heap, a, b);
    case Comparator::greater: return less(heap, b, a);
    case Comparator::less_equal: return !less(heap, b, a) && !is_nan(a) && !is_nan(b);
    case Comparator::greater_equal: return !less(heap, a, b) && !is_nan(a) && !is_nan(b);
    case Comparator::in: return contains(heap, b, a);
    case Comparator::not_in: return !contains(heap, b, a);
  }
  return false;
}

bool contains(Heap& heap, const Value& container, const Value& item) {
  if (const auto* text = get<std::string_view>(container)) {
    const std::string_view part = text_value(item, "what is searched for in text");
    return TextFinder(heap, part).find(*text).has_value();
  }
  if (const auto* dict = get<Dict*>(container)) return find_item(heap, **dict, item) != nullptr;
  const std::vector<Value> items = items_of(heap, container);
  return std::any_of(items.begin(), items.end(), [&](const Value& value) { return equal(heap, value, item); });
}

Value arithmetic(Heap& heap, Operator op, const Value& a, const Value& b) {
  if (const auto* format = get<std::string_view>(a); format && op == Operator::modulo)
    return percent_formatted(heap, *format, b);
  require_defined(a);
  require_defined(b);
  if (is_number(a) && is_number(b)) {
    const auto whole_a = as_integer(a), whole_b = as_integer(b);
    return whole_a && whole_b ? integer_arithmetic(op, *whole_a, *whole_b)
                              : float_arithmetic(op, as_double(a), as_double(b));
  }
  if (op == Operator::add) {
    if (const auto* x = get<std::string_view>(a), *y = get<std::string_view>(b); x && y) {
      TextBuilder out(heap);
      out.append(*x), out.append(*y);
      return out.finish();
    }
    if (const auto* x = get<Sequence*>(a), *y = get<Sequence*>(b);
        x && y && (*x)->kind == (*y)->kind &&
        ((*x)->kind == Sequence::Kind::list || (*x)->kind == Sequence::Kind::tuple))
      return joined(heap, **x, **y);
  }
  if (op == Operator::multiply) {
    if (const auto out = repeated(heap, a, b)) return *out;
    if (const auto out = repeated(heap, b, a)) return *out;
  }
  template_error("a {} {} a {} is not possible", type_name(a), symbol_of(op), type_name(b));
}

Value negated(const Value& value) {
  require_defined(value);
  if (const auto* number = get<double>(value)) return -*number;
  const auto integer = as_integer(value);
  if (!integer) template_error("a {} has no negative", type_name(value));
  if (*integer == INT64_MIN) overflow();
  return -*integer;
}

}  // namespace qkv::jinja
