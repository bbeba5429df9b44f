// Logits or vectors that are +infinity or NaN, because the numbers of a model have become too large.
//
//     try {
//       generator.generate("the cat");
//     } catch (const Overflow&) {
//       fail("my-model", "{}", Overflow::reason);
//     }
//
// An error names the row; the commands and Python say the reason, and which model it was.
#pragma once

#include "qkv/base/error.h"

namespace qkv {

class Overflow : public Error {
 public:
  using Error::Error;
  static constexpr const char* reason =
      "the model computes +infinity or NaN in place of probabilities or vectors: its weights or its settings are "
      "wrong";
};

}  // namespace qkv
