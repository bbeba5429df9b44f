// Confidence intervals of corpus scores by bootstrap resampling (Koehn, 2004), with the same resamples as
// sacreBLEU: the sentences are drawn with replacement, 1,000 times, and each resample is scored.
//
//     const auto statistics = bleu_statistics(hypotheses, references);
//     Confidence c = bootstrap(statistics, [](std::span<const double> sums) { return bleu_of(sums).score; });
//     fmt::print("{:.2f} +- {:.2f}\n", c.mean, c.half_width);             // the 95% interval
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qkv/base/threads.h"
#include "qkv/metric/statistics.h"

namespace qkv {

struct BootstrapOptions {
  int64_t samples = 1000;
  uint32_t seed = 12345;
};

struct Confidence {
  double mean = 0;        // of the scores of the resamples
  double half_width = 0;  // of the interval that holds 95% of them
};

// InputError for no sentences; UsageError for no samples.
Confidence bootstrap(const metric::Statistics& rows, FunctionRef<double(std::span<const double>)> score,
                     const BootstrapOptions& options = {});

// The two steps of bootstrap(). Systems with the same number of sentences are resampled in the same way, so the
// scores of two systems are pairs (paired.h).
std::vector<double> resampled_scores(const metric::Statistics& rows,
                                     FunctionRef<double(std::span<const double>)> score,
                                     const BootstrapOptions& options = {});
Confidence confidence_of(std::vector<double> scores);

}  // namespace qkv
