// The curves of trainings, from their logs: loss, validation loss, BLEU or accuracy, and learning rate by update.
//
//     training_curves({"small", "large"}).save("curves.svg");             // folders of models, or log.jsonl files
//
// A training that is running can be drawn, too: a line that is not yet complete is left out.
#pragma once

#include <filesystem>
#include <vector>

#include "qkv/picture/curves.h"

namespace qkv {

// UsageError without a run; InputError for one without a log, or whose log has no numbers.
Curves training_curves(const std::vector<std::filesystem::path>& runs);

}  // namespace qkv
