// The likeliest translations of a batch of sentences, token ids in and out: greedy (beam 1) or beam search.
//
//     auto answers = search(model, source, lengths, {.beam = 4, .n_best = 2});     // source i32 (B,S), lengths (B)
//     answers[b][0].ids                                                            // the best one of sentence b
//
// Answers are ranked by log-probability with the length penalty of Wu et al., "Google's Neural Machine Translation
// System", 2016, equation 14, where |Y| counts the end of the sentence:
//
//     score(Y) = log p(Y | X) / lp(Y),   lp(Y) = ((5 + |Y|) / (5 + 1))^alpha
//
// alpha 0 ranks by plain log-probability, which likes short answers.
//
// The search of a sentence is over when `beam` answers have ended, or when nothing that is still open can reach the
// n best. An answer that reaches its longest length must end there, at the probability of ending there: so
// log_probability is always log p of ids and the end, as score_targets() of score.h gives it.
//
// The answer for a sentence is the same bit for bit, alone or in any batch, at any padding and number of threads.
// Finished sentences leave the batch. Keys and values of earlier positions are kept, not computed again.
// Errors: UsageError for options that make no sense; Error for ids or lengths that do not fit the model.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qkv/model/transformer.h"
#include "qkv/text/tokenizer.h"

namespace qkv {

struct SearchOptions {
  int64_t beam = 1;
  double length_penalty = 1.0;  // alpha
  int64_t n_best = 1;           // at most beam
  int64_t min_length = 0;       // tokens, the end not counted
  // The longest answer to a source of S tokens: max_length, if not 0; else max_length_ratio * S + max_length_extra.
  // Never more than the model has positions for.
  int64_t max_length = 0;
  double max_length_ratio = 3.0;
  int64_t max_length_extra = 100;
  // Hypotheses times positions held at a time, but one sentence always goes on; 0: any number. Sentences for which
  // there is no room any more are searched again, in batches of their own.
  int64_t max_tokens = 0;
  bool alignment = false;
  int32_t begin = Tokenizer::bos, end = Tokenizer::eos;
  std::vector<int32_t> never = {Tokenizer::pad, Tokenizer::bos};  // tokens that no answer holds
};

struct Hypothesis {
  std::vector<int32_t> ids;  // without begin and end
  double score;
  double log_probability;
  Tensor alignment;  // (ids, S) if asked for: which source tokens each token looked at (alignment.h)
};

std::vector<std::vector<Hypothesis>> search(const Transformer& model, const Tensor& source,
                                            std::span<const int32_t> lengths, const SearchOptions& options = {});

// What search() checks first: a UsageError for options that make no sense, for any model or for this one.
void check_options(const SearchOptions& options);
void check_options(const SearchOptions& options, const TransformerConfig& config);

// lp(Y) for |Y| tokens, the end counted.
double length_penalty(int64_t tokens, double alpha);

}  // namespace qkv
