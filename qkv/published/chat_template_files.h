// The chat template of a folder: chat_template.jinja, or `chat_template` of tokenizer_config.json or chat_template.json, a
// text or a list of named ones, of which the one called "default" counts. And the special tokens that it may name, from
// tokenizer_config.json or special_tokens_map.json.
//
//     const ChatTemplateSource source = read_chat_template("qwen2");
//     source.text.empty()                   // the folder has none: source.file says what was looked for
//
// Errors: InputError, naming the file, for what is not JSON; a template of another type counts as none.
#pragma once

#include <filesystem>

#include "qkv/text/chat_template/chat_template.h"

namespace qkv {

ChatTemplateSource read_chat_template(const std::filesystem::path& folder);

// Writes what read_chat_template() reads, unless the text is empty.
void write_chat_template(const std::filesystem::path& folder, const ChatTemplateSource& source);

}  // namespace qkv
