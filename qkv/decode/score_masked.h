// The log-probability of each token of texts under a masked model, given the other tokens: the pseudo-log-likelihood (Salazar et
// al., "Masked Language Model Scoring", 2020).
//
//     auto scores = score_masked(model, texts, {.mask = tokenizer.mask_id()});     // texts: ids in their frame
//     scores[d].token_log_probabilities                                            // of the tokens that are scored
//
// Every token is replaced by the mask once, in one of `apart` passes over its text: pass r masks the tokens r, r + apart, .... With
// 7 apart, 14 % are masked at a time, about as in training, and a text costs 7 passes; with as many as there are tokens, each is
// predicted from all others. The first `before` and the last `after` tokens of a text are not scored, they are its frame.
//
// Passes of all texts are batched by length; a score does not depend on the other texts.
// Errors   UsageError for `apart` below 1 and a mask outside the vocabulary.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "qkv/decode/score.h"
#include "qkv/model/masked.h"

namespace qkv {

struct ScoreMaskedOptions {
  int32_t mask = -1;              // its id
  int64_t apart = 7;              // of the tokens that are masked together
  int64_t batch_tokens = 4096;    // of a batch; a single text always fits
  int64_t before = 0, after = 0;  // tokens of the frame
};

// progress(n) is called after every batch, n texts being done; it may throw to stop.
std::vector<TargetScore> score_masked(const MaskedTransformer& model, std::span<const std::vector<int32_t>> texts,
                                      const ScoreMaskedOptions& options,
                                      const std::function<void(int64_t)>& progress = {});

}  // namespace qkv
