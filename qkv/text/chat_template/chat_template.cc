#include "qkv/text/chat_template/chat_template.h"

#include "qkv/base/error.h"
#include "qkv/text/chat_template/evaluator.h"
#include "qkv/text/chat_template/input_values.h"
#include "qkv/text/chat_template/parser.h"
#include "qkv/text/chat_template/template_error.h"
#include "qkv/text/utf8.h"

namespace qkv {

ChatTemplate::ChatTemplate(const ChatTemplateSource& source, const ChatTemplateLimits& limits)
    : file_(source.file), limits_(limits), special_tokens_(Json::object()) {
  require<InputError>(source.text.size() <= limits.template_bytes, file_,
                      "the chat template must have at most {} bytes, got {}", limits.template_bytes,
                      source.text.size());
  if (const auto at = utf8_error(source.text))
    fail<InputError>(file_, "the chat template: invalid UTF-8 at byte {}", *at + 1);
  for (const auto& [name, token] : source.special_tokens) special_tokens_[name] = token;
  try {
    template_ = jinja::parse_template(source.text);
  } catch (const jinja::TemplateError& error) {
    fail<InputError>(file_, "the chat template, line {}: {}", error.line, error.message);
  }
}

std::string ChatTemplate::render(const Json& messages, const RenderOptions& options) const {
  require<InputError>(messages.is_array(), file_, "messages must be an array of objects, got {}",
                      shown_json(messages));
  require<InputError>(options.variables.is_null() || options.variables.is_object(), file_,
                      "variables must be an object, got {}", shown_json(options.variables));
  jinja::Heap heap(limits_);
  jinja::Evaluator evaluator(heap, limits_.output_bytes, options.now.value_or(std::time(nullptr)));
  try {
    jinja::Scope variables;
    const auto set = [&](std::string_view name, const Json& value) {  // a name that outlives the rendering
      variables.set(name, jinja::value_of(heap, value, name));
    };
    for (const Json::Member& token : special_tokens_.items()) set(token.name, token.value);
    set("messages", messages);
    set("tools", options.tools);
    set("documents", options.documents);
    variables.set("add_generation_prompt", options.add_generation_prompt);
    if (options.variables.is_object())
      for (const Json::Member& variable : options.variables.items()) set(variable.name, variable.value);
    return evaluator.render(*template_, variables);
  } catch (const jinja::TemplateError& error) {
    fail<InputError>(file_, "the chat template, line {}: {}", error.line > 0 ? error.line : evaluator.line(),
                     error.message);
  }
}

}  // namespace qkv
