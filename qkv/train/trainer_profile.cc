// The profile of a few updates: its trace once they are done, its table at the end.
#include "qkv/base/counted.h"
#include "qkv/train/trainer.h"

namespace qkv {

void Trainer::begin_profile() {
  if (options_.profile.empty()) return;
  trace_file_.emplace(options_.profile);  // an error now, if it cannot be written
  profile_.emplace();
}

void Trainer::write_trace() {
  if (!profile_ || !trace_file_) return;
  trace_file_->write(profile_->trace("qkv train"));
  trace_file_->commit();
  trace_file_.reset();
  // Right after the updates that it is compared with.
  if (!options_.quiet) machine_ = measure_machine();
}

void Trainer::end_profile() {
  if (!profile_) return;
  if (profile_->steps() == 0) {
    progress_.note(fmt::format("no profile: the training has ended before update {}, the first that is measured",
                               profile_->first_step()));
    return;
  }
  write_trace();
  if (options_.quiet) return;
  progress_.note("profile, trace in " + options_.profile);
  progress_.note(profile_->table(machine_));
}

}  // namespace qkv
