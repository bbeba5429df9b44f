// A program in a process of its own, with an end to its time and memory.
//
//     Outcome outcome = run_program({"qkv", "translate", "--model", "m"}, "one line\n", {.seconds = 10});
//     if (outcome.end == Outcome::End::crashed) ...
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace qkv::fuzz {

struct ChildLimits {
  int seconds = 10;                 // of processor time; one that waits ends after six times as long
  size_t memory = size_t{4} << 30;  // address space in bytes
};

struct Outcome {
  enum class End { exited, crashed, too_slow } end = End::exited;
  int code = 0;  // the exit code, or the signal
  double seconds = 0;
  std::string output, errors;
};

Outcome run_program(const std::vector<std::string>& arguments, const std::string& input,
                    const ChildLimits& limits = {});

}  // namespace qkv::fuzz
