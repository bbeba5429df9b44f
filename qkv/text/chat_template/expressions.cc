#include "qkv/text/chat_template/attributes.h"
#include "qkv/text/chat_template/evaluator.h"
#include "qkv/text/chat_template/filters.h"
#include "qkv/text/chat_template/functions.h"
#include "qkv/text/chat_template/operators.h"
#include "qkv/text/chat_template/show.h"
#include "qkv/text/chat_template/template_error.h"

namespace qkv::jinja {

Value Evaluator::value(const Expression& expression) {
  const Heap::Deeper deeper(heap_);
  heap_.step();
  line_ = expression.line;
  return std::visit([&](const auto& node) { return evaluate(node); }, expression.node);
}

Value Evaluator::evaluate(const Name& name) {
  for (Scope* scope = scope_; scope; scope = scope->outer) {
    heap_.step(scope->variables.size() / 8 + 1);
    if (const Value* found = scope->find(name.name)) return *found;
  }
  for (const Function& function : functions())
    if (function.name == name.name) return &function;
  return Undefined{.name = name.name};
}

Value Evaluator::evaluate(const ListDisplay& list) {
  ListBuilder out(heap_);
  for (const ExpressionPtr& item : list.items) out.push(value(item));
  return out.finish(list.is_tuple ? Sequence::Kind::tuple : Sequence::Kind::list);
}

Value Evaluator::evaluate(const DictDisplay& dict) {
  Dict out;
  for (const auto& [key_expression, value_expression] : dict.items) {
    const Value key = value(key_expression);
    set_item(heap_, out, key, value(value_expression));
  }
  return heap_.make(std::move(out));
}

Value Evaluator::evaluate(const Attribute& attribute) {
  const int line = line_;
  const Value object = value(attribute.object);
  line_ = line;
  return attribute_of(heap_, object, attribute.name);
}

Value Evaluator::evaluate(const Subscript& subscript) {
  const Value object = value(subscript.object);
  return subscript_of(heap_, object, value(subscript.index));
}

Value Evaluator::evaluate(const Slice& slice) {
  const Value object = value(slice.object);
  const auto bound = [&](const ExpressionPtr& expression) -> std::optional<int64_t> {
    if (!expression) return {};
    const Value given = value(expression);
    return is_none(given) ? std::nullopt : std::optional(integer_of(given, "the bound of a slice"));
  };
  const auto start = bound(slice.start), stop = bound(slice.stop), step = bound(slice.step);
  return slice_of(heap_, object, start, stop, step);
}

Arguments Evaluator::arguments(const CallArguments& given) {
  Arguments out;
  for (const ExpressionPtr& expression : given.positional) out.positional.push_back(value(expression));
  for (const auto& [name, expression] : given.keywords) out.keywords.emplace_back(name, value(expression));
  if (given.rest)
    for (const Value& item : items_of(heap_, value(given.rest))) out.positional.push_back(item);
  if (given.keyword_rest) {
    const Value rest = value(given.keyword_rest);
    const auto* dict = std::get_if<Dict*>(&rest);
    if (!dict) template_error("** needs a dict, got a {}", type_name(rest));
    for (const auto& [key, item] : (*dict)->items) {
      const std::string_view name = text_value(key, "the name of an argument");
      heap_.step(out.keywords.size() / 8 + 1);
      for (const auto& [known, value] : out.keywords)
        if (known == name) template_error("the argument '{}' is given twice", name);
      out.keywords.emplace_back(name, item);
    }
  }
  return out;
}

Value Evaluator::evaluate(const Call& called) {
  const int line = line_;
  const Value function = value(called.function);
  const Arguments given = arguments(called.arguments);
  line_ = line;
  return call(function, given);
}

Value Evaluator::call(const Value& function, const Arguments& given) {
  require_defined(function);
  if (const auto* macro = std::get_if<const Macro*>(&function)) return call_macro(**macro, given);
  if (const auto* method = std::get_if<const BoundMethod*>(&function)) return call_method(heap_, **method, given);
  if (const auto* known = std::get_if<const Function*>(&function)) return (*known)->call({heap_, given, now_});
  template_error("a {} cannot be called", type_name(function));
}

Value Evaluator::evaluate(const Filter& filter) {
  const int line = line_;
  const Value input = filter.value ? value(filter.value) : filter_input_;
  const Arguments given = arguments(filter.arguments);
  line_ = line;
  return apply_filter(heap_, filter.name, input, given);
}

Value Evaluator::evaluate(const Test& test) {
  const int line = line_;
  const Value input = value(test.value);
  const Arguments given = arguments(test.arguments);
  line_ = line;
  return apply_test(heap_, test.name, input, given);
}

Value Evaluator::evaluate(const Unary& unary) {
  const Value operand = value(unary.operand);
  if (unary.op == UnaryOperator::logical_not) return !truth(operand);
  const Value minus = negated(operand);
  return unary.op == UnaryOperator::minus ? minus : negated(minus);
}

Value Evaluator::evaluate(const Binary& binary) {
  const int line = line_;
  const Value left = value(binary.left);
  if (binary.op == Operator::logical_and) return truth(left) ? value(binary.right) : left;
  if (binary.op == Operator::logical_or) return truth(left) ? left : value(binary.right);
  const Value right = value(binary.right);
  line_ = line;
  return arithmetic(heap_, binary.op, left, right);
}

Value Evaluator::evaluate(const Comparison& comparison) {
  const int line = line_;
  Value left = value(comparison.first);
  for (const auto& [comparator, expression] : comparison.rest) {
    const Value right = value(expression);
    line_ = line;
    if (!compare(heap_, comparator, left, right)) return false;
    left = right;
  }
  return true;
}

Value Evaluator::evaluate(const Concatenation& concatenation) {
  TextBuilder out(heap_);
  for (const ExpressionPtr& item : concatenation.items) out.append(text_of(heap_, value(item)));
  return out.finish();
}

Value Evaluator::evaluate(const Conditional& conditional) {
  if (truth(value(conditional.condition))) return value(conditional.value);
  if (conditional.otherwise) return value(conditional.otherwise);
  return Undefined{.name = "the value of an inline if without else"};
}

}  // namespace qkv::jinja
