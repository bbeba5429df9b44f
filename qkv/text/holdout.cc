#include "qkv/text/holdout.h"

#include <algorithm>
#include <map>
#include <utility>

#include "qkv/base/error.h"
#include "qkv/base/random.h"
#include "qkv/text/unicode.h"
#include "qkv/text/utf8.h"

namespace qkv {

namespace {

// A hash of the source sentence, random for each seed.
uint64_t hash_of(std::string_view source, uint64_t seed) {
  uint64_t hash =
      0xcbf29ce484222325;  // FNV-1a (Fowler, Noll and Vo) over code points, then made random by the seed
  const auto add = [&](char32_t c) { hash = (hash ^ c) * 0x100000001b3; };
  const std::u32string points = utf8_decode(source);
  for (const std::u32string_view word : words(points)) {
    for (const char32_t c : word) add(c);
    add(U' ');
  }
  return mix(seed, hash);
}

}  // namespace

// The sources with the smallest hashes are chosen: a source that has dropped out never returns, so the first pair of
// each chosen source is known when the corpus ends.
Holdout::Holdout(const Corpus& corpus, int64_t count, uint64_t seed) : seed_(seed) {
  require<UsageError>(count >= 0, "holdout", "hold-out must be at least 0, got {}", count);
  if (count == 0) return;
  const auto wanted = static_cast<size_t>(count);
  std::map<uint64_t, std::pair<int64_t, SentencePair>> smallest;
  bool more = false;  // more sources than wanted
  CorpusReader reader(corpus);
  for (SentencePair pair; reader.next(pair);) {
    const uint64_t number = hash_of(pair.source, seed);
    if (smallest.contains(number)) continue;
    more = more || smallest.size() == wanted;
    if (smallest.size() == wanted) {
      const auto largest = std::prev(smallest.end());
      if (number > largest->first) continue;
      smallest.erase(largest);
    }
    smallest.emplace(number, std::pair(reader.pairs(), pair));
  }
  require<InputError>(more, corpus.name(), "hold-out is {}, but the corpus has only {} distinct {}", count,
                      smallest.size(), corpus.kind() == CorpusKind::text ? "lines" : "source sentences");

  std::vector<std::pair<int64_t, SentencePair>> ordered;
  for (auto& [number, entry] : smallest) {
    chosen_.insert(number);
    ordered.push_back(std::move(entry));
  }
  std::sort(ordered.begin(), ordered.end(), [](auto& a, auto& b) { return a.first < b.first; });
  for (auto& [at, pair] : ordered) pairs_.push_back(std::move(pair));
}

bool Holdout::contains(std::string_view source) const {
  return !chosen_.empty() && chosen_.contains(hash_of(source, seed_));
}

}  // namespace qkv
