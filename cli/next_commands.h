// What to do with a model that was just trained: commands that can be copied, with the paths of this training.
//
//     for (const std::string& line : next_commands("qkv", options)) say("  " + line);
#pragma once

#include <string>
#include <vector>

#include "qkv/train/options.h"

namespace qkv::cli {

std::vector<std::string> next_commands(const std::string& program, const TrainOptions& options);

}  // namespace qkv::cli
