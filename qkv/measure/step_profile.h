// Where the time of training steps goes: after some steps that warm up, a few are profiled (autograd/profile.h).
//
//     StepProfile profile;
//     while (!profile.is_complete()) { const StepProfile::Step step(profile); update(); }
//     std::string text = profile.table(measure_machine());
//     write_file("trace.json", profile.trace("qkv train"));         // for ui.perfetto.dev, chrome://tracing
//
// The table has a row for each op, pass and shape of a weight, with its own time, without that of the ops inside; its sum is the
// time of the steps. "other" is what belongs to no op. GFLOP/s are next to what the machine reaches in the numbers that the
// products are computed from, GB/s next to its memory: each tensor counts once, so that caches may exceed it. The trace has
// every span, and those of ops with what they computed, in the Trace Event Format of Chrome.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "qkv/autograd/profile.h"
#include "qkv/measure/machine_speed.h"

namespace qkv {

class StepProfile {
 public:
  explicit StepProfile(int64_t steps = 5, int64_t warmup = 2) : steps_(steps), warmup_(warmup) {}

  // The scope is a step of the thread; it is recorded after the warm-up, until the profile is complete.
  class Step {
   public:
    explicit Step(StepProfile& profile);
    ~Step() { ++profile_.begun_; }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    StepProfile& profile_;
    std::optional<ProfileScope> scope_;
    std::optional<OpScope> span_;
  };

  bool is_complete() const { return steps() == steps_; }
  int64_t steps() const;  // that were recorded
  int64_t first_step() const { return warmup_ + 1; }
  const Profile& profile() const { return profile_; }

  std::string table(const MachineSpeed& machine) const;
  std::string trace(std::string_view program) const;

 private:
  const int64_t steps_, warmup_;
  int64_t begun_ = 0;
  Profile profile_;
};

}  // namespace qkv
