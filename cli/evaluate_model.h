// Translating the sources of an evaluation with one of its models, with progress and reports of what was cut.
//
//     Lines lines = translations_to_evaluate("base", sources, {.file = "held-out.tsv",
//                                                              .options = [](const auto& defaults) { return defaults; }});
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "qkv/pipeline/translator.h"

namespace qkv::cli {

struct ModelToEvaluate {
  std::string file;                                                           // of the sources, in messages
  std::function<TranslateOptions(const TranslateOptions& defaults)> options;  // for the defaults of the model
  InferenceOptions held;
  std::string shortlist = {};  // a file, as of qkv translate; empty: none
  bool quiet = false;
};

// The lines that qkv translate would write.
std::vector<std::string> translations_to_evaluate(const std::string& model, std::span<const std::string> sources,
                                                  const ModelToEvaluate& how);

}  // namespace qkv::cli
