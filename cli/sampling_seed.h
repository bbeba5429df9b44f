// A command that draws tokens draws others in each run, unless its seed is given.
#pragma once

#include <vector>

#include "cli/flags.h"
#include "qkv/pipeline/generator.h"

namespace qkv::cli {

// Draws options.sampling.seed, small enough to be typed, and says which it is.
void draw_seed(GenerateTextOptions& options, const std::vector<Option*>& flags, bool quiet);

}  // namespace qkv::cli
