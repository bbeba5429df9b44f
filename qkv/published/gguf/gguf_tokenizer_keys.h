// A tokenizer as metadata of a GGUF file: the other direction of gguf_tokenizer.h.
//
//     add_tokenizer(keys, tokenizer, {.rows = 32000, .frame = {.before = {1}}});
//
// tokenizer.ggml.model is "llama" for BPE of SentencePiece, also where a tokenizer.json has it, "t5" for its unigram models,
// "gpt2" for byte-level BPE, whose words need a name in tokenizer.ggml.pre, and "bert" for WordPiece. Errors: UsageError for
// whatever these cannot express, such as other normalisation.
#pragma once

#include "qkv/published/gguf/gguf_keys.h"
#include "qkv/text/tokenizer.h"

namespace qkv {

struct GgufTokenizerOptions {
  int64_t rows = 0;             // of the model: ids without a token are called [PADn]
  TextFrame frame = {};         // the tokens around a text
  int64_t token_types = 0;      // of BERT
  bool starts_with_bos = true;  // else special().bos is only what the decoder begins with
};
void add_tokenizer(GgufKeys& keys, const Tokenizer& tokenizer, const GgufTokenizerOptions& options);

}  // namespace qkv
