// A parallel corpus: sentences and their translations, read pair by pair.
//
//     CorpusReader corpus("train.tsv.gz");              // or "train.en,train.fr": two files, a sentence a line
//     for (SentencePair pair; corpus.next(pair);) use(pair.source, pair.target);
//     log("{} pairs, {} with an empty side", corpus.pairs(), corpus.blank());
//
// In a .tsv file every line is "source TAB target"; what stands behind a second tab is not read. Any file may be
// gzip. A path with a comma in it is one file if there is a file of that name. Pairs of which one side is blank are
// passed over and counted, blank lines among them. InputError, naming file and line: no tab, invalid UTF-8, a NUL
// byte, a line too long, files that differ in their number of lines, a corpus without pairs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "qkv/text/lines.h"

namespace qkv {

class Holdout;

struct SentencePair {
  std::string source, target;
  friend bool operator==(const SentencePair&, const SentencePair&) = default;
};

struct CorpusOptions {
  const Holdout* holdout = nullptr;  // pairs whose source it contains are passed over; must outlive the reader
  LineOptions lines = {};
};

class CorpusReader {
 public:
  explicit CorpusReader(const std::string& spec, const CorpusOptions& options = {});

  bool next(SentencePair& pair);
  int64_t pairs() const { return pairs_; }        // given so far
  int64_t blank() const { return blank_; }        // passed over: a side was blank
  int64_t held_out() const { return held_out_; }  // passed over: held out
  const std::string& name() const { return name_; }
  std::string where() const { return first_.where(); }  // "train.tsv:17", of the last pair

 private:
  bool read(SentencePair& pair);
  bool read_line(SentencePair& pair);
  bool read_two_lines(SentencePair& pair);

  std::string name_;
  CorpusOptions options_;
  LineReader first_;
  std::optional<LineReader> second_;  // of two files
  int64_t pairs_ = 0, blank_ = 0, held_out_ = 0;
};

std::vector<SentencePair> read_corpus(const std::string& spec, const CorpusOptions& options = {});

// The sentences of one side or both, one at a time: what a tokenizer is trained on.
//
//     Tokenizer joint = Tokenizer::train(CorpusSentences("train.tsv", Side::both), {.vocabulary_size = 8000});
enum class Side { source, target, both };

class CorpusSentences {
 public:
  CorpusSentences(const std::string& spec, Side side, const CorpusOptions& options = {})
      : corpus_(spec, options), side_(side) {}
  bool operator()(std::string& sentence);

 private:
  CorpusReader corpus_;
  Side side_;
  SentencePair pair_;
  bool target_is_next_ = false;
};

}  // namespace qkv
