// The attention of a causal model to random tokens that it reads twice: bos r_1 .. r_n r_1 .. r_n. In the second half nothing but
// the first one tells what follows, which is what induction heads find (pattern/induction.h; Olsson et al., 2022, section
// "Argument 4").
//
//     const AttentionMaps maps = repeated_tokens(generator, {.length = 50});
//     pattern_strengths(maps)[5][1].kind()                                              // "induction"
//
// The tokens are drawn evenly from the vocabulary, special ones left out, each at most once where the vocabulary has enough.
// Errors   UsageError for a length below 2, and for one whose 2 n tokens and bos are more than the positions of the model.
#pragma once

#include "qkv/pipeline/inspect.h"

namespace qkv {

struct RepeatedTokensOptions {
  int64_t length = 0;  // n; 0: 50, or as many as the model has positions for
  uint64_t seed = 1;
};
AttentionMaps repeated_tokens(const Generator& generator, const RepeatedTokensOptions& options = {});

}  // namespace qkv
