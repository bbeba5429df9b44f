// The options of search and sampling that a published model asks for, in its generation_config.json, or, in older folders, in its
// config.json: num_beams, length_penalty, early_stopping, max_length, max_new_tokens, min_length, no_repeat_ngram_size,
// do_sample, temperature, top_k, top_p, min_p, repetition_penalty, forced_eos_token_id.
//
//     TranslateOptions options = translate_defaults("bart-large-cnn");        // beam 4, no 3-gram twice, ...
//     options.beam = 8;                                                       // what a user says counts more
//
// Scores are those of transformers then: sum / length^alpha. A folder of our own, and of other formats, has the defaults of the
// options. What an answer may not hold and begins with is the tokenizer's (SpecialTokens). Errors: InputError, naming the file,
// for values of the wrong type or out of range.
#pragma once

#include <filesystem>

#include "qkv/decode/generator.h"
#include "qkv/decode/translator.h"

namespace qkv {

TranslateOptions translate_defaults(const std::filesystem::path& folder);
GenerateTextOptions generate_defaults(const std::filesystem::path& folder);

}  // namespace qkv
