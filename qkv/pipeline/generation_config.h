// The options of search and sampling that a published model asks for, in its generation_config.json, or, in older
// folders, in its config.json: num_beams, length_penalty, early_stopping, max_length, max_new_tokens, min_length,
// min_new_tokens, no_repeat_ngram_size, do_sample, temperature, top_k, top_p, min_p, repetition_penalty,
// forced_eos_token_id.
//
//     Translator("bart-large-cnn").defaults()                                 // beam 4, no 3-gram twice, ...
//     TranslateOptions options = translate_defaults("bart-large-cnn");        // the same, from the file alone
//     options.search.beam = 8;                                                // the user's choice wins
//
// Missing settings have the defaults of transformers: scores are sum / length^alpha, and a generator takes the most
// likely token, or with do_sample draws from the 50 most likely ones. But translations keep a beam of 4, and a maximum
// length in proportion to the source. Folders without such a file have the defaults of the options. The tokens that an
// answer begins with or must not contain belong to the tokenizer (SpecialTokens). Errors: InputError, naming the file,
// for values of the wrong type or out of range.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "qkv/pipeline/generator.h"
#include "qkv/pipeline/translator.h"
#include "qkv/published/model_folder.h"

namespace qkv {

TranslateOptions translate_defaults(const ModelFolder& folder);
TranslateOptions translate_defaults(const std::filesystem::path& folder);
GenerateTextOptions generate_defaults(const ModelFolder& folder);
GenerateTextOptions generate_defaults(const std::filesystem::path& folder);

// The defaults of a model for a user who has given options of these names, with these values: a beam search does not
// sample, who gives an option of sampling wants no beam, and a limit on what is drawn asks for drawing. The given values
// are still to be set in the result.
GenerateTextOptions defaults_for(const GenerateTextOptions& given, const std::set<std::string>& names,
                                 GenerateTextOptions of_model);

// A message for each setting of the file that the options do not have:
// "bart/generation_config.json: 'repetition_penalty' is ignored in translations".
std::vector<std::string> ignored_by_translate(const std::filesystem::path& folder);
std::vector<std::string> ignored_by_generate(const std::filesystem::path& folder);

// The settings of a folder as a generation_config.json for another one; "" if it has none, and so the default options.
std::string generation_settings(const ModelFolder& folder);

}  // namespace qkv
