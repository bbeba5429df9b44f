// Which failures are injected, given the calls of a quiet run (a run without failures).
#pragma once

#include <vector>

#include "test/faults/command.h"

namespace qkv {

// Every call: one failure, a lasting failure, and a kill instead of the call. Kinds with more calls than the limit
// are sampled evenly.
std::vector<FaultPlan> all_faults(const Outcome& quiet, int64_t most_of_a_kind);
std::vector<FaultPlan> sample_of_faults(const Outcome& quiet);           // some of each kind, and some full disks
std::vector<FaultPlan> full_disks(const Outcome& quiet, int64_t count);  // at random numbers of bytes

template <class T>
std::vector<T> every_nth(const std::vector<T>& all, size_t n) {
  std::vector<T> some;
  for (size_t i = 0; i < all.size(); i += n) some.push_back(all[i]);
  return some;
}

}  // namespace qkv
