// Flags whose defaults come from the generation_config.json of the model.
//
//     ModelDefaults<TranslateOptions> defaults;
//     defaults.of(flag(app, "--beam", options.beam, "beam size", "N"), &TranslateOptions::beam);
//     defaults.take(options, translator.defaults());                              // after the command line was read
#pragma once

#include <functional>
#include <vector>

#include "cli/app.h"

namespace qkv::cli {

template <class Options>
class ModelDefaults {
 public:
  // field: a member of the options, or a function that returns one.
  template <class Field>
  void of(Option* given, Field field) {
    takes_.push_back([given, field](Options& options, const Options& defaults) {
      if (given->count() == 0) std::invoke(field, options) = std::invoke(field, defaults);
    });
  }
  // For options without a flag.
  template <class Field>
  void without_flag(Field field) {
    takes_.push_back([field](Options& options, const Options& defaults) {
      std::invoke(field, options) = std::invoke(field, defaults);
    });
  }
  void take(Options& options, const Options& defaults) const {
    for (const auto& take : takes_) take(options, defaults);
  }

 private:
  std::vector<std::function<void(Options& options, const Options& defaults)>> takes_;
};

}  // namespace qkv::cli
