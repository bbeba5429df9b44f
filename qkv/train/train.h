// Training a model, from files of sentence pairs, or of text for a language model, to a model folder.
//
//     TrainResult result = train({.train = "pairs.tsv.gz", .hold_out = 2000, .model = "my-model", ...});
//     if (result.stop_reason == StopReason::interrupted) return 128 + result.signal;  // saved; can be resumed
//
// Files in the folder, each replaced atomically and checked when it is read:
//
//     config.json, model.safetensors    the model (model/model_file.h): the best one of the validations so far;
//                                       without validation, the last one saved
//     source.model, target.model        its vocabularies
//     tokenizer.model                   the vocabulary of a language model
//     held-out.tsv, held-out.txt        the held-out pairs or lines of text, if any
//     training/options.json             the options
//     training/state.safetensors        the state to resume from, at the last save (train/checkpoint.h)
//     training/step-000001000.safetensors ...  parameters at the last few saves, in the format of model.safetensors
//     training/log.jsonl                a line every report_every updates, with report_parameters with the norms of
//                                       all parameters (train/parameter_norms.h); one for each validation, and one
//                                       for each warning (train/warnings.h)
//     training/metrics.csv              the numbers of these lines as a table
//     training/events.out.tfevents.qkv  the same for TensorBoard, with tensorboard
//     training/next-1/ ...              a training that is to replace the model, until its first save
//
// An update: `accumulate` batches, their losses summed and divided by the number of their target tokens, the
// gradient clipped, Adam. Determinism: the same options and files give the same bits, on any number of threads, and
// whether or not the training was killed and resumed.
//
// Whatever fails, on disk or by a signal, the files in the folder stay as they are until their replacements are
// complete. With options.overwrite that is when the new training has a model and a state: all files change at once,
// for concurrent readers too (train/folder.h).
//
// With options.resume the same call can be repeated: it starts where there is no model yet, resumes where there is a
// state, and does nothing where the training has finished. A model without a state is not changed.
//
// SIGINT, SIGTERM and SIGHUP end the training after the current update, save, and return. Messages go to stderr.
// Errors: UsageError for options that are out of range, differ from those of the training to resume, or would
// overwrite a model; InputError for files; Error when the loss or a parameter is not finite (the last save stays).
#pragma once

#include <cstdint>
#include <optional>

#include "qkv/base/communicator.h"
#include "qkv/train/options.h"
#include "qkv/train/validation.h"

namespace qkv {

enum class StopReason { max_steps, max_epochs, max_time, patience, interrupted };

struct TrainResult {
  StopReason stop_reason = StopReason::max_steps;
  int signal = 0;                        // the one that interrupted it
  int64_t steps = 0, epochs = 0;         // updates; complete epochs
  double loss = 0;                       // per target token, of the last updates
  std::optional<Validation> validation;  // of the model in the folder
  int64_t best_step = 0;                 // of the best single validation
  double seconds = 0, tokens_per_s = 0;  // of the updates; target tokens
  int64_t peak_bytes = 0;                // peak memory of the process
};

TrainResult train(const TrainOptions& options);

// The same by all processes of a communicator, each of which calls it: the ranks of options.pieces share the work of an update
// (train/update.h). Rank 0 alone writes files and messages; the others read the data, and on resume the vocabulary, from
// the same paths. The result is that of one process, bit for bit, for any number of ranks that divides options.pieces, also if
// another number resumes it. Every rank gets the result. An error of one rank must end all of them, as run_ranks() and
// mpirun do.
//
//     TrainResult result = train(options, world());          // base/world.h; then leave_world()
//
TrainResult train(const TrainOptions& options, Communicator& c);

}  // namespace qkv
