// Continuations of prompts, sampled token by token from any model that decodes (model/decoding.h).
//
//     auto found = generate(*model.start(/*rows=*/2), {{bos, 5, 7}, {bos}}, {.sampling = {.temperature = 0.8}});
//     found[1].ids                                             // what follows prompt 1, without eos
//
// With a callback for each new token, texts can be printed while they grow, and ended by stop strings (text_stream.h):
//
//     generate(*rows, prompts, options, [&](size_t row, int32_t id) { ...; return !streams[row].stopped(); });
//
// Or token by token, for callers with a loop of their own:
//
//     Generation generation(*rows, prompts, options);
//     while (generation.step()) ...;                          // a token more for every row that has not ended
//     generation.found()
//
// Further rows may join while others grow; those of many prompts do, as soon as there is room: generate_many.h.
//
// Rows that have read the beginning of their prompts (Decoding::position()) are given the rest of them. With a proposer
// (speculation.h) a step adds several tokens to a row, those that it has without one, bit for bit.
//
// A row leaves the batch when it ends; the token of a row depends neither on the others nor on the number of threads.
// The random numbers of row r are those of streams[r], or of first_stream + r.
// Errors: UsageError for options out of range; Error for prompts that are empty or do not fit the rows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "qkv/decode/sampling.h"
#include "qkv/decode/speculation.h"
#include "qkv/decode/top_tokens.h"
#include "qkv/model/decoding.h"

namespace qkv {

struct GenerateOptions {
  std::vector<int32_t> eos = {};
  int64_t max_tokens = 256;    // of a continuation, eos included
  int64_t min_tokens = 0;      // eos is not generated before
  int64_t position_limit = 0;  // of the tokens that the model reads, all but the last one; 0: none
  uint64_t first_stream = 0;
  std::vector<uint64_t> streams = {};  // one for each row; empty: from first_stream on
  SamplingOptions sampling = {};
  std::shared_ptr<Proposer> proposer = {};  // of this call alone; none: a token a step
  // False: log_probability stays 0, and greedy search needs no softmax, nor all logits.
  bool scores = true;
};

struct Generated {
  enum class End { eos, max_tokens, position_limit, stopped };  // stopped: by the callback
  std::vector<int32_t> ids;                                     // without eos
  double log_probability = 0;                                   // of ids and eos, in the model's own distribution
  End end = End::max_tokens;
  Speculated speculated = {};
};

// Called for every token but eos, in the order of positions; false ends the row.
using OnToken = std::function<bool(size_t row, int32_t id)>;

class Generation {
 public:
  // The rows must outlive it.
  Generation(Decoding& rows, std::span<const std::vector<int32_t>> prompts, const GenerateOptions& options = {});

  // False when all rows have ended. The first step of a row reads its prompt.
  bool step(const OnToken& on_token = {});
  // The rows of another Decoding of the same model, which has none afterwards; their prompts follow the others in found().
  void join(Decoding& rows, std::span<const std::vector<int32_t>> prompts, std::span<const uint64_t> streams = {});
  std::vector<size_t> live() const;                               // the rows that have not ended, as in found()
  const std::vector<Generated>& found() const { return found_; }  // of every prompt, as far as it is generated

 private:
  // A row that has not ended.
  struct Live {
    size_t row = 0;                // in the result
    std::vector<int32_t> history;  // prompt and continuation
  };
  void add_prompts(const Decoding& rows, std::span<const std::vector<int32_t>> prompts);
  bool at_limit(const Live& live);
  Tensor next_logits();
  void propose();
  std::vector<TokenChoice> choose(const Tensor& logits, std::span<const size_t> live) const;
  bool ranks_logits() const;
  std::vector<bool> take_likeliest(const OnToken& on_token);
  std::vector<bool> take_tokens(const Tensor& logits, const OnToken& on_token);
  bool add(Live& live, const TokenChoice& token, const OnToken& on_token);
  template <class Continues>
  void keep(Continues continues);

  Decoding& rows_;
  GenerateOptions options_;
  SamplingOptions before_eos_;
  std::vector<Live> live_;
  bool reads_prompts_ = true;                 // in the next step
  int64_t vocabulary_ = 0;                    // V, after the first step
  std::vector<std::vector<int32_t>> tokens_;  // the next ones of every live row; the proposed ones last
  std::vector<Generated> found_;
  TopTokensScan scan_;
};

std::vector<Generated> generate(Decoding& rows, std::span<const std::vector<int32_t>> prompts,
                                const GenerateOptions& options = {}, const OnToken& on_token = {});

}  // namespace qkv
