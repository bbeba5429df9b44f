// Training of a masked language model on plain text: some tokens of every line are masked, and the model predicts them
// (text/masking.h).
//
//     MaskedTask task(options, prepare_text_data(options, MaskedTask::encoding(options), {}, progress));
//     Trainer(options, task, folder).run();
//
// A row is bos, the tokens of a line, eos; lines of more than max_length tokens are cut. The mask token has the id
// after the last one of the tokenizer. Lines are masked anew in every epoch. Validation: the loss of masked tokens, and
// the fraction of them that are predicted correctly, in validation lines that are masked once.
#pragma once

#include "qkv/model/masked.h"
#include "qkv/text/masking.h"
#include "qkv/train/text_data.h"
#include "qkv/train/token_frequencies.h"

namespace qkv {

class MaskedTask final : public TrainingTask {
 public:
  MaskedTask(const TrainOptions& options, TextData data);
  static TextEncoding encoding(const TrainOptions& options);

  MaskedTransformer& model() override { return model_; }

  CrossEntropy next_loss(const TrainingLoss& options, Pass& pass) override;
  BatchPosition position() const override { return batches_.position(); }
  void seek(BatchPosition position) override { batches_.seek(position); }
  int64_t batches_in_epoch() override { return batches_.batches_in_epoch(); }

  bool validates() const override { return data_.valid.size() > 0; }
  Validation validate() const override;
  std::vector<Sample> samples(int64_t count) const override;

  uint64_t fingerprint() const override { return data_.train.fingerprint(); }
  VocabularyChecksums vocabulary() const override { return data_.vocabulary(); }
  double frequency_loss() const override { return frequencies().entropy(); }
  std::vector<std::string> notes() const override;
  std::vector<TrainingWarning> data_warnings() const override;
  void save_vocabulary(const std::filesystem::path& folder) const override { data_.save_vocabulary(folder); }
  HeldOut held_out() const override { return {.file = "held-out.txt", .text = data_.held_out}; }

 private:
  Sample sample(int64_t line) const;
  TokenFrequencies frequencies() const;
  BatchTokens tokens() const;

  const TextData data_;
  bool own_valid_;  // validation data was given
  int64_t batch_tokens_;
  MaskedTransformer model_;
  TokenMasking masking_;
  BatchStream batches_;
};

}  // namespace qkv
