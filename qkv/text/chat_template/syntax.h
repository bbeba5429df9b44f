// The syntax tree of a template. Names and text are views of the source, which Template owns.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "qkv/text/chat_template/value.h"

namespace qkv::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<const Expression>;

// f(1, x=2, *rest, **keyword_rest)
struct CallArguments {
  std::vector<ExpressionPtr> positional = {};
  std::vector<std::pair<std::string_view, ExpressionPtr>> keywords = {};
  ExpressionPtr rest = {}, keyword_rest = {};
};

enum class Operator { add, subtract, multiply, divide, floor_divide, modulo, power, logical_and, logical_or };
enum class Comparator { equal, not_equal, less, less_equal, greater, greater_equal, in, not_in };
enum class UnaryOperator { minus, plus, logical_not };

struct Literal {
  Value value;
};
struct Name {
  std::string_view name;
};
struct ListDisplay {
  bool is_tuple;
  std::vector<ExpressionPtr> items;
};
struct DictDisplay {
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> items;
};
struct Attribute {
  ExpressionPtr object;
  std::string_view name;
};
struct Subscript {
  ExpressionPtr object, index;
};
struct Slice {  // any of the bounds may be missing
  ExpressionPtr object, start, stop, step;
};
struct Call {
  ExpressionPtr function;
  CallArguments arguments;
};
struct Filter {
  ExpressionPtr value;  // none: the text of the block that is filtered
  std::string_view name;
  CallArguments arguments;
};
struct Test {
  ExpressionPtr value;
  std::string_view name;
  CallArguments arguments;
};
struct Unary {
  UnaryOperator op;
  ExpressionPtr operand;
};
struct Binary {
  Operator op;
  ExpressionPtr left, right;
};
struct Comparison {  // a < b < c
  ExpressionPtr first;
  std::vector<std::pair<Comparator, ExpressionPtr>> rest;
};
struct Concatenation {  // a ~ b ~ c
  std::vector<ExpressionPtr> items;
};
struct Conditional {
  ExpressionPtr condition, value, otherwise;  // otherwise may be missing
};

struct Expression {
  int line = 0;
  int depth = 0;  // of the tree
  std::variant<Literal, Name, ListDisplay, DictDisplay, Attribute, Subscript, Slice, Call, Filter, Test, Unary,
               Binary, Comparison, Concatenation, Conditional>
      node;
};

struct Statement;
using Body = std::vector<Statement>;

// What is assigned to: a name, an attribute of a namespace, or a tuple of targets.
struct Target {
  std::string_view name = {}, attribute = {};
  bool is_tuple = false;
  std::vector<Target> items = {};
};

struct TextOutput {
  std::string_view text;
};
struct Print {
  ExpressionPtr value;
};
struct If {
  struct Branch {
    ExpressionPtr condition;  // none: else
    Body body;
  };
  std::vector<Branch> branches;
};
struct For {
  Target target;
  ExpressionPtr items, condition;  // condition may be missing
  Body body, otherwise;
};
struct Set {
  Target target;
  ExpressionPtr value;
};
struct SetBlock {
  Target target;
  ExpressionPtr filter;  // may be missing
  Body body;
};
struct MacroDefinition {
  struct Parameter {
    std::string_view name;
    ExpressionPtr default_value;  // may be missing
  };
  std::string_view name;
  std::vector<Parameter> parameters;
  Body body;
  bool uses_rest = false, uses_keyword_rest = false;  // the names varargs and kwargs
};
struct CallBlock {
  MacroDefinition caller;
  ExpressionPtr call;
};
struct FilterBlock {
  ExpressionPtr filter;
  Body body;
};
struct With {  // {% generation %}, too
  std::vector<std::pair<Target, ExpressionPtr>> variables;
  Body body;
};
struct Break {};
struct Continue {};

struct Statement {
  int line = 0;
  std::variant<TextOutput, Print, If, For, Set, SetBlock, MacroDefinition, CallBlock, FilterBlock, With, Break,
               Continue>
      node;
};

struct Template {
  std::string source;
  std::deque<std::string> strings;  // literals with escapes
  Body body;
};

}  // namespace qkv::jinja
