#include "qkv/pipeline/chat_prompt.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

#include "qkv/base/error.h"
#include "qkv/text/utf8.h"

namespace qkv {
namespace {

// Of every text within a value, but not of names.
template <class Function>
Json with_texts(const Json& value, const Function& changed) {
  if (value.is_string()) return changed(value.text());
  if (value.is_array()) {
    Json out = Json::array();
    for (const Json& item : value) out.push_back(with_texts(item, changed));
    return out;
  }
  if (!value.is_object()) return value;
  Json out = Json::object();
  for (const Json::Member& member : value.items()) out.append(member.name, with_texts(member.value, changed));
  return out;
}

// The bytes at which special tokens begin.
std::vector<size_t> special_in(const Tokenizer& tokenizer, const std::string& text) {
  std::vector<size_t> out;
  if (utf8_error(text)) return out;  // the template refuses it
  const auto note = [&](size_t at) {
    out.push_back(at);
    return false;
  };
  tokenizer.encode(text, {.parse_special = true, .special_at = note});
  return out;
}

// A noncharacter that occurs neither in the template nor in what it is given.
std::string unused_mark(const std::string& chat_template, std::initializer_list<Json> given) {
  std::string all = chat_template;
  for (const Json& value : given) all += value.dump(Json::Format{.replace_invalid = true});
  for (char32_t point = 0xfdd0; point <= 0xfdef; ++point)
    if (std::string mark = utf8_encode(std::u32string(1, point)); all.find(mark) == std::string::npos) return mark;
  fail<InputError>("chat", "the messages must not have all of the noncharacters U+FDD0 to U+FDEF");
}

// With the mark after the first character of each special token.
std::string marked(const Tokenizer& tokenizer, const std::string& text, const std::string& mark) {
  std::string out;
  size_t from = 0;
  for (const size_t at : special_in(tokenizer, text)) {
    const size_t end = at + utf8_first(std::string_view(text).substr(at)).bytes;
    out.append(text, from, end - from) += mark;
    from = end;
  }
  return out.append(text, from);
}

// Removes the marks. The bytes of the characters before them, in order.
std::vector<size_t> take_marks(std::string& prompt, const std::string& mark) {
  std::vector<size_t> out;
  std::string without;
  size_t from = 0;
  for (size_t at; (at = prompt.find(mark, from)) != std::string::npos; from = at + mark.size()) {
    without.append(prompt, from, at - from);
    size_t begin = without.empty() ? 0 : without.size() - 1;
    while (begin > 0 && (static_cast<unsigned char>(without[begin]) & 0xc0) == 0x80) --begin;
    out.push_back(begin);
  }
  prompt = without.append(prompt, from);
  return out;
}

}  // namespace

std::vector<int32_t> chat_prompt(const Tokenizer& tokenizer, const ChatTemplateSource& source, const Json& messages,
                                 const RenderOptions& options, bool trusts_messages) {
  const ChatTemplate chat(source);
  std::string prompt;
  std::vector<size_t> text_at;  // where no special token begins
  if (trusts_messages) {
    prompt = chat.render(messages, options);
  } else {
    const std::string mark = unused_mark(source.text, {messages, options.tools, options.documents});
    const auto with_marks = [&](const Json& value) {
      return with_texts(value, [&](const std::string& text) { return Json(marked(tokenizer, text, mark)); });
    };
    RenderOptions with = options;
    with.tools = with_marks(options.tools), with.documents = with_marks(options.documents);
    prompt = chat.render(with_marks(messages), with);
    text_at = take_marks(prompt, mark);
  }
  const auto is_special = [&](size_t at) { return !std::binary_search(text_at.begin(), text_at.end(), at); };
  std::vector<int32_t> ids = tokenizer.encode(prompt, {.parse_special = true, .special_at = is_special});
  require<InputError>(!ids.empty(), "chat", "the chat template makes an empty prompt");
  return ids;
}

}  // namespace qkv
