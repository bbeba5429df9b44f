// The hypotheses of one sentence during beam search (Graves, 2012; Sutskever et al., 2014, section 3.2): of all
// ways to go on, those with the largest log-probability live on; a hypothesis ends when the end of the sentence is
// among the `beam` best ways to go on. Knows nothing of models: log-probabilities in, parents and tokens out.
//
//     Beam beam({.beam = 4, .max_length = 50});
//     while (!beam.done()) {
//       top_tokens of beam.live()...;                          // one row of log-probabilities each
//       beam.advance(top, first_row);
//     }
//     std::vector<Hypothesis> best = beam.take_best();
//
// Of beam 1 that is greedy search. Ties go to the hypothesis that stands first, then to the lower id.
#pragma once

#include <vector>

#include "qkv/decode/search.h"
#include "qkv/decode/top_tokens.h"

namespace qkv {

class Beam {
 public:
  struct Live {
    int64_t parent;  // among the live ones before
    std::vector<int32_t> ids;
    double log_probability;
  };

  // max_length: tokens of the longest answer, the end not counted.
  Beam(const SearchOptions& options, int64_t max_length);

  bool done() const { return done_; }
  const std::vector<Live>& live() const { return live_; }  // best first; one empty hypothesis at the start
  // Row first_row + i of top belongs to live()[i].
  void advance(const TopTokens& top, int64_t first_row);
  std::vector<Hypothesis> take_best();  // at most n_best, best first

 private:
  struct Continuation {
    double log_probability;
    int64_t parent;
    int32_t id;
  };
  void collect(const TopTokens& top, int64_t first_row);
  void finish(const Live& hypothesis, double log_probability);
  bool settled() const;

  SearchOptions options_;
  int64_t max_length_, length_ = 0;
  bool done_ = false;
  std::vector<Live> live_;
  std::vector<Continuation> continuations_;
  std::vector<Hypothesis> finished_;
};

}  // namespace qkv
