#include "qkv/text/tokenizer/merge_training.h"

#include <algorithm>
#include <queue>
#include <set>
#include <unordered_map>

#include "qkv/text/utf8.h"

namespace qkv {
namespace {

using Pair = std::pair<int32_t, int32_t>;
struct PairHash {
  size_t operator()(const Pair& p) const {
    return std::hash<uint64_t>()((static_cast<uint64_t>(p.first) << 32) | static_cast<uint32_t>(p.second));
  }
};

struct Word {
  std::vector<int32_t> symbols;
  int64_t count;
};

struct Occurrences {
  int64_t count = 0;
  std::vector<uint32_t> words = {};  // where the pair is, or was; a word may be there more than once
};

class Training {
 public:
  Training(const WordCounts& words, const MergeTrainingOptions& options) : options_(options) {
    for (const std::string& token : options.reserved) id_of(token);
    std::set<std::string, std::less<>> alphabet(options.alphabet.begin(), options.alphabet.end());
    if (options.alphabet.empty())
      for (const auto& [word, count] : words)
        for_each_character(word, [&](std::string_view c) { alphabet.emplace(c); });
    for (const std::string& c : alphabet) id_of(c);
    for (const auto& [word, count] : words) add_word(word, count, alphabet);
    for (uint32_t w = 0; w < words_.size(); ++w) {
      const Word& word = words_[w];
      for (size_t i = 0; i + 1 < word.symbols.size(); ++i)
        add({word.symbols[i], word.symbols[i + 1]}, word.count, w);
    }
    for (const auto& [pair, found] : pairs_) queue_.push({found.count, pair});
  }

  MergeTraining run() {
    while (std::ssize(out_.tokens) < options_.vocabulary_size && !queue_.empty()) {
      const auto [count, pair] = queue_.top();
      queue_.pop();
      Occurrences& found = pairs_[pair];
      if (found.count != count) {  // it was counted before other pairs were merged
        if (found.count > 0) queue_.push({found.count, pair});
        continue;
      }
      if (count < std::max<int64_t>(options_.min_count, 1)) break;
      merge(pair, std::exchange(found, {}).words);
    }
    return std::move(out_);
  }

 private:
  struct Candidate {
    int64_t count;
    Pair pair;
    bool operator<(const Candidate& other) const {
      return count != other.count ? count < other.count : pair > other.pair;
    }
  };

  template <class Function>
  static void for_each_character(std::string_view text, Function function) {
    while (!text.empty()) {
      const size_t bytes = std::max<size_t>(utf8_first(text).bytes, 1);
      function(text.substr(0, bytes));
      text.remove_prefix(bytes);
    }
  }

  int32_t id_of(const std::string& token) {
    const auto [at, is_new] = ids_.try_emplace(token, static_cast<int32_t>(out_.tokens.size()));
    if (is_new) out_.tokens.push_back(token);
    return at->second;
  }

  void add_word(const std::string& text, int64_t count, const std::set<std::string, std::less<>>& alphabet) {
    Word word{{}, count};
    for_each_character(text, [&](std::string_view c) {
      if (alphabet.contains(c))
        word.symbols.push_back(id_of((word.symbols.empty() ? "" : options_.prefix) + std::string(c)));
    });
    if (word.symbols.size() > 1) words_.push_back(std::move(word));
  }

  void add(const Pair& pair, int64_t count, uint32_t word) {
    Occurrences& found = pairs_[pair];
    found.count += count;
    if (found.words.empty() || found.words.back() != word) found.words.push_back(word);
  }

  void merge(const Pair& pair, std::vector<uint32_t> words) {
    const std::string& second = out_.tokens[static_cast<size_t>(pair.second)];
    const int32_t id = id_of(out_.tokens[static_cast<size_t>(pair.first)] + second.substr(options_.prefix.size()));
    out_.merges.push_back(pair);
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    std::set<Pair> added;
    for (const uint32_t w : words) merge_in_word(w, pair, id, added);
    pairs_.erase(pair);
    for (const Pair& p : added) queue_.push({pairs_[p].count, p});
  }

  void merge_in_word(uint32_t w, const Pair& pair, int32_t id, std::set<Pair>& added) {
    std::vector<int32_t>& symbols = words_[w].symbols;
    const int64_t count = words_[w].count;
    const auto change = [&](const Pair& old, const Pair& now) {
      pairs_[old].count -= count;
      add(now, count, w);
      added.insert(now);
    };
    size_t to = 0;
    for (size_t from = 0; from < symbols.size(); ++from) {
      const bool merged = from + 1 < symbols.size() && Pair(symbols[from], symbols[from + 1]) == pair;
      if (merged) {
        if (to > 0) change({symbols[to - 1], pair.first}, {symbols[to - 1], id});
        if (from + 2 < symbols.size()) change({pair.second, symbols[from + 2]}, {id, symbols[from + 2]});
        ++from;
      }
      symbols[to++] = merged ? id : symbols[from];
    }
    symbols.resize(to);
  }

  const MergeTrainingOptions& options_;
  MergeTraining out_;
  std::unordered_map<std::string, int32_t> ids_;
  std::vector<Word> words_;
  std::unordered_map<Pair, Occurrences, PairHash> pairs_;
  std::priority_queue<Candidate> queue_;
};

}  // namespace

MergeTraining train_merges(const WordCounts& words, const MergeTrainingOptions& options) {
  return Training(words, options).run();
}

}  // namespace qkv
