#include "qkv/metric/paired.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "qkv/base/counted.h"
#include "qkv/base/error.h"
#include "qkv/metric/numpy_random.h"

namespace qkv {
namespace {

// One is added because the observed difference is a draw too: p is never zero.
double p_value(int64_t larger, size_t draws) {
  return static_cast<double>(larger + 1) / static_cast<double>(draws + 1);
}

// What changes in the sums of the baseline when it has the output of the system for a sentence; only sentences
// where that is not zero.
struct Exchanges {
  std::vector<size_t> sentences;
  std::vector<double> deltas;  // (sentences, statistics)
};

Exchanges exchanges(const metric::Statistics& baseline, const metric::Statistics& system) {
  Exchanges all;
  for (size_t i = 0; i < baseline.size(); ++i) {
    if (baseline[i] == system[i]) continue;
    all.sentences.push_back(i);
    for (size_t j = 0; j < baseline[i].size(); ++j) all.deltas.push_back(system[i][j] - baseline[i][j]);
  }
  return all;
}

}  // namespace

double paired_bootstrap(std::span<const double> baseline, std::span<const double> system, double difference) {
  require<InputError>(!baseline.empty() && baseline.size() == system.size(), "paired bootstrap",
                      "{} of the baseline and {} of the system: expected equal numbers, at least 1",
                      counted(baseline.size(), "resample"), system.size());
  std::vector<double> differences;
  double sum = 0;
  for (size_t i = 0; i < system.size(); ++i) {
    differences.push_back(std::abs(system[i] - baseline[i]));
    sum += differences.back();
  }
  const double mean = sum / static_cast<double>(system.size());
  const auto larger = std::count_if(differences.begin(), differences.end(),
                                    [&](double d) { return d - mean > std::abs(difference); });
  return p_value(larger, system.size());
}

double paired_randomization(const metric::Statistics& baseline, const metric::Statistics& system,
                            FunctionRef<double(std::span<const double>)> score,
                            const RandomizationOptions& options) {
  require<InputError>(!baseline.empty() && baseline.size() == system.size(), "paired randomization",
                      "{} of the baseline and {} of the system: expected equal numbers, at least 1",
                      counted(baseline.size(), "sentence"), system.size());
  require<UsageError>(options.trials >= 1, "paired randomization", "trials must be at least 1, got {}",
                      options.trials);
  // Statistics are counts, so differences and sums of them are exact: a trial that exchanges everything has exactly
  // the difference of the systems, and does not count as a larger one.
  const std::vector<double> of_baseline = metric::sum(baseline), of_system = metric::sum(system);
  const double difference = std::abs(score(of_baseline) - score(of_system));
  const Exchanges all = exchanges(baseline, system);
  metric::NumpyRandom random(options.seed);
  int64_t larger = 0;
  for (int64_t trial = 0; trial < options.trials; ++trial) {
    std::vector<double> a = of_baseline, b = of_system;
    size_t next = 0;
    for (size_t i = 0; i < baseline.size(); ++i) {
      const bool keep = random.boolean();
      if (next == all.sentences.size() || all.sentences[next] != i) continue;
      const double* delta = all.deltas.data() + a.size() * next++;
      if (keep) continue;
      for (size_t j = 0; j < a.size(); ++j) {
        a[j] += delta[j];
        b[j] -= delta[j];
      }
    }
    larger += std::abs(score(a) - score(b)) > difference;
  }
  return p_value(larger, static_cast<size_t>(options.trials));
}

}  // namespace qkv
