#include "qkv/metric/bootstrap.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "qkv/base/error.h"
#include "qkv/metric/numpy_random.h"

namespace qkv {

std::vector<double> resampled_scores(const metric::Statistics& rows,
                                     FunctionRef<double(std::span<const double>)> score,
                                     const BootstrapOptions& options) {
  require<InputError>(!rows.empty(), "bootstrap", "no sentences to resample");
  require<UsageError>(options.samples >= 1, "bootstrap", "samples must be at least 1, got {}", options.samples);
  metric::NumpyRandom random(options.seed);
  std::vector<double> scores, sums(rows.front().size());
  for (int64_t sample = 0; sample < options.samples; ++sample) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (size_t drawn = 0; drawn < rows.size(); ++drawn) {
      const std::vector<double>& row = rows[random.below(static_cast<uint32_t>(rows.size()))];
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += row[i];
    }
    scores.push_back(score(sums));
  }
  return scores;
}

Confidence confidence_of(std::vector<double> scores) {
  require<InputError>(!scores.empty(), "bootstrap", "no resamples");
  std::sort(scores.begin(), scores.end());
  const size_t outside = scores.size() / 40;  // on either side of the interval
  return {.mean = std::accumulate(scores.begin(), scores.end(), 0.0) / static_cast<double>(scores.size()),
          .half_width = (scores[scores.size() - outside - 1] - scores[outside]) / 2};
}

Confidence bootstrap(const metric::Statistics& rows, FunctionRef<double(std::span<const double>)> score,
                     const BootstrapOptions& options) {
  return confidence_of(resampled_scores(rows, score, options));
}

}  // namespace qkv
