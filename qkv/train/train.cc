#include "qkv/train/train.h"

#include "qkv/base/error.h"
#include "qkv/base/progress.h"
#include "qkv/base/threads.h"
#include "qkv/train/stop_reason.h"
#include "qkv/train/trainer.h"

namespace qkv {
namespace {

// The state to resume from, if the options agree with it.
std::optional<Checkpoint> checkpoint_for(const TrainOptions& options, const TrainingFolder& folder) {
  if (!folder.resumes()) return {};
  std::optional<Checkpoint> checkpoint(folder.state());
  const std::string where = folder.state().string();
  const std::optional<std::string> changed = difference(checkpoint->state().options, options, where);
  require<UsageError>(!changed, "train", "{}; this option cannot change on resume", changed.value_or(""));
  return checkpoint;
}

}  // namespace

TrainResult train(const TrainOptions& options) {
  options.check();
  if (options.threads > 0) set_threads(options.threads);
  TrainingFolder folder(options);
  const std::optional<Checkpoint> checkpoint = checkpoint_for(options, folder);
  if (checkpoint && folder.has_model() && is_finished(options, checkpoint->state())) {
    if (!options.quiet)
      Progress::write(fmt::format(
          "this training has finished, after {} updates; raise max-steps or max-epochs to continue it\n",
          checkpoint->state().step));
    return result_of(checkpoint->state(), *stop_reason_of(options, checkpoint->state()));
  }
  Progress progress({.quiet = options.quiet, .terminal = Progress::stderr_is_terminal()});
  if (progress.on_terminal()) progress.note(fmt::format("reading {}", options.train));
  std::optional<Vocabularies> vocabularies;
  if (checkpoint) vocabularies = load_vocabularies(folder.root(), checkpoint->state().vocabulary);
  const TrainingData data = prepare_data(options, vocabularies, progress);
  if (options.before_updates) options.before_updates();
  return Trainer(options, data, folder, checkpoint ? &*checkpoint : nullptr).run();
}

}  // namespace qkv
