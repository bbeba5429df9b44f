// Options of a search that a published model gives in its generation_config.json, where the command line does not.
//
//     SearchDefaults defaults;
//     defaults.add(flag(app, "--beam", options.beam, "beam size; 1: greedy search", "N"), options.beam);
//     defaults.take(model, options);                     // options.beam is that of the flag, or of the model
#pragma once

#include <map>
#include <string>

#include "cli/flags.h"
#include "qkv/decode/generation_config.h"
#include "qkv/decode/translator.h"

namespace qkv::cli {

class SearchDefaults {
 public:
  // The flag of one of the options.
  template <class T>
  void add(const Option* flag, const T& option) {
    flags_[&option] = flag;
  }

  void take(const std::string& model, TranslateOptions& options) const {
    check_options(options);  // before anything is read
    const TranslateOptions of_model = translate_defaults(model);
    const auto take_one = [&](auto TranslateOptions::*option) {
      const auto flag = flags_.find(&(options.*option));
      if (flag == flags_.end() || flag->second->count() == 0) options.*option = of_model.*option;
    };
    take_one(&TranslateOptions::beam);
    take_one(&TranslateOptions::length_penalty);
    take_one(&TranslateOptions::length_normalization);
    take_one(&TranslateOptions::early_stopping);
    take_one(&TranslateOptions::eos_at_max_length);
    take_one(&TranslateOptions::no_repeat_ngram);
    take_one(&TranslateOptions::min_length);
    take_one(&TranslateOptions::max_length);
    check_options(options);
  }

 private:
  std::map<const void*, const Option*> flags_;
};

// The flags of a search that translate and evaluate have in common.
inline void add_search_flags(App& app, TranslateOptions& options, SearchDefaults& defaults) {
  defaults.add(flag(app, "--beam", options.beam, "beam size; 1: greedy search", "N"), options.beam);
  defaults.add(flag(app, "--length-penalty", options.length_penalty,
                    "exponent alpha of the length penalty; 0: none", "ALPHA"),
               options.length_penalty);
  defaults.add(
      choice(app, "--length-normalization", options.length_normalization,
             "length penalty of LENGTH tokens: ((5 + LENGTH) / 6)^ALPHA (Wu et al., 2016), or LENGTH^ALPHA"),
      options.length_normalization);
  defaults.add(flag(app, "--max-length", options.max_length,
                    "maximum length of a translation; 0: 3 times the source + 100", "TOKENS"),
               options.max_length);
  flag(app, "--batch-tokens", options.batch_tokens, "batch size in source tokens times --beam", "TOKENS");
  max_input_tokens_flag(app, options.max_input_tokens);
}

}  // namespace qkv::cli
