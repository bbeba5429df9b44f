// A lexical shortlist: for each sentence, the target tokens that its translation may have (Junczys-Dowmunt et al., "Marian:
// Cost-effective High-Quality Neural Machine Translation in C++", 2018). The output product, of the whole vocabulary a large
// part of the time of a small model, is then of a few hundred tokens.
//
//     candidates(x) = the K most frequent target tokens + the L most likely translations of each token of x
//
//     const Shortlist shortlist = Shortlist::load("en-de.shortlist");          // made by qkv shortlist (shortlist_counts.h)
//     std::vector<int32_t> ids = shortlist.candidates({17, 4, 2});             // sorted
//     search(model, source, lengths, options, {.candidates = of_sentences});   // a list for each
//
// A sentence has its own candidates, whatever stands beside it in a batch. Search adds eos, a forced first token, and the
// tokens of prefixes and required phrases. Probabilities are normalised over the candidates, so scores are higher than
// those over the whole vocabulary.
//
// A file is in the safetensors format, with a checksum of its bytes: "frequent" i32 (K), "offsets" i32 (S+1) and
// "translations" i32: those of source token s are at offsets[s] to offsets[s+1], the most likely first. Its metadata has the
// version, and the size and a checksum of both vocabularies, because ids mean nothing in another vocabulary.
// Errors: InputError for a file that is not a shortlist, is damaged, or is of other vocabularies.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "qkv/text/tokenizer.h"

namespace qkv {

// A vocabulary by what ids mean: tokens and their order, not how text is cut into them.
struct VocabularyKey {
  int64_t size = 0;
  std::string checksum = {};  // of all tokens, hexadecimal
  friend bool operator==(const VocabularyKey&, const VocabularyKey&) = default;
};
VocabularyKey vocabulary_key(const Tokenizer& tokenizer);

struct ShortlistTable {
  VocabularyKey source = {}, target = {};
  std::vector<int32_t> frequent = {};                   // any order
  std::vector<std::vector<int32_t>> translations = {};  // of every source token
};

class Shortlist {
 public:
  // Errors: a list for each source token; ids of the target vocabulary; sizes beyond i32.
  explicit Shortlist(ShortlistTable table);
  static Shortlist load(const std::filesystem::path& path);
  void save(const std::filesystem::path& path) const;

  // Sorted, each once. Errors: ids outside the source vocabulary.
  std::vector<int32_t> candidates(std::span<const int32_t> source) const;

  const ShortlistTable& table() const { return table_; }
  int64_t translation_count() const;  // of all source tokens together
  // InputError, naming the file, if the vocabularies are not those that the shortlist was made with.
  void check_vocabularies(const VocabularyKey& source, const VocabularyKey& target, const std::string& file) const;

 private:
  ShortlistTable table_;
};

}  // namespace qkv
