// The error of a text that a tokenizer cannot encode, while it can encode others: a word outside a vocabulary that has no
// unknown token, a text on which a regular expression takes too many steps, one that normalisation makes too long.
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
