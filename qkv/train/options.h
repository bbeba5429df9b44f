// The options of a training; every field is a flag of `qkv train` and a key of training/options.json, with dashes
// for underscores.
//
//     TrainOptions options{.train = "pairs.tsv.gz", .model = "my-model"};
//     options.architecture = recipe("transformer-small");
//     TrainResult result = train(options);                     // train/train.h
//
// The initial values suit a small corpus; train/defaults.h chooses by the size of the corpus.
//
//     TrainOptions again = stored_options("my-model");         // to resume: the options it was started with
//     again.resume = true;
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "qkv/base/names.h"
#include "qkv/model/config.h"
#include "qkv/op/weight.h"
#include "qkv/text/corpus.h"
#include "qkv/text/corpus_paths.h"
#include "qkv/text/tokenizer.h"
#include "qkv/train/duration.h"
#include "qkv/train/gradient_tree.h"
#include "qkv/train/optimizer.h"
#include "qkv/train/precision.h"
#include "qkv/train/schedule.h"

namespace qkv {

class Json;

enum class Goal { loss, bleu };  // metric for early stopping and the best model
constexpr auto names_of(Goal) { return std::array{Named{Goal::loss, "loss"}, Named{Goal::bleu, "bleu"}}; }

struct TrainOptions {
  // Sentence pairs, or text with a document a line, as text/corpus.h reads them: one corpus or several.
  CorpusPaths train = {};
  std::string valid = {};  // empty: the held-out data, if any
  int64_t hold_out =
      0;  // distinct source sentences, or lines, of `train` kept for validation; see held-out.tsv, .txt
  // In tokens, end included. Pairs with a longer side are skipped, lines of masked text cut; the length of the rows
  // that text is packed into for a causal model.
  int64_t max_length = 256;

  // The model.
  std::filesystem::path model = {};  // a folder
  std::string init = {};             // the folder of a model to continue from; empty: a new one
  ModelConfig architecture = {};     // the sizes of the vocabularies are set when those are trained
  TokenizerType tokenizer = TokenizerType::bpe;
  int64_t vocabulary_size = 8000;  // of both languages together where architecture.tie is all, else of each
  double character_coverage = 0;   // 0: as many characters as fit (text/tokenizer.h)
  bool lossless = false;           // no normalization, byte fallback (text/tokenizer.h)
  double bpe_dropout = 0;          // merges left out at random, at every occurrence (text/bpe_dropout.h)
  double masking_rate = 0.15;      // of the tokens of a line, for a masked model (text/masking.h)
  bool mask_whole_words = false;

  // The end, in updates of the parameters; 0: no limit. A resumed training may have another end; the schedules
  // cosine and linear then fall towards that one.
  int64_t max_steps = 5000;
  int64_t max_epochs = 0;
  // The end by time, of all parts of a training that was resumed, reading and validations included; 0: no limit. The
  // schedule follows, see train/time_limit.h. What is reached first ends the training.
  Seconds max_time = {};
  int64_t patience = 10;  // early stopping: validations without improvement; without validations, none
  Goal patience_on = Goal::loss;

  // An update. batch_sentences, if not 0, is the size of a batch in pairs instead of tokens.
  int64_t batch_tokens = 4096;
  int64_t batch_sentences = 0;
  int64_t accumulate = 1;  // batches in an update
  // Of an update, computed by as many processes as divide it, with the same result for each number of them: a power of two,
  // at most `accumulate` (train/update.h).
  int64_t pieces = 1;
  int64_t context_parallel = 1;                        // processes that share each row of a causal model
  bool shard_optimizer = false;                        // between processes; the same result, less memory
  GradientFormat communication = GradientFormat::f32;  // of the sums that processes exchange; of all sums of pieces
  TrainingPrecision precision = TrainingPrecision::f32;  // of products; validation and what is saved are f32
  bool recompute = false;  // blocks keep their inputs alone: less memory, more time (autograd/recompute.h)
  // What the model is to be held in, which products and validation then use (op/weight.h); what is saved is f32.
  WeightFormat weights = WeightFormat::f32;
  OptimizerKind optimizer = OptimizerKind::adam;
  OptimizerStateFormat optimizer_state = OptimizerStateFormat::f32;
  double beta1 = 0.9, beta2 = 0.98, eps = 1e-9;
  double weight_decay = 0.01;  // of adamw
  ScheduleKind schedule = ScheduleKind::linear;
  double learning_rate = 0;  // the peak, or the factor of noam; 0: see rate()
  int64_t warmup = 0;        // updates; 0: see warmup_updates()
  double label_smoothing = 0.1;
  double r_drop = 0;  // weight of R-Drop, 0: none; an update takes twice the time, see train/training_loss.h
  double clip = 0;    // maximum norm of the gradient; 0: no clipping
  uint64_t seed = 1;
  int threads = 0;  // 0: the default of base/threads.h

  // Intervals in updates; 0: only at the end.
  int64_t save_every = 250;
  int64_t valid_every = 250;
  int64_t report_every = 50;
  bool report_parameters = false;  // norms of every parameter in the reports, see train/parameter_norms.h
  int64_t keep = 5;                // numbered checkpoints, at least `average` of them
  int64_t average = 0;             // last checkpoints whose mean may become the model at the end
  int64_t valid_sentences = 500;   // validation sentences translated for BLEU; 0: none
  bool tensorboard = false;        // curves for TensorBoard, see train/event_file.h
  int64_t samples = 2;             // validation sentences shown with each validation, as the model translates them
  std::string profile = {};        // file for the trace of a few updates, see measure/step_profile.h; empty: none
  bool quiet = false;              // nothing on stderr

  bool resume = false;     // resume from the folder's training state; start where there is none yet
  bool overwrite = false;  // start again in a folder that has a model

  // Seconds of updates after which there is a first validation, unless valid_every is 0 or makes one as early. It is
  // shown and logged; the training and its best model do not depend on it.
  std::vector<double> early_validations = {60, 120, 240};
  // Called with each line of log.jsonl (base/json.h); false ends the training after the update, like Ctrl-C.
  std::function<bool(const Json& record)> on_record = {};
  void (*before_updates)() = nullptr;  // called once the data is read; may throw
  std::optional<Corpus> corpus = {};   // `train`, where it is open already: a pipe is read once

  // learning_rate, or what 0 stands for: 1 for noam; else 0.64 / d_model, for updates of less than 4096 tokens
  // smaller with the square root of their number; a tenth of that for a model to continue from.
  double rate() const;
  // warmup, or what 0 stands for: a twelfth of the updates, at most 4,000.
  int64_t warmup_updates(int64_t last_update) const;
  OptimizerOptions optimizer_options() const;
  ScheduleOptions schedule_options(int64_t last_update) const;
  TokenizerOptions tokenizer_options() const;
  // UsageError for values out of range and an architecture that cannot be built.
  void check() const;
};

std::string to_json(const TrainOptions& options);
TrainOptions train_options_from_json(const std::string& text, const std::string& where);

// The options of the training that resume would continue. InputError if there is none in the folder.
TrainOptions stored_options(const std::filesystem::path& model);
bool has_stored_options(const std::filesystem::path& model);

// The first option that is fixed on resume and differs: "'batch-tokens' was 4096 and is now 2048". `before` is
// to_json() of the stored options, `where` its file.
std::optional<std::string> difference(const std::string& before, const TrainOptions& now, const std::string& where);

}  // namespace qkv
