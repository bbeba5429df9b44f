// The most likely translations of a batch of sentences, from token ids to token ids: greedy search (beam 1) or
// beam search.
//
//     auto found = search(model, source, lengths, {.beam = 4, .n_best = 2});       // source i32 (B,S), lengths (B)
//     found[b][0].ids                                                              // the best one of sentence b
//
// Hypotheses are ranked by their log-probability divided by a length penalty, where |Y| counts eos:
//
//     score(Y) = log p(Y | X) / lp(Y),   lp(Y) = ((5 + |Y|) / (5 + 1))^alpha     wu
//                                        lp(Y) = |Y|^alpha                       power
//
// wu is from Wu et al., "Google's Neural Machine Translation System", 2016, equation 14; power is used by Marian,
// CTranslate2 and Hugging Face transformers. alpha 0 ranks by the log-probability, which favors short translations.
//
// The search of a sentence ends when `beam` hypotheses are finished, or when no live one can become one of the n best;
// with early_stopping off, as in transformers, when the best live one, at its present length, is no better than the
// worst of `beam` finished ones. A hypothesis of maximum length is finished with the probability of eos there, so
// log_probability always covers ids and eos, as score_targets() computes it; without eos_at_max_length it is finished
// without eos. With a prefix, all of this is about the tokens after it. A forced first token counts in the length, and
// has log-probability 0.
//
// Every other model that grows sequences token by token is searched through its Decoding:
//
//     auto found = search({.start = [&](auto rows) { return model.start(prompts_of(rows)); },
//                          .first = {{bos}, {bos, 7}}, .max_lengths = {50, 50}}, {.beam = 4});
//
// An answer may be asked to begin with a prefix, to contain phrases, and to consist of candidates, such as those of a
// shortlist (shortlist.h); log p(Y | X) is then of distributions over the candidates:
//
//     search(model, source, lengths, {.beam = 4}, {.candidates = ids});      // ids[b]: a vector for sentence b; and eos
//
// Determinism: the result of a sentence is the same bit for bit in any batch, with any padding and number of
// threads. Finished sentences leave the batch; the decoder has a KV cache.
// Errors: UsageError for options out of range; Error for ids or lengths that do not fit the model.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "qkv/base/names.h"
#include "qkv/model/encoder_decoder.h"
#include "qkv/text/tokenizer.h"

namespace qkv {

enum class LengthNormalization { wu, power };
constexpr auto names_of(LengthNormalization) {
  return std::array{Named{LengthNormalization::wu, "wu"}, Named{LengthNormalization::power, "power"}};
}

// Ranges and help of what a user chooses: decode/option_table.h. Below them, what the vocabulary and the batches of a
// Translator decide.
struct SearchOptions {
  int64_t beam = 4;             // 1: greedy search
  double length_penalty = 1.0;  // alpha
  LengthNormalization length_normalization = LengthNormalization::wu;
  bool early_stopping = true;
  bool eos_at_max_length = true;
  int64_t n_best = 1;         // at most beam
  bool alternatives = false;  // n_best answers with different first tokens (alternatives.h); n_best may exceed beam
  int64_t min_length = 0;     // in tokens, without eos
  // Tokens that would complete an n-gram a second time are excluded (sampling.h); 0: off.
  int64_t no_repeat_ngram = 0;
  // The maximum length for a source of S tokens: max_length, if not 0; else max_length_ratio * S +
  // max_length_extra, but not more than default_context() of the model. The model's position limit applies, too.
  int64_t max_length = 0;
  double max_length_ratio = 3.0;
  int64_t max_length_extra = 100;
  bool alignment = false;
  // False: greedy search with early stopping does without the softmax, which finds the same ids sooner, and scores and
  // log-probabilities are 0.
  bool scores = true;

  // Maximum number of hypotheses times positions in the KV cache, for at least one sentence; 0: no limit.
  // Sentences beyond it are searched later, in batches of their own.
  int64_t max_tokens = 0;
  int32_t bos = Tokenizer::bos, eos = Tokenizer::eos;  // eos -1: hypotheses end only at their maximum length
  std::vector<int32_t> suppress_tokens = {Tokenizer::pad, Tokenizer::bos};  // never generated
  std::optional<int32_t> forced_first_token = {};  // such as the target language of a multilingual model
};

struct Hypothesis {
  std::vector<int32_t> ids;    // without bos and eos, with the prefix
  double score = 0;            // 0 without options.scores
  double log_probability = 0;  // of what follows the prefix; 0 without options.scores
  Tensor alignment;            // (ids, S), with options.alignment (alignment.h)
};

// The sequences of a model to search, by their indices.
struct SearchTask {
  // Begins the decoding of some of the sequences, with a row for each. Several threads may call it at the same time.
  std::function<std::unique_ptr<Decoding>(std::span<const int64_t> sequences)> start;
  std::vector<std::vector<int32_t>>
      first;                         // the tokens that each sequence begins with: bos, or a prompt; not empty
  std::vector<int64_t> max_lengths;  // of what follows them, in tokens, without eos
  // The phrases that each answer must contain (required_phrases.h), in what it begins with or after it; none: nothing.
  std::vector<std::vector<std::vector<int32_t>>> phrases = {};
  // The only tokens that may follow, for each sequence (candidate_tokens.h): sorted, with eos and those of its phrases. None:
  // the whole vocabulary.
  std::vector<std::vector<int32_t>> candidates = {};
};
std::vector<std::vector<Hypothesis>> search(const SearchTask& task, const SearchOptions& options = {});

// What the answer to each source must be, a list for each; an empty one asks for nothing.
struct AnswerConditions {
  std::span<const std::vector<int32_t>> prefixes = {};  // it begins with these tokens, without bos
  std::span<const std::vector<std::vector<int32_t>>> phrases =
      {};  // it contains each of these (required_phrases.h)
  // What follows the prefix consists of these tokens, in any order, and of those of its prefix and phrases.
  std::span<const std::vector<int32_t>> candidates = {};
};
std::vector<std::vector<Hypothesis>> search(const EncoderDecoder& model, const Encoded& encoded,
                                            const SearchOptions& options = {},
                                            const AnswerConditions& conditions = {});
std::vector<std::vector<Hypothesis>> search(const EncoderDecoder& model, const Tensor& source,
                                            std::span<const int32_t> lengths, const SearchOptions& options = {},
                                            const AnswerConditions& conditions = {});

// The checks of search(): UsageError for options out of range, for any model or for this one.
void check_options(const SearchOptions& options);
void check_options(const SearchOptions& options, const ModelConfig& config);

// lp(Y) for |Y| tokens, eos included.
double length_penalty(int64_t tokens, double alpha, LengthNormalization normalization = LengthNormalization::wu);

}  // namespace qkv
