// Translating the sources of an evaluation with one of its models, with progress and reports of what was cut.
//
//     Lines lines = translations_to_evaluate("base", sources, {.file = "held-out.tsv", .options = options,
//                                                              .defaults = &defaults});
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/model_defaults.h"
#include "qkv/pipeline/translator.h"

namespace qkv::cli {

struct ModelToEvaluate {
  std::string file;  // of the sources, in messages
  TranslateOptions options;
  InferenceOptions held;
  const ModelDefaults<TranslateOptions>* defaults;
  bool quiet = false;
};

// The lines that qkv translate would write.
std::vector<std::string> translations_to_evaluate(const std::string& model, std::span<const std::string> sources,
                                                  const ModelToEvaluate& how);

}  // namespace qkv::cli
