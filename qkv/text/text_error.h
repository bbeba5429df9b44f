// The error of a text that a tokenizer cannot encode, although it can encode others: a word outside a vocabulary
// without an unknown token, a text on which a regular expression takes too many steps, a text that normalisation makes
// too long.
//
//     try {
//       ids = tokenizer.encode(line);
//     } catch (const TextError& error) {
//       report(line_number, error.what());               // the next line may be all right
//     }
#pragma once

#include "qkv/base/error.h"

namespace qkv {

class TextError : public InputError {
 public:
  using InputError::InputError;
};

}  // namespace qkv
