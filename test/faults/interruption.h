// Trainings that are interrupted by signals at random moments, and resumed until they are finished.
//
//     const Interruptions i = interrupt_trainings({.count = 1000});
//     EXPECT_EQ(i.lost + i.different, 0) << i.findings;
#pragma once

#include <cstdint>
#include <string>

namespace qkv {

struct InterruptionOptions {
  int64_t count = 20;  // signals that interrupt a training before its end
  uint64_t seed = 1;
};

struct Interruptions {
  int64_t trainings = 0;      // finished, each after at least one interruption
  int64_t by_signal[4] = {};  // TERM, INT, HUP, KILL
  int64_t saved = 0;          // exit code 130: all was saved
  int64_t lost = 0;           // a model existed, or was reported as saved, and is missing
  int64_t crashed = 0;        // ended by another signal than the one sent, or with another exit code
  int64_t different = 0;      // other bits or another log than the uninterrupted training
  std::string findings;

  std::string to_string() const;
};

Interruptions interrupt_trainings(const InterruptionOptions& options);

}  // namespace qkv
