// A model with its training data: the trainer makes updates, reports, validates and saves; a task has the model, gives
// it batch after batch, and measures it.
//
//     std::unique_ptr<TrainingTask> task = make_training_task(options, {}, progress);       // make_training_task.h
//     Trainer(options, *task, folder).run();
//
// A task for each kind of model: TranslationTask of sentence pairs (encoder-decoders), CausalTask of packed text,
// MaskedTask of masked text. What next_loss() returns is a function of options, data and position alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "qkv/model/model_file.h"
#include "qkv/published/model_folder.h"
#include "qkv/text/batches.h"
#include "qkv/train/training_loss.h"
#include "qkv/train/validation.h"
#include "qkv/train/warnings.h"

namespace qkv {

// The vocabularies of a training to resume or of a model to continue from.
using StoredVocabulary = std::function<Tokenizer(TokenizerSide side)>;

class TrainingTask {
 public:
  virtual ~TrainingTask() = default;

  virtual Model& model() = 0;

  // ---- Updates ----

  // The loss of the next batch, summed over its tokens; `count` is their number.
  virtual CrossEntropy next_loss(const TrainingLoss& options, Pass& pass) = 0;
  virtual BatchPosition position() const = 0;  // of the next batch
  virtual void seek(BatchPosition position) = 0;
  virtual int64_t batches_in_epoch() = 0;

  // ---- Validation ----

  virtual bool validates() const = 0;
  virtual Validation validate() const = 0;
  // What the model makes of some validation data, always the same: translations, or of language models the
  // continuations of lines and their filled masks.
  struct Sample {
    std::string source, reference, hypothesis;
  };
  virtual std::vector<Sample> samples(int64_t count) const = 0;
  virtual std::optional<SourceUse> source_use() const { return {}; }  // of models with a source

  // ---- The data ----

  virtual uint64_t fingerprint() const = 0;  // of the training data
  virtual VocabularyChecksums vocabulary() const = 0;
  // The cross entropy of a model that knows only the frequencies of the predicted tokens.
  virtual double frequency_loss() const = 0;
  virtual std::vector<std::string> notes() const = 0;  // on the data, for the user
  virtual std::vector<TrainingWarning> data_warnings() const = 0;

  virtual void save_vocabulary(const std::filesystem::path& folder) const = 0;
  // The data that validation has taken from the training data: its file, or "", and its text.
  struct HeldOut {
    std::string file, text;
  };
  virtual HeldOut held_out() const = 0;
};

}  // namespace qkv
