// The variables of a loop, a macro or a block, and those around it; and what a macro keeps of the place of its
// definition.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "qkv/text/chat_template/value.h"

namespace qkv::jinja {

struct MacroDefinition;

struct Scope {
  Scope* outer = nullptr;
  std::vector<std::pair<std::string_view, Value>> variables = {};

  Value* find(std::string_view name) {
    for (auto& [known, value] : variables)
      if (known == name) return &value;
    return nullptr;
  }
  void set(std::string_view name, const Value& value) {
    if (Value* known = find(name)) {
      *known = value;
    } else {
      variables.emplace_back(name, value);
    }
  }
};

struct Macro {
  const MacroDefinition* definition;
  Scope* scope;
};

}  // namespace qkv::jinja
