#include "test/faults/fault_list.h"

#include <algorithm>
#include <cerrno>

#include "qkv/base/random.h"

namespace qkv {
namespace {

// A typical errno of such a call.
int error_of(Call call) {
  switch (call) {
    case Call::open: return EMFILE;
    case Call::write:
    case Call::mkdir: return ENOSPC;
    case Call::mmap:
    case Call::allocate:
    case Call::malloc: return ENOMEM;
    case Call::thread: return EAGAIN;
    default: return EIO;
  }
}

// At most `max_count` numbers from 1 to n, evenly spaced.
std::vector<int64_t> numbers_to(int64_t n, int64_t max_count) {
  std::vector<int64_t> numbers;
  const int64_t count = std::min(n, max_count);
  for (int64_t i = 0; i < count; ++i) numbers.push_back(1 + i * n / count);
  return numbers;
}

}  // namespace

std::vector<FaultPlan> all_faults(const Outcome& quiet, int64_t max_per_call) {
  std::vector<FaultPlan> plans;
  for (size_t i = 0; i < call_names.size(); ++i) {
    const Call call = static_cast<Call>(i);
    // There are too many allocations to try all of them.
    const bool memory = call == Call::allocate || call == Call::malloc;
    const int64_t max_count = memory ? std::min<int64_t>(max_per_call, 60) : max_per_call;
    for (const int64_t at : numbers_to(quiet.calls[i], max_count)) {
      plans.push_back({.call = call, .at = at, .error = error_of(call)});
      plans.push_back({.call = call, .at = at, .error = error_of(call), .lasting = true});
      if (!memory && call != Call::thread) plans.push_back({.call = call, .at = at});
    }
  }
  return plans;
}

std::vector<FaultPlan> sample_of_faults(const Outcome& quiet) {
  std::vector<FaultPlan> plans = full_disks(quiet, 2);
  Random random(7);
  for (size_t i = 0; i < call_names.size(); ++i) {
    if (quiet.calls[i] == 0) continue;
    const Call call = static_cast<Call>(i);
    const auto any = [&] { return 1 + static_cast<int64_t>(random.below(static_cast<uint64_t>(quiet.calls[i]))); };
    plans.push_back({.call = call, .at = any(), .error = error_of(call)});
    plans.push_back({.call = call, .at = any(), .error = error_of(call), .lasting = true});
    if (call == Call::write || call == Call::rename || call == Call::unlink)
      plans.push_back({.call = call, .at = any()});
  }
  return plans;
}

std::vector<FaultPlan> full_disks(const Outcome& quiet, int64_t count) {
  std::vector<FaultPlan> plans;
  Random random(11);
  for (int64_t i = 0; i < count; ++i) {
    const auto bytes = static_cast<int64_t>(random.below(static_cast<uint64_t>(quiet.written + 1)));
    plans.push_back({.error = i % 5 == 4 ? kill_process : ENOSPC, .disk_bytes = bytes});
  }
  return plans;
}

}  // namespace qkv
