// Walks the syntax tree: statements write text, expressions give values.
//
//     Heap heap(limits);
//     std::string text = Evaluator(heap, limits.output_bytes, now).render(parsed, variables);
#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "qkv/text/chat_template/arguments.h"
#include "qkv/text/chat_template/heap.h"
#include "qkv/text/chat_template/syntax.h"
#include "qkv/text/chat_template/value.h"

namespace qkv::jinja {

class Evaluator {
 public:
  Evaluator(Heap& heap, size_t output_bytes, std::time_t now)
      : heap_(heap), output_bytes_(output_bytes), now_(now) {}

  std::string render(const Template& parsed, Scope& variables);
  int line() const { return line_; }  // of what was evaluated last

 private:
  enum class Flow { normal, break_loop, continue_loop };

  Flow run(const Body& body);
  Flow run(const TextOutput& text);
  Flow run(const Print& print);
  Flow run(const If& branches);
  Flow run(const For& loop);
  Flow run(const Set& set);
  Flow run(const SetBlock& set);
  Flow run(const MacroDefinition& macro);
  Flow run(const CallBlock& block);
  Flow run(const FilterBlock& block);
  Flow run(const With& with);
  Flow run(const Break&) { return Flow::break_loop; }
  Flow run(const Continue&) { return Flow::continue_loop; }

  Value value(const ExpressionPtr& expression) { return value(*expression); }
  Value value(const Expression& expression);
  Value evaluate(const Literal& literal) { return literal.value; }
  Value evaluate(const Name& name);
  Value evaluate(const ListDisplay& list);
  Value evaluate(const DictDisplay& dict);
  Value evaluate(const Attribute& attribute);
  Value evaluate(const Subscript& subscript);
  Value evaluate(const Slice& slice);
  Value evaluate(const Call& call);
  Value evaluate(const Filter& filter);
  Value evaluate(const Test& test);
  Value evaluate(const Unary& unary);
  Value evaluate(const Binary& binary);
  Value evaluate(const Comparison& comparison);
  Value evaluate(const Concatenation& concatenation);
  Value evaluate(const Conditional& conditional);

  Arguments arguments(const CallArguments& given);
  Value call(const Value& function, const Arguments& given);
  Value call_macro(const Macro& macro, Arguments given);
  void assign(const Target& target, const Value& value);
  void set_variable(std::string_view name, const Value& value);
  Value filtered(const ExpressionPtr& filter, const Value& text);
  std::string_view captured(const Body& body, Scope& scope);
  Scope* inner_scope(Scope* outer);
  void write(std::string_view text);

  Heap& heap_;
  const size_t output_bytes_;
  const std::time_t now_;
  int line_ = 1;
  Scope* scope_ = nullptr;
  TextBuilder* capture_ = nullptr;  // none: what is written is output
  std::string output_;
  Value filter_input_ = {};  // of the innermost filtered block
};

}  // namespace qkv::jinja
