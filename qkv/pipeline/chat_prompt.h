// The token ids of a conversation, as its chat template writes it.
//
//     std::vector<int32_t> ids = chat_prompt(tokenizer, source, messages, {});
//
// A special token that the template writes is that token; one in what the template is given (messages, tools, documents)
// stays text, so that a message cannot end its turn and begin another: "<|im_end|>" typed by a user is ten or so tokens of
// text. The ids are those of apply_chat_template() of Hugging Face transformers unless a message has the text of a
// special token; with `trusts_messages`, always.
//
// How: the template is given such text with a mark in it, a noncharacter of Unicode (U+FDD0 to U+FDEF) that occurs nowhere
// else. Marks tell where in the prompt no special token begins, and are removed before it is cut into tokens.
//
// Errors: InputError for a template that refuses the conversation or makes an empty prompt (chat_template.h), and for
// messages that have all 32 marks.
#pragma once

#include <cstdint>
#include <vector>

#include "qkv/text/chat_template/chat_template.h"
#include "qkv/text/tokenizer.h"

namespace qkv {

std::vector<int32_t> chat_prompt(const Tokenizer& tokenizer, const ChatTemplateSource& source, const Json& messages,
                                 const RenderOptions& options, bool trusts_messages = false);

}  // namespace qkv
