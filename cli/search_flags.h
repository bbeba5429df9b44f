// The flags of a search that translate and evaluate have in common.
//
//     add_search_flags(app, options, defaults);                      // --beam, --length-penalty, ...
//     defaults.take(options, translator.defaults());                 // of the flags that were not given
#pragma once

#include "cli/flags.h"
#include "cli/model_defaults.h"
#include "qkv/pipeline/translator.h"

namespace qkv::cli {

inline void add_search_flags(App& app, TranslateOptions& options, ModelDefaults<TranslateOptions>& of_model) {
  app.group("Search");
  of_model.without_flag(&TranslateOptions::early_stopping);
  of_model.without_flag(&TranslateOptions::eos_at_max_length);
  of_model.of(flag(app, "--beam", options.beam, "beam size; 1: greedy search", "N"), &TranslateOptions::beam);
  of_model.of(flag(app, "--length-penalty", options.length_penalty, "exponent alpha of the length penalty; 0: none",
                   "ALPHA"),
              &TranslateOptions::length_penalty);
  of_model.of(
      choice(app, "--length-normalization", options.length_normalization,
             "length penalty of LENGTH tokens: ((5 + LENGTH) / 6)^ALPHA (Wu et al., 2016), or LENGTH^ALPHA"),
      &TranslateOptions::length_normalization);
  of_model.of(
      flag(app, "--max-length", options.max_length,
           "maximum length of a translation; 0: 3 times the source + 100, within what the model is made for, or "
           "4096 if it does not say",
           "TOKENS"),
      &TranslateOptions::max_length);
  batch_tokens_flag(app, options.batch_tokens, "batch size in source tokens times --beam");
  max_input_tokens_flag(app, options.max_input_tokens);
}

}  // namespace qkv::cli
