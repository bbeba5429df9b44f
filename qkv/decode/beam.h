// The hypotheses of one sentence during beam search (Graves, 2012; Sutskever et al., 2014, section 3.2). In every
// step, the `beam` most likely continuations stay live; a hypothesis is finished when eos is among the `beam` best
// continuations. Independent of models: log-probabilities in, parents and tokens out.
//
//     Beam beam({.beam = 4}, /*max_length=*/50);
//     while (!beam.done()) {
//       TopTokens top = ...;                                   // one row of log-probabilities for each beam.live()
//       beam.advance(top, first_row);
//     }
//     std::vector<Hypothesis> best = beam.take_best();
//
// With phrases that every answer must contain (required_phrases.h), the live hypotheses are as evenly distributed over the
// numbers of met tokens as the candidates allow, the width is at least one more than these tokens, and a hypothesis without
// all of them is finished only at the maximum length, if there is no other.
//
// With beam 1 this is greedy search. Ties go to the better parent, then to the lower id.
#pragma once

#include <vector>

#include "qkv/decode/required_phrases.h"
#include "qkv/decode/search.h"
#include "qkv/decode/top_tokens.h"

namespace qkv {

class Beam {
 public:
  struct Live {
    int64_t parent = 0;  // index in live() of the previous step
    std::vector<int32_t> ids = {};
    double log_probability = 0;
    PhraseProgress progress = {};
    int64_t row = 0, row_before = 0;  // of its decoding among those of the beam; and of its parent
  };

  // max_length: of a translation in tokens, without eos.
  Beam(const SearchOptions& options, int64_t max_length, RequiredPhrases phrases = {},
       PhraseProgress progress = {});

  bool done() const { return done_; }
  const std::vector<Live>& live() const { return live_; }  // best first; one empty hypothesis at the start
  int64_t width() const { return width_; }                 // how many may be live
  // That each of live() needs for a phrase; for TopTokensOptions::extra_in_rows.
  std::vector<int32_t> wanted(size_t row) const { return phrases_.next_tokens(live_[row].progress); }
  // Row first_row + live()[i].row of top belongs to live()[i]. The new ones get rows in their order.
  void advance(const TopTokens& top, int64_t first_row);
  // Assigns the rows 0 .. rows - 1 again so that few must be copied: a hypothesis continues the row of its parent if it is the
  // first to do so.
  void keep_rows(int64_t rows);
  std::vector<Hypothesis> take_best();  // at most n_best, best first

 private:
  struct Continuation {
    double log_probability = 0;
    int64_t parent = 0;
    int32_t id = 0;
    PhraseProgress progress = {};
  };
  void collect(const TopTokens& top, int64_t first_row);
  void sort_continuations();
  void choose_live();
  bool may_finish(const PhraseProgress& progress) const;
  void finish(const Live& hypothesis, double log_probability, int64_t tokens);
  bool cannot_improve() const;
  bool is_worse() const;
  double score(double log_probability, int64_t tokens) const;  // tokens with eos

  SearchOptions options_;
  RequiredPhrases phrases_;
  int64_t width_, max_length_, length_ = 0;
  bool done_ = false;
  std::vector<Live> live_;
  std::vector<Continuation> continuations_;
  std::vector<Hypothesis> finished_;
  // Of a step, kept so that the next one allocates nothing.
  std::vector<Live> next_;    // will be live
  std::vector<size_t> free_;  // places among them for every number of met tokens
  std::vector<bool> chosen_;  // continuations
  std::vector<bool> taken_;   // rows
};

}  // namespace qkv
