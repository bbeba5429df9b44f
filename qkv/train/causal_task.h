// Training of a causal language model on plain text: documents, each after a bos, are packed into rows of max_length
// tokens and do not see one another (text/packed_text.h).
//
//     CausalTask task(options, prepare_text_data(options, {}, {}, progress));
//     Trainer(options, task, folder).run();
//
// A batch has batch_tokens / max_length rows, or batch_sentences. Validation: the cross entropy of every token and of
// the end of every document.
#pragma once

#include "qkv/model/causal.h"
#include "qkv/text/packed_text.h"
#include "qkv/train/text_data.h"

namespace qkv {

class CausalTask final : public TrainingTask {
 public:
  CausalTask(const TrainOptions& options, TextData data);
  static EncodeTextOptions encoding(const Tokenizer&) { return {}; }

  CausalTransformer& model() override { return model_; }

  CrossEntropy next_loss(const TrainingLoss& options, Pass& pass) override;
  BatchPosition position() const override { return text_.position(); }
  void seek(BatchPosition position) override { text_.seek(position); }
  int64_t batches_in_epoch() override { return text_.batches_in_epoch(); }

  bool validates() const override { return data_.valid.size() > 0; }
  Validation validate() const override;
  std::vector<Sample> samples(int64_t count) const override;

  uint64_t fingerprint() const override { return data_.train.fingerprint(); }
  VocabularyChecksums vocabulary() const override { return data_.vocabulary(); }
  double frequency_loss() const override;
  std::vector<std::string> notes() const override;
  std::vector<TrainingWarning> data_warnings() const override;
  void save_vocabulary(const std::filesystem::path& folder) const override { data_.save_vocabulary(folder); }
  HeldOut held_out() const override { return {.file = "held-out.txt", .text = data_.held_out}; }

 private:
  CrossEntropy loss(const PackedBatch& batch, CrossEntropyOptions options, Pass& pass) const;

  const TextData data_;
  bool own_valid_;  // validation data was given
  CausalTransformer model_;
  PackedTextOptions packing_;
  PackedText text_;
};

}  // namespace qkv
