#include "qkv/train/train.h"

#include <bit>

#include "qkv/base/counted.h"
#include "qkv/base/error.h"
#include "qkv/base/json.h"
#include "qkv/base/progress.h"
#include "qkv/base/threads.h"
#include "qkv/base/world/one_process.h"
#include "qkv/published/load_model.h"
#include "qkv/published/own_folder.h"
#include "qkv/train/make_training_task.h"
#include "qkv/train/ranks.h"
#include "qkv/train/stop_reason.h"
#include "qkv/train/trainer.h"

namespace qkv {
namespace {

// Resolves precision auto; the line that says so, if that is the option.
std::string resolve_precision(TrainOptions& options, const std::optional<Checkpoint>& checkpoint,
                              bool all_have_products) {
  if (options.precision != TrainingPrecision::automatic) return {};
  std::optional<TrainingPrecision> begun;
  if (checkpoint) begun = train_options_from_json(checkpoint->state().options, "training").precision;
  const ResolvedPrecision resolved = resolve_automatic_precision(begun, all_have_products);
  options.precision = resolved.precision;
  return fmt::format("precision auto: {}, as {}", name_of(resolved.precision), resolved.why);
}

void check_resumed_options(const TrainOptions& options, const Checkpoint& checkpoint, const std::string& where) {
  const std::optional<std::string> changed = difference(checkpoint.state().options, options, where);
  require<UsageError>(!changed, "train", "{}; this option cannot change on resume", changed.value_or(""));
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

// What rank 0 tells the others before they read the data.
struct Beginning {
  std::string options;                            // of rank 0, as JSON
  std::filesystem::path root;                     // of the vocabularies
  std::optional<VocabularyChecksums> vocabulary;  // of a training to resume
  bool shard_optimizer = false, has_finished = false;
};

void announce(Communicator& c, const Beginning& beginning) {
  Json json = {{"options", beginning.options},
               {"root", beginning.root.string()},
               {"shard_optimizer", beginning.shard_optimizer},
               {"finished", beginning.has_finished}};
  if (beginning.vocabulary) json["vocabulary"] = *beginning.vocabulary;
  broadcast_text(c, json.dump());
}

Beginning hear(Communicator& c) {
  const Json json = Json::parse(broadcast_text(c, {}));
  Beginning beginning{.options = json["options"].text(),
                      .root = json["root"].text(),
                      .vocabulary = {},
                      .shard_optimizer = json["shard_optimizer"].get<bool>(),
                      .has_finished = json["finished"].get<bool>()};
  if (const Json* sums = json.find("vocabulary")) {
    beginning.vocabulary.emplace();
    for (const auto& [name, sum] : sums->items()) beginning.vocabulary->insert({name, sum.text()});
  }
  return beginning;
}

StoredVocabulary vocabulary_in(const std::filesystem::path& root, const TrainOptions& options,
                               const VocabularyChecksums& sums) {
  return [root, sums, architecture = options.architecture.architecture()](TokenizerSide side) {
    return read_own_tokenizer(root, architecture, side, sums);
  };
}

// Rank 0.
TrainResult lead(TrainOptions options, Communicator& c, bool all_have_products) {
  const auto began = Trainer::Clock::now();
  TrainingFolder folder(options);
  std::optional<Checkpoint> checkpoint;
  if (folder.resumes()) checkpoint.emplace(folder.state());
  const std::string precision_note = resolve_precision(options, checkpoint, all_have_products);
  if (checkpoint) check_resumed_options(options, *checkpoint, folder.state().string());
  if (checkpoint && folder.has_model() && is_finished(options, checkpoint->state())) {
    if (!options.quiet)
      Progress::write(fmt::format(
          "this training has finished, after {}; raise max-steps, max-epochs or max-time to continue it\n",
          counted(checkpoint->state().step, "update")));
    announce(c, {.options = to_json(options), .root = {}, .vocabulary = {}, .has_finished = true});
    const TrainResult result = result_of(checkpoint->state(), *stop_reason_of(options, checkpoint->state()));
    give_order(c, {.kind = RankOrder::Kind::end, .result = result});
    return result;
  }
  announce(c, {.options = to_json(options),
               .root = folder.root(),
               .vocabulary = checkpoint ? std::optional(checkpoint->state().vocabulary) : std::nullopt,
               .shard_optimizer = options.shard_optimizer});
  Progress progress({.quiet = options.quiet, .terminal = Progress::stderr_is_terminal()});
  if (progress.on_terminal()) progress.note(fmt::format("reading {}", to_string(options.train)));
  if (!precision_note.empty()) progress.note(precision_note);
  std::optional<StoredVocabulary> vocabulary;
  std::optional<SavedModel> init;
  if (checkpoint) {
    vocabulary = vocabulary_in(folder.root(), options, checkpoint->state().vocabulary);
  } else if (!options.init.empty()) {
    init = read_together(options.init, [&] { return read_model(options.init); });
    vocabulary = [&](TokenizerSide side) { return init->folder->tokenizer(side); };
  }
  const std::unique_ptr<TrainingTask> task = make_training_task(options, vocabulary, progress);
  if (init) copy_parameters(*init->model, task->model(), options.init);
  check_same_data(*task, c);
  if (options.before_updates) options.before_updates();
  return Trainer(options, *task, folder,
                 {.checkpoint = checkpoint ? &*checkpoint : nullptr, .ranks = &c, .began = began})
      .run();
}

// Other ranks. They have the parameters of rank 0.
TrainResult follow_training(TrainOptions options, Communicator& c) {
  const Beginning beginning = hear(c);
  if (options.precision == TrainingPrecision::automatic)
    options.precision = train_options_from_json(beginning.options, "the options of process 0").precision;
  const std::optional<std::string> other =
      difference(beginning.options, options, fmt::format("the options of process 0, to process {}", c.rank()));
  require<UsageError>(!other, "train", "all processes must have the same options: {}", other.value_or(""));
  if (beginning.has_finished) {
    RankOrder order;
    c.broadcast(0, writable_bytes_of(std::span(&order, 1)));
    return order.result;
  }
  options.shard_optimizer = beginning.shard_optimizer;
  options.quiet = true;
  Progress progress({.quiet = true, .terminal = false});
  std::optional<StoredVocabulary> vocabulary;
  std::unique_ptr<ModelFolder> init;
  if (beginning.vocabulary) {
    vocabulary = vocabulary_in(beginning.root, options, *beginning.vocabulary);
  } else if (!options.init.empty()) {
    init = open_model_folder(options.init);
    vocabulary = [&](TokenizerSide side) { return init->tokenizer(side); };
  }
  const std::unique_ptr<TrainingTask> task = make_training_task(options, vocabulary, progress);
  check_same_data(*task, c);
  if (options.before_updates) options.before_updates();
  task->model().train_in({.precision = product_precision(options.precision), .weights = options.weights});
  Update update(*task, update_options(options), c);
  update.begin(0, {});
  return follow(update, c);
}

}  // namespace

TrainResult train(const TrainOptions& options, Communicator& c) {
  options.check();
  require<UsageError>(c.size() % options.context_parallel == 0, "train",
                      "context-parallel {} must divide the number of processes, {}", options.context_parallel,
                      c.size());
  const int64_t groups = c.size() / options.context_parallel;
  require<UsageError>(
      options.pieces % groups == 0, "train",
      "the number of processes{} must divide pieces: there are {}, pieces is {}; for example pieces {}, and "
      "accumulate at least as much",
      options.context_parallel > 1 ? " divided by context-parallel" : "", groups, options.pieces,
      std::bit_ceil(static_cast<uint64_t>(groups)));
  if (options.threads > 0) set_threads(options.threads);
  // Waits for every rank: rank 0 may change files that the options of others are read from.
  const bool all_have_products = all_have_bf16_products(c);
  return c.rank() == 0 ? lead(options, c, all_have_products) : follow_training(options, c);
}

TrainResult train(const TrainOptions& options) {
  OneProcess alone;
  return train(options, alone);
}

}  // namespace qkv
