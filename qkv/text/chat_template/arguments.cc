#include "qkv/text/chat_template/arguments.h"

#include <algorithm>

#include "qkv/text/chat_template/operators.h"
#include "qkv/text/chat_template/template_error.h"

namespace qkv::jinja {

const Value& Bound::required(size_t i) const {
  if (!values_[i]) template_error("the argument '{}' is missing", names_[i]);
  return *values_[i];
}

bool Bound::boolean(size_t i, bool missing) const { return values_[i] ? truth(*values_[i]) : missing; }

int64_t Bound::integer(size_t i, int64_t missing) const {
  return values_[i] ? integer_of(*values_[i], names_[i]) : missing;
}

std::string_view Bound::text(size_t i, std::string_view missing) const {
  return values_[i] ? text_value(*values_[i], names_[i]) : missing;
}

bool Bound::is_none(size_t i) const { return !values_[i] || jinja::is_none(*values_[i]); }

Bound match_arguments(std::string_view callee, const Arguments& arguments,
                      std::span<const std::string_view> parameters) {
  Bound out(parameters);
  if (arguments.positional.size() > parameters.size())
    template_error("{}: takes at most {} arguments, got {}", callee, parameters.size(),
                   arguments.positional.size());
  for (size_t i = 0; i < arguments.positional.size(); ++i) out[i] = arguments.positional[i];
  for (const auto& [name, value] : arguments.keywords) {
    const auto at = static_cast<size_t>(std::find(parameters.begin(), parameters.end(), name) - parameters.begin());
    if (at == parameters.size()) template_error("{}: has no argument '{}'", callee, name);
    if (out[at]) template_error("{}: the argument '{}' is given twice", callee, name);
    out[at] = value;
  }
  return out;
}

}  // namespace qkv::jinja
