// Training of byte-pair encoding: the symbols of words are merged, the most frequent pair first (Sennrich, Haddow and
// Birch, "Neural Machine Translation of Rare Words with Subword Units", 2016).
//
//     MergeTraining t = train_merges({{"low", 5}, {"lower", 2}}, {.vocabulary_size = 9});
//     t.tokens                                    // "e", "l", "o", "r", "w", "lo", "low", "er", "lower"
//     t.merges                                    // {1, 2}, {5, 4}, ...: ids of tokens
//
// Of equally frequent pairs, the one with the smaller ids is merged. Words are cut into characters; characters outside
// the alphabet are left out. The same words and options give the same tokens. Time: n log n in the pairs of the words.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace qkv {

struct MergeTrainingOptions {
  int64_t vocabulary_size = 8000;          // at most; reserved tokens and the alphabet are in it
  std::vector<std::string> reserved = {};  // tokens in front of all others
  std::vector<std::string> alphabet = {};  // characters; empty: those of the words
  std::string prefix = {};                 // of tokens that continue a word: "##"
  int64_t min_count = 2;                   // of a pair that is merged
};

struct MergeTraining {
  std::vector<std::string> tokens = {};
  std::vector<std::pair<int32_t, int32_t>> merges = {};
};

using WordCounts = std::map<std::string, int64_t, std::less<>>;
MergeTraining train_merges(const WordCounts& words, const MergeTrainingOptions& options);

}  // namespace qkv
