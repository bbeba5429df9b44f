// How often each token occurs, the baseline for a model that has learned nothing else.
//
//     TokenFrequencies frequencies(tokenizer.size());
//     frequencies.add(ids);
//     double loss = frequencies.entropy();                  // its cross entropy per token, in nats
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace qkv {

class TokenFrequencies {
 public:
  explicit TokenFrequencies(int64_t vocabulary) : counts_(static_cast<size_t>(vocabulary)) {}

  void add(std::span<const int32_t> ids);
  void add(int32_t id, int64_t count);
  double entropy() const;
  int32_t frequent_token() const;  // the one that occurs most often
  int64_t count(int32_t id) const { return counts_[static_cast<size_t>(id)]; }

 private:
  std::vector<int64_t> counts_;
};

}  // namespace qkv
