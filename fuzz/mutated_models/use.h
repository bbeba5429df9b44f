// What the command does with a model: a run of it for every purpose that a model of this architecture has.
//
//     for (const Use& use : uses_of(Architecture::causal)) run_program(use.arguments("model", "scratch"), use.input);
#pragma once

#include <string>
#include <vector>

#include "qkv/model/config.h"

namespace qkv::fuzz {

struct Use {
  std::vector<std::string> command;  // "generate", "--max-tokens", "5"
  std::string input;                 // standard input
  bool answers_lines = true;         // as many lines as the input has
  bool writes_folder = false;        // into --output
  bool gives_numbers = false;

  std::vector<std::string> arguments(const std::string& model, const std::string& output) const;
};

std::vector<Use> uses_of(Architecture architecture);

}  // namespace qkv::fuzz
