// Training of an encoder-decoder on sentence pairs: teacher forcing, the loss of every target token and the end.
//
//     TranslationTask task(options, prepare_translation_data(options));
//     Trainer(options, task, folder).run();
//
// Validation: loss and BLEU (train/translation_validator.h).
#pragma once

#include <memory>

#include "qkv/model/encoder_decoder.h"
#include "qkv/train/training_task.h"
#include "qkv/train/translation_data.h"
#include "qkv/train/translation_validator.h"

namespace qkv {

class TranslationTask final : public TrainingTask {
 public:
  TranslationTask(const TrainOptions& options, TranslationData data);

  EncoderDecoder& model() override { return *model_; }

  CrossEntropy next_loss(const TrainingLoss& options, Pass& pass) override;
  BatchPosition position() const override { return batches_.position(); }
  void seek(BatchPosition position) override { batches_.seek(position); }
  int64_t batches_in_epoch() override { return batches_.batches_in_epoch(); }

  bool validates() const override { return data_.valid.size() > 0; }
  Validation validate() const override { return validator_.measure(*model_); }
  std::vector<Sample> samples(int64_t count) const override { return validator_.samples(*model_, count); }
  std::optional<SourceUse> source_use() const override { return validator_.source_use(*model_); }

  uint64_t fingerprint() const override { return data_.train.fingerprint(); }
  VocabularyChecksums vocabulary() const override { return data_.vocabularies.checksums(); }
  double frequency_loss() const override;
  std::vector<std::string> notes() const override;
  std::vector<TrainingWarning> data_warnings() const override;
  void save_vocabulary(const std::filesystem::path& folder) const override;
  HeldOut held_out() const override;

 private:
  const TranslationData data_;
  bool own_valid_;  // validation data was given
  std::unique_ptr<EncoderDecoder> model_;
  BatchStream batches_;
  TranslationValidator validator_;
};

}  // namespace qkv
