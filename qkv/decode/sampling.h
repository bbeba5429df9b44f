// The choice of the next token of each row from its logits: greedy, or at random from a distribution that is cut to
// the likely tokens.
//
//     SamplingOptions options{.temperature = 0.8, .top_p = 0.95, .seed = 7};
//     std::vector<SamplingRow> rows = {{.history = ids, .stream = 0, .position = 12}};     // one for each row
//     int32_t next = sample_tokens(logits, rows, options)[0].id;                           // logits f32 (R,V)
//
// The options change the logits x of a row in this order, the same as in Hugging Face transformers:
//
//     1. repetition_penalty r   x / r if x >= 0, x * r if x < 0, for tokens of the history (Keskar et al., "CTRL: a
//                               conditional Transformer language model for controllable generation", 2019)
//     2. no_repeat_ngram n      tokens that would complete an n-gram of the history are forbidden (Paulus et al.,
//                               "A deep reinforced model for abstractive summarization", 2018), and suppress_tokens
//     3. temperature t          x / t; 0: the token with the largest logit, the lowest id of equal ones
//     4. top_k k                tokens with a smaller logit than the k-th largest are forbidden; equal ones stay
//     5. top_p p                nucleus sampling (Holtzman et al., "The curious case of neural text degeneration",
//                               2020): the fewest most likely tokens whose probabilities sum to p or more; the most
//                               likely one always; of equal ones the higher id comes first
//     6. min_p m                tokens less likely than m times the most likely one are forbidden
//
// A logit of -infinity forbids its token. The probabilities are the softmax of the remaining logits, in double
// precision.
//
// The random number of a row is a function of the seed, of its stream and of its position: its token depends neither
// on the other rows nor on the number of threads.
// Errors: UsageError for options out of range; Error for shapes that do not fit, ids outside the vocabulary, NaN or
// +infinity, and a row whose tokens are all forbidden.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "qkv/decode/top_tokens.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

// Ranges and help: decode/option_table.h.
struct SamplingOptions {
  double temperature = 1.0;         // 0: greedy
  int64_t top_k = 0;                // 0: off
  double top_p = 1.0;               // 1: off
  double min_p = 0.0;               // 0: off
  double repetition_penalty = 1.0;  // 1: off
  int64_t no_repeat_ngram = 0;      // 0: off
  std::vector<int32_t> suppress_tokens = {};
  uint64_t seed = 1;

  friend bool operator==(const SamplingOptions&, const SamplingOptions&) = default;
};
void check_options(const SamplingOptions& options);
// The options that change the distribution: "temperature", "top-k", ...
std::vector<std::string> sampling_names();

struct SamplingRow {
  std::span<const int32_t> history = {};  // the tokens before: prompt and generated ones
  uint64_t stream = 0;                    // names the text, such as its number in the input
  int64_t position = 0;                   // of the token that is chosen, in its text
};

// The chosen tokens (R), each with its log-probability in the softmax of the unchanged logits.
std::vector<TokenChoice> sample_tokens(const Tensor& logits, std::span<const SamplingRow> rows,
                                       const SamplingOptions& options = {});

// The tokens that would complete an n-gram of the history a second time; none with n = 0.
std::vector<int32_t> ends_of_repeated_ngrams(std::span<const int32_t> history, int64_t n);

struct TokenProbability {
  int32_t id;
  double probability;
};

// What sample_tokens() draws from: the tokens left, sorted by id, and their probabilities, whose sum is 1. `logits`
// has the V logits of a row.
std::vector<TokenProbability> sampling_distribution(std::span<const float> logits, std::span<const int32_t> history,
                                                    const SamplingOptions& options = {});

}  // namespace qkv
