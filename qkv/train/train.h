// From sentence pairs to a model that translates: the whole training, from files to files.
//
//     TrainResult result = train({.train = "pairs.tsv.gz", .hold_out = 2000, .model = "my-model", ...});
//     if (result.ending == Ending::interrupted) return 130;          // saved; options.resume goes on
//
// What is in the folder, each file replaced as a whole:
//
//     config.json, model.safetensors    the model (model/model_file.h): the best one of the validations so far;
//     where
//                                       there is no validation, the last one saved
//     source.model, target.model        its vocabularies
//     held-out.tsv                      the pairs held out, if any
//     training/options.json             the options
//     training/state.safetensors        all that is needed to go on, at the last save (train/checkpoint.h)
//     training/step-000001000.safetensors ...  parameters at the last few saves, the form of model.safetensors
//     training/log.jsonl                a line every report_every updates, and one for each validation
//
// An update: `accumulate` batches, their losses summed and divided by the number of their target tokens, the
// gradient clipped, Adam. The same options and files give the same bits, on any number of threads, and whether the
// training was killed at any moment and resumed or not. A save that fails (a full disk) leaves the state before it
// untouched.
//
// SIGINT and SIGTERM end the update under way, save, and return. Messages go to stderr.
// Errors: UsageError for options that make no sense, differ from those of the training to resume, or would
// overwrite a model; InputError for files; Error when the loss is no longer a number (the last save stays).
#pragma once

#include <cstdint>
#include <optional>

#include "qkv/train/options.h"
#include "qkv/train/validation.h"

namespace qkv {

enum class Ending { max_steps, max_epochs, patience, interrupted };

struct TrainResult {
  Ending ending = Ending::max_steps;
  int signal = 0;                        // that interrupted it
  int64_t steps = 0, epochs = 0;         // updates; epochs that are over
  double loss = 0;                       // per target token, of the last updates
  std::optional<Validation> validation;  // of the model in the folder
  int64_t best_step = 0;                 // of the best single validation
  double seconds = 0, tokens_per_s = 0;  // of the updates; target tokens
  int64_t peak_bytes = 0;                // the most memory the process has had
};

TrainResult train(const TrainOptions& options);

}  // namespace qkv
