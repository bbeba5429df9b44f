// The tokenizer in the metadata of a GGUF file (tokenizer.ggml.*), by tokenizer.ggml.model:
//
// | llama | SentencePiece BPE: adjacent pieces are merged by the score of what they make; bytes for unknown characters |
// | t5    | SentencePiece unigram                                                                                     |
// | gpt2  | byte-level BPE; tokenizer.ggml.pre names how a text is cut into words (gguf_words.h)                       |
// | bert  | WordPiece                                                                                                 |
//
//     Tokenizer tokenizer = gguf_tokenizer(metadata, /*rows=*/32000, /*start=*/{});
//
// add_bos_token and add_eos_token say what stands around a text. Errors: InputError for another model, lists of different
// lengths, ids without a token, and two equal tokens.
#pragma once

#include <optional>
#include <string>

#include "qkv/published/gguf/gguf_metadata.h"
#include "qkv/text/tokenizer.h"

namespace qkv {

// rows: the number of ids of the model. start: what a decoder begins with, if it is not bos.
Tokenizer gguf_tokenizer(const GgufMetadata& metadata, int64_t rows, std::optional<int32_t> start);

// The Jinja text that turns a conversation into a prompt, tokenizer.chat_template; none: the file has none.
std::optional<std::string> gguf_chat_template(const GgufMetadata& metadata);

// The tokens that end an answer: end of sequence, of turn and of message.
std::vector<int32_t> gguf_ends(const GgufMetadata& metadata);

}  // namespace qkv
