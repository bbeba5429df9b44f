// Whether two systems differ in score by more than chance: p-values of two paired tests, with the same draws as
// sacreBLEU. p is the probability of a difference at least as large if both systems were equally good.
//
//     const auto score = [](std::span<const double> sums) { return bleu_of(sums).score; };
//     double p = paired_bootstrap(resampled_scores(a, score), resampled_scores(b, score), difference);
//     double q = paired_randomization(a, b, score);         // a, b: bleu_statistics() of the same sentences
//
// Paired bootstrap resampling (Koehn, 2004) scores both systems on the same resamples of the sentences. Approximate
// randomization (Riezler and Maxwell, 2005) exchanges the outputs of the systems for a random half of the
// sentences. sacreBLEU scores resamples in single precision; here they are scored in double precision.
#pragma once

#include <cstdint>
#include <span>

#include "qkv/base/threads.h"
#include "qkv/metric/statistics.h"

namespace qkv {

// From the scores of the resamples of both systems (bootstrap.h), and their difference on all sentences. InputError
// unless both have the same number of resamples.
double paired_bootstrap(std::span<const double> baseline, std::span<const double> system, double difference);

struct RandomizationOptions {
  int64_t trials = 10000;
  uint32_t seed = 12345;
};
// InputError unless both have the same sentences; UsageError for no trials.
double paired_randomization(const metric::Statistics& baseline, const metric::Statistics& system,
                            FunctionRef<double(std::span<const double>)> score,
                            const RandomizationOptions& options = {});

}  // namespace qkv
