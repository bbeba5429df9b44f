#include <algorithm>

#include "qkv/text/chat_template/attributes.h"
#include "qkv/text/chat_template/evaluator.h"
#include "qkv/text/chat_template/operators.h"
#include "qkv/text/chat_template/show.h"
#include "qkv/text/chat_template/template_error.h"

namespace qkv::jinja {
namespace {

// Sets a variable for the lifetime of the object.
template <class T>
class Temporarily {
 public:
  Temporarily(T& variable, T value) : variable_(variable), before_(variable) { variable = value; }
  ~Temporarily() { variable_ = before_; }
  Temporarily(const Temporarily&) = delete;
  Temporarily& operator=(const Temporarily&) = delete;

 private:
  T& variable_;
  const T before_;
};

}  // namespace

std::string Evaluator::render(const Template& parsed, Scope& variables) {
  scope_ = inner_scope(&variables);
  run(parsed.body);
  return std::move(output_);
}

void Evaluator::write(std::string_view text) {
  if (capture_) return capture_->append(text);
  heap_.step_text(text.size());
  if (text.size() > output_bytes_ - output_.size())
    template_error("the prompt has more than the {} bytes that are allowed", output_bytes_);
  output_.append(text);
}

Scope* Evaluator::inner_scope(Scope* outer) { return heap_.make(Scope{.outer = outer}); }

Evaluator::Flow Evaluator::run(const Body& body) {
  const Heap::Deeper deeper(heap_);
  for (const Statement& statement : body) {
    heap_.step();
    line_ = statement.line;
    const Flow flow = std::visit([&](const auto& node) { return run(node); }, statement.node);
    if (flow != Flow::normal) return flow;
  }
  return Flow::normal;
}

Evaluator::Flow Evaluator::run(const TextOutput& text) {
  write(text.text);
  return Flow::normal;
}

Evaluator::Flow Evaluator::run(const Print& print) {
  write(text_of(heap_, value(print.value)));
  return Flow::normal;
}

Evaluator::Flow Evaluator::run(const If& branches) {
  for (const If::Branch& branch : branches.branches)
    if (!branch.condition || truth(value(branch.condition))) return run(branch.body);
  return Flow::normal;
}

// The variables of a turn are gone in the next one.
Evaluator::Flow Evaluator::run(const For& loop) {
  Loop& turns = *heap_.make(Loop{.items = items_of(heap_, value(loop.items))});
  Scope* const outer = scope_;
  Scope* const inner = inner_scope(outer);
  const Temporarily scope(scope_, inner);
  if (loop.condition)
    turns.condition = [&](const Value& item) {
      const Temporarily own(scope_, inner_scope(outer));
      assign(loop.target, item);
      return truth(value(loop.condition));
    };
  Flow flow = Flow::normal;
  bool empty = true;
  while (flow != Flow::break_loop && advance(heap_, turns)) {
    empty = false;
    heap_.step();
    inner->variables.clear();
    set_variable("loop", &turns);
    assign(loop.target, turns.current);
    flow = run(loop.body);
  }
  inner->variables.clear();
  turns.condition = {};  // it refers to this call
  turns.next = turns.items.size();
  return empty ? run(loop.otherwise) : Flow::normal;
}

Evaluator::Flow Evaluator::run(const Set& set) {
  assign(set.target, value(set.value));
  return Flow::normal;
}

Evaluator::Flow Evaluator::run(const SetBlock& set) {
  const Value text = captured(set.body, *inner_scope(scope_));
  assign(set.target, set.filter ? filtered(set.filter, text) : text);
  return Flow::normal;
}

Evaluator::Flow Evaluator::run(const MacroDefinition& macro) {
  const Macro* made = heap_.make(Macro{&macro, scope_});
  set_variable(macro.name, made);
  return Flow::normal;
}

Evaluator::Flow Evaluator::run(const CallBlock& block) {
  const Call& what = std::get<Call>(block.call->node);
  const Value function = value(what.function);
  Arguments given = arguments(what.arguments);
  const Macro* caller = heap_.make(Macro{&block.caller, scope_});
  given.keywords.emplace_back("caller", caller);
  write(text_of(heap_, call(function, given)));
  return Flow::normal;
}

Evaluator::Flow Evaluator::run(const FilterBlock& block) {
  write(text_of(heap_, filtered(block.filter, captured(block.body, *inner_scope(scope_)))));
  return Flow::normal;
}

Evaluator::Flow Evaluator::run(const With& with) {
  Scope* inner = inner_scope(scope_);
  std::vector<Value> values;
  for (const auto& [target, expression] : with.variables) values.push_back(value(expression));
  const Temporarily scope(scope_, inner);
  for (size_t i = 0; i < values.size(); ++i) assign(with.variables[i].first, values[i]);
  return run(with.body);
}

std::string_view Evaluator::captured(const Body& body, Scope& scope) {
  TextBuilder text(heap_);
  const Temporarily inner(scope_, &scope);
  const Temporarily<TextBuilder*> capture(capture_, &text);
  run(body);
  return text.finish();
}

Value Evaluator::filtered(const ExpressionPtr& filter, const Value& text) {
  const Temporarily input(filter_input_, text);
  return value(filter);
}

void Evaluator::set_variable(std::string_view name, const Value& value) {
  heap_.step(scope_->variables.size() / 8 + 1);
  heap_.take(sizeof(Value));
  scope_->set(name, value);
}

void Evaluator::assign(const Target& target, const Value& value) {
  if (target.is_tuple) {
    require_defined(value);
    const std::vector<Value> values = items_of(heap_, value);
    if (values.size() != target.items.size())
      template_error("{} values cannot be assigned to {} names", values.size(), target.items.size());
    for (size_t i = 0; i < values.size(); ++i) assign(target.items[i], values[i]);
    return;
  }
  if (target.attribute.empty()) return set_variable(target.name, value);
  const Value object = evaluate(Name{target.name});
  const auto* space = std::get_if<Namespace*>(&object);
  if (!space)
    template_error("'{}.{}' cannot be set: '{}' is a {}, only attributes of a namespace can", target.name,
                   target.attribute, target.name, type_name(object));
  set_item(heap_, (*space)->attributes, target.attribute, value);
}

// A parameter without a value is its default, which may use the parameters before it.
Value Evaluator::call_macro(const Macro& macro, Arguments given) {
  const Heap::Deeper deeper(heap_);
  const MacroDefinition& definition = *macro.definition;
  Scope* inner = inner_scope(macro.scope);
  const Temporarily scope(scope_, inner);
  const size_t by_position = std::min(given.positional.size(), definition.parameters.size());
  if (given.positional.size() > by_position && !definition.uses_rest)
    template_error("the macro '{}' takes at most {} arguments, got {}", definition.name,
                   definition.parameters.size(), given.positional.size());
  for (size_t i = 0; i < definition.parameters.size(); ++i) {
    const MacroDefinition::Parameter& parameter = definition.parameters[i];
    const auto named = std::find_if(given.keywords.begin(), given.keywords.end(),
                                    [&](const auto& keyword) { return keyword.first == parameter.name; });
    if (i < by_position) {
      set_variable(parameter.name, given.positional[i]);
    } else if (named != given.keywords.end()) {
      set_variable(parameter.name, named->second);
      given.keywords.erase(named);
    } else {
      set_variable(parameter.name,
                   parameter.default_value ? value(parameter.default_value) : Undefined{.name = parameter.name});
    }
  }
  Dict named_rest;
  Value caller = Undefined{.name = "caller"};
  for (const auto& [name, argument] : given.keywords) {
    if (name == "caller") {
      caller = argument;
    } else if (definition.uses_keyword_rest) {
      set_item(heap_, named_rest, name, argument);
    } else {
      template_error("the macro '{}' has no parameter '{}'", definition.name, name);
    }
  }
  if (!inner->find("caller")) set_variable("caller", caller);
  if (definition.uses_keyword_rest) set_variable("kwargs", heap_.make(std::move(named_rest)));
  if (definition.uses_rest) {
    ListBuilder rest(heap_);
    for (size_t i = by_position; i < given.positional.size(); ++i) rest.push(given.positional[i]);
    set_variable("varargs", rest.finish(Sequence::Kind::tuple));
  }
  return captured(definition.body, *inner);
}

}  // namespace qkv::jinja
