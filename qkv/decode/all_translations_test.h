// What an exhaustive search finds, for tests of search().
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "qkv/decode/model_test.h"
#include "qkv/decode/score.h"
#include "qkv/decode/search.h"

namespace qkv {

// All translations of at most three tokens, scored by the whole decoder.
inline std::vector<Hypothesis> all_translations(const Transformer& model, const std::vector<int32_t>& sentence,
                                                const SearchOptions& options) {
  std::vector<std::vector<int32_t>> targets;
  const std::function<void(const std::vector<int32_t>&)> extend = [&](const std::vector<int32_t>& ids) {
    targets.push_back(ids);
    if (ids.size() == 3) return;
    for (int32_t id = 3; id < model.config().target_vocabulary(); ++id) {
      std::vector<int32_t> longer = ids;
      longer.push_back(id);
      extend(longer);
    }
  };
  extend({});
  const std::vector<std::vector<int32_t>> sources(targets.size(), sentence);
  const PaddedBatch source = pad_batch(sources);
  const std::vector<TargetScore> scores = score_targets(model, source.ids, source.lengths, targets);
  std::vector<Hypothesis> out;
  for (size_t i = 0; i < targets.size(); ++i)
    out.push_back({targets[i],
                   scores[i].log_probability / length_penalty(static_cast<int64_t>(targets[i].size()) + 1,
                                                              options.length_penalty, options.length_normalization),
                   scores[i].log_probability,
                   {}});
  std::stable_sort(out.begin(), out.end(),
                   [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  return out;
}

}  // namespace qkv
