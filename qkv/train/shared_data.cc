#include "qkv/train/shared_data.h"

#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

namespace qkv {
namespace {

size_t hash_of(std::span<const int32_t> ids) {
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(int32_t)});
}

size_t pair_hash(const EncodedCorpus& corpus, int64_t pair) {
  return hash_of(corpus.source(pair)) * 31 + hash_of(corpus.target(pair));
}

}  // namespace

std::optional<TrainingWarning> shared_data_warning(const EncodedCorpus& train, const EncodedCorpus& valid) {
  std::unordered_map<size_t, int64_t> pairs;  // of the validation data that are not found yet: how often
  for (int64_t i = 0; i < valid.size(); ++i) ++pairs[pair_hash(valid, i)];
  int64_t shared = 0;
  for (int64_t i = 0; i < train.size() && !pairs.empty(); ++i)
    if (const auto found = pairs.find(pair_hash(train, i)); found != pairs.end()) {
      shared += found->second;
      pairs.erase(found);
    }
  if (valid.size() == 0 || 2 * shared < valid.size()) return {};
  return TrainingWarning{
      "validates-on-training-data",
      fmt::format(
          "{} of the {} validation sentences are also training data: their scores do not show what the model has "
          "learned. Give other data as valid, or none: then some is held out",
          shared, valid.size())};
}

}  // namespace qkv
