#include "qkv/train/train.h"

#include "qkv/base/counted.h"
#include "qkv/base/error.h"
#include "qkv/base/progress.h"
#include "qkv/base/threads.h"
#include "qkv/published/load_model.h"
#include "qkv/published/own_folder.h"
#include "qkv/train/make_training_task.h"
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

// Everything but the dropout rates belongs to the parameters.
std::string comparable(ModelConfig config) {
  config.visit([](auto& c) { c.dropout = 0; });
  if (!config.is_recurrent()) config.transformer().attention_dropout = config.transformer().ffn_dropout = 0;
  return to_json(config);
}

void copy_parameters(const Model& from, Model& to, const std::string& where) {
  const std::string before = comparable(from.config()), now = comparable(to.config());
  require<UsageError>(
      before == now, "train",
      "the architecture differs from the model to continue from, {}: with init, of all options of the "
      "architecture only the dropout rates may be given",
      where);
  const NamedTensors values = parameters_of(from);
  size_t i = 0;
  to.visit(
      [&](const std::string&, Variable& parameter) { parameter.mutable_value().copy_from(values[i++].second); });
}

}  // namespace

TrainResult train(const TrainOptions& options) {
  const auto began = Trainer::Clock::now();
  options.check();
  if (options.threads > 0) set_threads(options.threads);
  TrainingFolder folder(options);
  const std::optional<Checkpoint> checkpoint = checkpoint_for(options, folder);
  if (checkpoint && folder.has_model() && is_finished(options, checkpoint->state())) {
    if (!options.quiet)
      Progress::write(fmt::format(
          "this training has finished, after {}; raise max-steps, max-epochs or max-time to continue it\n",
          counted(checkpoint->state().step, "update")));
    return result_of(checkpoint->state(), *stop_reason_of(options, checkpoint->state()));
  }
  Progress progress({.quiet = options.quiet, .terminal = Progress::stderr_is_terminal()});
  if (progress.on_terminal()) progress.note(fmt::format("reading {}", to_string(options.train)));
  std::optional<StoredVocabulary> vocabulary;
  std::optional<SavedModel> init;
  if (checkpoint) {
    vocabulary = [&](TokenizerSide side) {
      return read_own_tokenizer(folder.root(), options.architecture.architecture(), side,
                                checkpoint->state().vocabulary);
    };
  } else if (!options.init.empty()) {
    init = read_together(options.init, [&] { return read_model(options.init); });
    vocabulary = [&](TokenizerSide side) { return init->folder->tokenizer(side); };
  }
  const std::unique_ptr<TrainingTask> task = make_training_task(options, vocabulary, progress);
  if (init) copy_parameters(*init->model, task->model(), options.init);
  if (options.before_updates) options.before_updates();
  return Trainer(options, *task, folder, checkpoint ? &*checkpoint : nullptr, began).run();
}

}  // namespace qkv
