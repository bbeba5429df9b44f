// A validation as a line for the user, and as members of a line of log.jsonl.
//
//     describe(v)                                    // "loss 2.1034, perplexity 8.19, BLEU 31.20"
//     add_validation(v, line);                       // valid_loss, valid_perplexity, valid_bleu, valid_accuracy
#pragma once

#include <string>
#include <vector>

#include "qkv/base/json.h"
#include "qkv/train/options.h"
#include "qkv/train/training_task.h"
#include "qkv/train/validation.h"

namespace qkv {

std::string describe(const Validation& v);
void add_validation(const Validation& v, Json& line);
double score_of(const Validation& v, Goal goal);

// Each sample as indented lines: source, reference, hypothesis.
std::vector<std::string> describe(const std::vector<TrainingTask::Sample>& samples);
Json json_of(const std::vector<TrainingTask::Sample>& samples);

}  // namespace qkv
