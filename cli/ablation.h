// The test set of qkv inspect --ablate: what a model loses on it without some heads (interpret/ablation.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "qkv/interpret/head_names.h"
#include "qkv/model/store_parameters.h"

namespace qkv::cli {

struct AblationJob {
  std::string model, input;  // a folder; sentence pairs, or a text for a causal model
  std::vector<NamedHeads> groups;
  InferenceOptions held;
  std::optional<int64_t> beam = {};  // none: that of the model
  int64_t limit = 0;                 // of lines; 0: all
  bool loss_only = false, json = false, quiet = false;
  bool sorted = false;  // the largest loss first
};

// Prints the table, or the JSON, and returns the exit code.
int print_ablation(const AblationJob& job, Architecture architecture);

// The heads of --ablate, each time it is given; UsageError for what is not one.
std::vector<NamedHeads> heads_of_flag(const std::vector<std::string>& given, const ModelConfig& config);

}  // namespace qkv::cli
