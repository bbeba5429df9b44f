#include "qkv/decode/required_phrases.h"

#include <algorithm>

#include "qkv/base/error.h"

namespace qkv {

RequiredPhrases::RequiredPhrases(std::vector<std::vector<int32_t>> phrases) : phrases_(std::move(phrases)) {
  for (const std::vector<int32_t>& phrase : phrases_) {
    require(!phrase.empty(), "search", "a required phrase must have tokens");
    tokens_ += std::ssize(phrase);
  }
}

bool RequiredPhrases::is_met(const PhraseProgress& progress, size_t phrase) const {
  return !progress.met.empty() && progress.met[phrase];
}

// The first of those not met; -1: none.
int64_t RequiredPhrases::phrase_that_begins(const std::vector<int32_t>& ids, const PhraseProgress& progress) const {
  for (size_t i = 0; i < phrases_.size(); ++i)
    if (!is_met(progress, i) && ids.size() <= phrases_[i].size() &&
        std::equal(ids.begin(), ids.end(), phrases_[i].begin()))
      return static_cast<int64_t>(i);
  return -1;
}

PhraseProgress RequiredPhrases::after(PhraseProgress progress, int32_t id) const {
  std::vector<int32_t> last = {id};  // the tokens that may begin a phrase
  if (progress.begun >= 0) {
    const std::vector<int32_t>& phrase = phrases_[static_cast<size_t>(progress.begun)];
    last.insert(last.begin(), phrase.begin(), phrase.begin() + progress.matched);
    progress.tokens -= progress.matched;
  }
  // The phrase that was begun continues, or another one with the same beginning, or a later token begins one.
  while (!last.empty() && phrase_that_begins(last, progress) < 0) last.erase(last.begin());
  progress.begun = last.empty() ? -1 : phrase_that_begins(last, progress);
  progress.matched = std::ssize(last);
  progress.tokens += progress.matched;
  if (progress.begun < 0 || progress.matched < std::ssize(phrases_[static_cast<size_t>(progress.begun)]))
    return progress;
  progress.met.resize(phrases_.size());
  progress.met[static_cast<size_t>(progress.begun)] = true;
  progress.begun = -1;
  progress.matched = 0;
  return progress;
}

std::vector<int32_t> RequiredPhrases::next_tokens(const PhraseProgress& progress) const {
  if (progress.begun >= 0)
    return {phrases_[static_cast<size_t>(progress.begun)][static_cast<size_t>(progress.matched)]};
  std::vector<int32_t> ids;
  for (size_t i = 0; i < phrases_.size(); ++i)
    if (const int32_t first = phrases_[i].front();
        !is_met(progress, i) && std::find(ids.begin(), ids.end(), first) == ids.end())
      ids.push_back(first);
  return ids;
}

}  // namespace qkv
