// The speed of translating with a model of random weights, in which every translation has exactly `tokens` tokens.
//
//     const DecodingSpeed speed = measure_decoding(model, random_sentences(512, model.config().source_vocabulary()),
//                                                  {.batch = 64, .beam = 4});
//     speed.tokens_per_s                            // target tokens
//
// Sentences are translated sorted by length, `batch` at a time; the first batch is translated once before. The fastest round
// counts.
#pragma once

#include <vector>

#include "qkv/model/transformer.h"

namespace qkv {

struct DecodingWork {
  int64_t batch = 64, beam = 1, tokens = 30;
  int rounds = 3;
};

struct DecodingSpeed {
  int64_t sentences = 0;
  double seconds = 0, tokens_per_s = 0;
};

// Of 10 to 40 ids, always the same.
std::vector<std::vector<int32_t>> random_sentences(int64_t count, int64_t vocabulary);

DecodingSpeed measure_decoding(const Transformer& model, std::vector<std::vector<int32_t>> sentences,
                               const DecodingWork& work);

}  // namespace qkv
