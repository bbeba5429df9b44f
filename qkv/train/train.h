// From sentence pairs to a model that translates: the whole training, from files to files.
//
//     TrainResult result = train({.train = "pairs.tsv.gz", .hold_out = 2000, .model = "my-model", ...});
//     if (result.stop_reason == StopReason::interrupted) return 130;          // saved; options.resume goes on
//
// What is in the folder, each file replaced as a whole and checked when it is read:
//
//     config.json, model.safetensors    the model (model/model_file.h): the best one of the validations so far;
//                                       where there is no validation, the last one saved
//     source.model, target.model        its vocabularies
//     held-out.tsv                      the pairs held out, if any
//     training/options.json             the options
//     training/state.safetensors        all that is needed to go on, at the last save (train/checkpoint.h)
//     training/step-000001000.safetensors ...  parameters at the last few saves, the form of model.safetensors
//     training/log.jsonl                a line every report_every updates, and one for each validation
//     training/next-1/ ...              a training that is to replace the model, until its first save
//
// An update: `accumulate` batches, their losses summed and divided by the number of their target tokens, the
// gradient clipped, Adam. The same options and files give the same bits, on any number of threads, and whether the
// training was killed at any moment and resumed or not.
//
// Whatever fails, on the disk or by a signal, the files that were in the folder stay as they are until what
// replaces them is complete. With options.overwrite that is the moment at which the new training has a model and a
// state: all files change at once, also for those who read the folder just then (train/folder.h).
//
// options.resume makes one call that can be repeated: it begins where there is no model yet, goes on where there is
// a state, and does nothing where the training is finished. A model without a state is left alone.
//
// SIGINT, SIGTERM and SIGHUP end the update under way, save, and return. Messages go to stderr.
// Errors: UsageError for options that make no sense, differ from those of the training to resume, or would
// overwrite a model; InputError for files; Error when the loss or a parameter is no longer a number (the last save
// stays).
#pragma once

#include <cstdint>
#include <optional>

#include "qkv/train/options.h"
#include "qkv/train/validation.h"

namespace qkv {

enum class StopReason { max_steps, max_epochs, patience, interrupted };

struct TrainResult {
  StopReason stop_reason = StopReason::max_steps;
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
