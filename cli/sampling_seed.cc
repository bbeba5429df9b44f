#include "cli/sampling_seed.h"

#include <random>

#include "cli/output.h"

namespace qkv::cli {

void draw_seed(GenerateTextOptions& options, const std::vector<Option*>& flags, bool quiet) {
  if (given_names(flags).contains("seed") || options.beam != 1 || options.sampling.temperature == 0) return;
  options.sampling.seed = std::random_device()() % 1'000'000;
  if (!quiet) say(fmt::format("drawing tokens at random; --seed {} repeats this", options.sampling.seed));
}

}  // namespace qkv::cli
