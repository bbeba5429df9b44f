// A parallel corpus: sentences and their translations, read pair by pair.
//
//     CorpusReader corpus("train.tsv.gz");              // or "train.en,train.fr": two files, a sentence a line
//     for (SentencePair pair; corpus.next(pair);) use(pair.source, pair.target);
//     log("{} pairs, {} with an empty side", corpus.pairs(), corpus.blank());
//
// In a .tsv file every line is "source TAB target"; columns after the second are ignored. A file of three columns or
// more whose first one has numbers, the ids or scores of an export, is an InputError that says how to cut it. Any file may be gzip or zstd, a
// pipe, or "-" for standard input. A path with a comma in it is one file if a file of that name exists. Pairs with a
// blank side, blank lines among them, are skipped and counted. LineError, naming file and line: no tab, invalid
// UTF-8, a NUL byte, a line too long; next() then continues after it, in both files. InputError: files with
// different numbers of lines, a corpus without pairs, two TSV files given as the two sides of one corpus.
//
// A corpus of text has a document on every line, tabs included, and no target: SentencePair::target is empty. It is one
// file.
//
//     const Corpus text("books.txt.gz", CorpusKind::text);
//
// Several corpora are read one after another, as if they were one (corpus_paths.h):
//
//     const Corpus all(CorpusPaths{"europarl.en,europarl.de", "news.tsv"});
//
// A corpus that is read several times is opened once:
//
//     const Corpus corpus("-");                          // a pipe is copied to a temporary file (repeatable_file.h)
//     Holdout holdout(corpus, 500, /*seed=*/1);
//     CorpusReader rest(corpus, {.holdout = &holdout});
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "qkv/text/corpus_paths.h"
#include "qkv/text/lines.h"
#include "qkv/text/repeatable_file.h"

namespace qkv {

class Holdout;

struct SentencePair {
  std::string source, target;
  friend bool operator==(const SentencePair&, const SentencePair&) = default;
};

struct CorpusOptions {
  const Holdout* holdout = nullptr;  // pairs with its sources are skipped; must outlive the reader
  bool every_line = false;           // a pair for each line, blank sides included; an empty file is not an error
  LineOptions lines = {};
};

enum class CorpusKind { pairs, text };

class Corpus {
 public:
  // NOLINTNEXTLINE: implicit, so that functions of a corpus accept its path
  Corpus(const std::string& spec, CorpusKind kind = CorpusKind::pairs) : Corpus(CorpusPaths(spec), kind) {}
  explicit Corpus(const char* spec, CorpusKind kind = CorpusKind::pairs) : Corpus(CorpusPaths(spec), kind) {}
  explicit Corpus(const CorpusPaths& paths, CorpusKind kind = CorpusKind::pairs);
  const std::string& name() const { return name_; }
  CorpusKind kind() const { return kind_; }

 private:
  friend class CorpusReader;
  struct Part {
    std::string name;
    std::vector<RepeatableFile> files;  // one or two
  };
  std::string name_;
  CorpusKind kind_;
  std::vector<Part> parts_;  // at least one
};

// The one or two files of a path: "train.tsv", or "train.en,train.fr". UsageError for anything else.
std::vector<std::string> files_of_corpus(const std::string& spec);

class CorpusReader {
 public:
  // Reads the files of a path once, as data arrives.
  explicit CorpusReader(const std::string& spec, const CorpusOptions& options = {});
  explicit CorpusReader(const Corpus& corpus, const CorpusOptions& options = {});
  // Pairs from lines: of a TSV file, or of two files (shard.h).
  CorpusReader(const std::string& name, LineReader first, std::optional<LineReader> second,
               const CorpusOptions& options);

  bool next(SentencePair& pair);
  bool ready();                                   // next() would not wait for a stream
  int64_t pairs() const { return pairs_; }        // returned so far
  int64_t blank() const { return blank_; }        // skipped: a side was blank
  int64_t held_out() const { return held_out_; }  // skipped: held out
  const std::string& name() const { return name_; }
  std::string where() const { return first_.where(); }  // "train.tsv:17", of the last pair

 private:
  void open(const Corpus::Part& part);
  bool read(SentencePair& pair);
  bool read_line(SentencePair& pair);
  bool read_two_lines(SentencePair& pair);
  void check_columns(const std::string& line);
  void check_sides(const SentencePair& pair);
  void check_not_empty() const;

  std::string name_;  // of the part that is read
  CorpusKind kind_ = CorpusKind::pairs;
  CorpusOptions options_;
  LineReader first_;
  std::optional<LineReader> second_;  // of two files
  std::deque<Corpus::Part> rest_ = {};
  int64_t numbered_ = 0;  // lines from the first on whose first column is a number, with three columns or more
  int64_t tabbed_ = 0;    // lines from the first on of two files with a tab on both sides
  int64_t pairs_ = 0, blank_ = 0, held_out_ = 0;
  int64_t before_ = 0, blank_before_ = 0;  // pairs, held out or not, and blank ones, of the parts before
};

std::vector<SentencePair> read_corpus(const Corpus& corpus, const CorpusOptions& options = {});

// The sentences of one side or both, one at a time, for the training of a tokenizer.
//
//     Tokenizer joint = Tokenizer::train(CorpusSentences("train.tsv", Side::both), {.vocabulary_size = 8000});
enum class Side { source, target, both };

class CorpusSentences {
 public:
  CorpusSentences(const Corpus& corpus, Side side, const CorpusOptions& options = {})
      : corpus_(corpus, options), side_(side) {}
  bool operator()(std::string& sentence);

 private:
  CorpusReader corpus_;
  Side side_;
  SentencePair pair_;
  bool target_is_next_ = false;
};

}  // namespace qkv
