// The chat template of a published model: the program, in the language Jinja, that makes the prompt of a conversation.
//
//     const ChatTemplate chat({.text = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"});
//     std::string prompt = chat.render(std::vector<ChatMessage>{{"user", "Hello"}});
//     std::string same = chat.render(Json::parse(messages), {.tools = Json::parse(tools)});
//
// The text is that of apply_chat_template() of Hugging Face transformers: Jinja2 with trim_blocks, lstrip_blocks, loop
// controls, an immutable sandbox, raise_exception(), strftime_now(), and the tojson of transformers; {% generation %} has
// no effect. The variables are messages, tools, documents, add_generation_prompt, the special tokens (bos_token,
// eos_token, ...), and those of RenderOptions.
//
// Not in the language here: include, import, extends, block, recursive loops, autoescape, and the filters batch,
// filesizeformat, groupby, pprint, random, slice, striptags, truncate, urlencode, urlize, wordwrap, xmlattr; markup that
// is safe is ordinary text. Integers have 64 bits, names are ASCII. A name that a block sets is, before that, the variable
// around the block, also within inner blocks, where Jinja2 finds it undefined.
//
// A template is a file from outside, so what it may use is limited (ChatTemplateLimits).
// Errors: InputError that begins with the file and the line of the template, for a template that is wrong, refuses the
// conversation or exceeds a limit, and for input that is not UTF-8. A ChatTemplate may be used by several threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "qkv/base/json.h"

namespace qkv {

struct ChatMessage {
  std::string role, content;  // role: user, assistant, or system
  bool operator==(const ChatMessage&) const = default;
  operator Json() const { return {{"role", role}, {"content", content}}; }  // NOLINT: implicit on purpose
};

// What a model holds of it. Without a template the text is empty, and `file` says what was looked for.
struct ChatTemplateSource {
  std::string text = {};
  std::string file = "chat template";                                    // begins the errors
  std::vector<std::pair<std::string, std::string>> special_tokens = {};  // "bos_token", "<s>"
};

struct ChatTemplateLimits {
  size_t template_bytes = 1'000'000;
  uint64_t steps = 10'000'000;  // nodes of the template, items of lists, 64 bytes of text: less than two seconds
  int depth = 400;              // calls, blocks and expressions within each other; values within values
  size_t output_bytes = 64 << 20;
  size_t memory_bytes = 256 << 20;  // of all values that are ever made
};

struct RenderOptions {
  bool add_generation_prompt = true;    // ends with what begins an answer
  Json tools = {}, documents = {};      // arrays; null: none
  Json variables = {};                  // an object; its members are further variables
  std::optional<std::time_t> now = {};  // of strftime_now(); none: the time, in the local zone
};

namespace jinja {
struct Template;
}

class ChatTemplate {
 public:
  explicit ChatTemplate(const ChatTemplateSource& source, const ChatTemplateLimits& limits = {});

  // An array of objects: role and content, and whatever the template knows; or a vector of ChatMessage.
  std::string render(const Json& messages, const RenderOptions& options = {}) const;

 private:
  std::string file_;
  ChatTemplateLimits limits_;
  Json special_tokens_;
  std::shared_ptr<const jinja::Template> template_;
};

}  // namespace qkv
