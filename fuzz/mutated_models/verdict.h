// What became of a damaged model. It was used, with the answer of the whole one or another, or it was refused with a message
// that helps. Anything else is a finding: a crash, too much time or memory, an internal message, too few answers.
//
//     const Verdict verdict = judge(outcome, whole, {.folder = "/tmp/damaged", .answers_lines = true});
#pragma once

#include <string>

#include "fuzz/mutated_models/child.h"

namespace qkv::fuzz {

struct Verdict {
  std::string text;  // "used, same answer"
  bool finding = false;
};

struct Expected {
  std::string folder;  // which a message names
  bool answers_lines = true, gives_numbers = false;
  bool checked = false;  // by checksums: the answer is that of the whole model
};

Verdict judge(const Outcome& outcome, const Outcome& whole, const Expected& expected);

}  // namespace qkv::fuzz
