// The failures to try, for a command whose run without failures made the given numbers of calls.
#pragma once

#include <vector>

#include "test/faults/command.h"

namespace qkv {

// Every call fails once, permanently, and is replaced by a kill; of each type of call at most
// `max_per_call`, evenly spaced.
std::vector<FaultPlan> all_faults(const Outcome& quiet, int64_t max_per_call);
std::vector<FaultPlan> sample_of_faults(const Outcome& quiet);           // some of each kind, and some full disks
std::vector<FaultPlan> full_disks(const Outcome& quiet, int64_t count);  // at random numbers of bytes

template <class T>
std::vector<T> every_nth(const std::vector<T>& all, size_t n) {
  std::vector<T> some;
  for (size_t i = 0; i < all.size(); i += n) some.push_back(all[i]);
  return some;
}

}  // namespace qkv
