#include "qkv/train/train.h"

#include <memory>

#include "cli/architecture.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "qkv/base/threads.h"

namespace qkv::cli {
namespace {

struct TrainCommand {
  TrainOptions options;
  std::string model, recipe = "transformer-base";
  std::vector<CLI::Option*> flags;  // all but --recipe and --resume, in the order declared
  CLI::Option* recipe_flag = nullptr;

  // The recipe, or a stored training, is what the other flags start from: those that were given are read once more.
  int run() {
    const bool resume = options.resume;
    if (resume) {
      require<UsageError>(recipe_flag->count() == 0, "qkv train",
                          "--recipe cannot be given with --resume: the model has its shape");
      options = stored_options(model);
    } else {
      options.architecture = qkv::recipe(recipe);
    }
    for (CLI::Option* f : flags)
      if (f->count() > 0) f->run_callback();
    options.resume = resume;
    options.model = model;
    if (options.threads > 0) set_threads(options.threads);
    const TrainResult result = train(options);
    return result.ending == Ending::interrupted ? 130 : 0;
  }
};

void add_data_flags(CLI::App& app, TrainCommand& c) {
  TrainOptions& o = c.options;
  c.flags.insert(
      c.flags.end(),
      {flag(app, "--train", o.train,
            "sentence pairs to learn: a TSV file (source TAB target), or two files a,b; plain or gzip", "FILE"),
       flag(app, "--valid", o.valid, "sentence pairs to validate on; none: those held out", "FILE"),
       flag(app, "--hold-out", o.hold_out, "pairs of --train, by distinct source, that are not learnt", "PAIRS"),
       flag(app, "--max-length", o.max_length, "leave out pairs with a longer side", "TOKENS"),
       flag(app, "--vocabulary-size", o.vocabulary_size, "most pieces in the vocabulary", "TOKENS"),
       choice(app, "--tokenizer", o.tokenizer, "how the vocabulary is made"),
       flag(app, "--character-coverage", o.character_coverage, "share of the characters that are in the vocabulary",
            "SHARE"),
       flag(app, "--lossless", o.lossless, "a vocabulary that can say every text exactly", "true|false")});
}

void add_update_flags(CLI::App& app, TrainCommand& c) {
  TrainOptions& o = c.options;
  c.flags.insert(
      c.flags.end(),
      {flag(app, "--batch-tokens", o.batch_tokens, "target tokens in a batch, padding counted", "TOKENS"),
       flag(app, "--batch-sentences", o.batch_sentences, "pairs in a batch instead; 0: count tokens", "PAIRS"),
       flag(app, "--accumulate", o.accumulate, "batches in an update", "N"),
       choice(app, "--optimizer", o.optimizer, "how parameters follow gradients"),
       flag(app, "--weight-decay", o.weight_decay, "of adamw", "RATE"),
       choice(app, "--schedule", o.schedule, "how the learning rate changes"),
       flag(app, "--learning-rate", o.learning_rate, "the peak, or the factor of noam; 0: 1 for noam, else 5e-4",
            "RATE"),
       flag(app, "--warmup", o.warmup, "updates until the peak", "UPDATES"),
       flag(app, "--label-smoothing", o.label_smoothing, "share of the target spread over all tokens", "SHARE"),
       flag(app, "--clip", o.clip, "largest norm of the gradient; 0: any", "NORM"),
       flag(app, "--seed", o.seed, "of everything random", "N"),
       flag(app, "--threads", o.threads, "0: one for every core", "N")});
}

void add_run_flags(CLI::App& app, TrainCommand& c) {
  TrainOptions& o = c.options;
  c.flags.insert(
      c.flags.end(),
      {flag(app, "--max-steps", o.max_steps, "stop after so many; 0: no limit", "UPDATES"),
       flag(app, "--max-epochs", o.max_epochs, "stop after so many; 0: no limit", "EPOCHS"),
       flag(app, "--valid-every", o.valid_every, "validate; 0: only at the end", "UPDATES"),
       flag(app, "--valid-sentences", o.valid_sentences, "translate so many for BLEU; 0: none", "PAIRS"),
       flag(app, "--patience", o.patience, "stop after so many without a new best; 0: never", "VALIDATIONS"),
       choice(app, "--patience-on", o.patience_on, "what is best"),
       flag(app, "--save-every", o.save_every, "save the state; 0: only at the end", "UPDATES"),
       flag(app, "--keep", o.keep, "numbered checkpoints to keep", "N"),
       flag(app, "--average", o.average, "average the last so many into the model at the end", "N"),
       flag(app, "--report-every", o.report_every, "a line of log.jsonl", "UPDATES"),
       app.add_flag("--quiet", o.quiet, "say nothing but warnings")});
  app.add_flag("--resume", o.resume, "go on with the training in --model");
  c.flags.push_back(app.add_flag("--overwrite", o.overwrite, "begin anew in a folder that has a model"));
}

}  // namespace

Command add_train(CLI::App& parent) {
  CLI::App& app = *parent.add_subcommand("train", "train a Transformer on sentence pairs");
  const auto command = std::make_shared<TrainCommand>();
  flag(app, "--model", command->model, "the model folder", "FOLDER")->required();
  command->recipe_flag =
      flag(app, "--recipe", command->recipe,
           "transformer-tiny, -small, -base or -big: the shape that the next flags change", "NAME");
  add_data_flags(app, *command);
  for (CLI::Option* f : architecture_flags(app, command->options.architecture)) command->flags.push_back(f);
  add_update_flags(app, *command);
  add_run_flags(app, *command);
  app.footer(attention_words_help());
  return {&app, [command] { return command->run(); }};
}

}  // namespace qkv::cli
