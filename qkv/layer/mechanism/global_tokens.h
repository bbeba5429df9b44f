// The tokens with global attention in a pass, for layers of Longformer (Beltagy et al., 2020, section 3.1): the question
// of a question and a text, the token of a classification.
//
//     Pass pass = {.input = GlobalTokens{tokens}};
//     Variable y = model.forward(ids, lengths, pass);
#pragma once

#include "qkv/tensor/tensor.h"

namespace qkv {

struct Pass;

struct GlobalTokens {
  Tensor tokens;  // i32 (B,T): not 0 where a token is global
};

// Of the pass; not defined if it has none.
Tensor global_tokens_of(const Pass& pass);

}  // namespace qkv
