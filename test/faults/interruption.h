// Trainings that are interrupted by signals at random moments, and resumed until they are done.
//
//     const Interruptions i = interrupt_trainings({.count = 1000});
//     EXPECT_EQ(i.lost + i.different, 0) << i.findings;
#pragma once

#include <cstdint>
#include <string>

namespace qkv {

struct InterruptionOptions {
  int64_t count = 20;  // signals that meet a training before its end
  uint64_t seed = 1;
};

struct Interruptions {
  int64_t trainings = 0;      // that came to their end, each interrupted at least once
  int64_t by_signal[4] = {};  // TERM, INT, HUP, KILL
  int64_t saved = 0;          // exit code 130: all was saved
  int64_t lost = 0;           // there was a model, or one was promised, and it is no longer there
  int64_t crashed = 0;        // by another signal than the one sent, or another exit code
  int64_t different = 0;      // other bits, or another log, than the training that nobody interrupted
  std::string findings;

  std::string to_string() const;
};

Interruptions interrupt_trainings(const InterruptionOptions& options);

}  // namespace qkv
