// Continuations of any number of prompts, with continuous batching: a row that ends makes room for the next prompt at once,
// so that a step always has as many rows as the limit of tokens allows (Yu et al., "Orca: A Distributed Serving System for
// Transformer-Based Generative Models", 2022). A step reads all weights, whether it has one row or many.
//
//     const auto start = [&](int64_t rows) { return model.start(rows); };
//     auto found = generate_many(start, prompts, {.batch_tokens = 8192, .generate = {.max_tokens = 100}});
//     found[3].ids                                             // what follows prompt 3
//
// The answer to a prompt is that of generate() (generate.h), bit for bit, whatever it shares its steps with. Longest prompts
// come first, so that the largest steps do. Errors: those of generate().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "qkv/decode/generate.h"

namespace qkv {

struct GenerateManyOptions {
  // Of the longest prompt and answer of the rows of a step, times their number; a row always fits.
  int64_t batch_tokens = 8192;
  GenerateOptions generate = {};
};

// on_token(i, id) is about prompt i, and on_end(n) called after n of the prompts have their answers; it may throw to stop.
std::vector<Generated> generate_many(const std::function<std::unique_ptr<Decoding>(int64_t rows)>& start,
                                     std::span<const std::vector<int32_t>> prompts,
                                     const GenerateManyOptions& options = {}, const OnToken& on_token = {},
                                     const std::function<void(int64_t)>& on_end = {});

}  // namespace qkv
