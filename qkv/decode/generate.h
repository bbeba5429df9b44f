// Continuations of prompts, sampled token by token from any model that decodes (model/decoding.h).
//
//     auto found = generate(*model.start(/*rows=*/2), {{bos, 5, 7}, {bos}}, {.sampling = {.temperature = 0.8}});
//     found[1].ids                                             // what follows prompt 1, without eos
//
// With a callback for each new token, texts can be printed while they grow, and ended by stop strings (text_stream.h):
//
//     generate(*rows, prompts, options, [&](size_t row, int32_t id) { ...; return !streams[row].stopped(); });
//
// A row leaves the batch when it ends; the token of a row depends neither on the others nor on the number of threads. The
// random numbers of row r are those of the stream first_stream + r.
// Errors: UsageError for options out of range; Error for prompts that are empty or do not fit the rows.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "qkv/decode/sampling.h"
#include "qkv/model/decoding.h"

namespace qkv {

struct GenerateOptions {
  std::vector<int32_t> eos = {};
  int64_t max_tokens = 256;    // of a continuation, eos included
  int64_t min_tokens = 0;      // eos is not generated before
  int64_t position_limit = 0;  // of prompt and continuation together; 0: none
  uint64_t first_stream = 0;
  SamplingOptions sampling = {};
};

struct Generated {
  enum class End { eos, max_tokens, position_limit, stopped };
  std::vector<int32_t> ids;    // without eos
  double log_probability = 0;  // of ids and eos, in the model's own distribution
  End end = End::max_tokens;
};

// Called for every token but eos, in the order of positions; false ends the row.
using OnToken = std::function<bool(size_t row, int32_t id)>;

std::vector<Generated> generate(Decoding& rows, std::span<const std::vector<int32_t>> prompts,
                                const GenerateOptions& options = {}, const OnToken& on_token = {});

}  // namespace qkv
