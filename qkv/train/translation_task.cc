#include "qkv/train/translation_task.h"

#include <utility>

#include "qkv/autograd/profile.h"
#include "qkv/base/counted.h"
#include "qkv/base/error.h"
#include "qkv/base/names.h"
#include "qkv/model/make_model.h"
#include "qkv/train/shared_data.h"
#include "qkv/train/token_frequencies.h"

namespace qkv {
namespace {

std::unique_ptr<EncoderDecoder> model_for(const TrainOptions& options, const Vocabularies& vocabularies) {
  ModelConfig config = options.architecture;
  config.set_vocabularies(vocabularies.source.size(), vocabularies.target.size());
  std::unique_ptr<Model> model = make_model(config);
  require<UsageError>(dynamic_cast<EncoderDecoder*>(model.get()) != nullptr, "train",
                      "sentence pairs train an encoder-decoder, the architecture is {}",
                      name_of(config.architecture()));
  model->initialise("", options.seed);
  return std::unique_ptr<EncoderDecoder>(static_cast<EncoderDecoder*>(model.release()));
}

BatchOptions batch_options(const TrainOptions& options, const Vocabularies& vocabularies) {
  BatchOptions batches{.batch_tokens = options.batch_tokens,
                       .sentences = options.batch_sentences,
                       .seed = options.seed,
                       .tokens = vocabularies.batch_tokens()};
  if (options.bpe_dropout == 0) return batches;
  batches.source_dropout = BpeDropout(vocabularies.source, options.bpe_dropout);
  batches.target_dropout = BpeDropout(vocabularies.target, options.bpe_dropout);
  batches.max_length = options.max_length;
  return batches;
}

}  // namespace

TranslationTask::TranslationTask(const TrainOptions& options, TranslationData data)
    : data_(std::move(data)),
      own_valid_(!options.valid.empty()),
      model_(model_for(options, data_.vocabularies)),
      batches_(data_.train, batch_options(options, data_.vocabularies)),
      validator_(data_, {.batch_tokens = options.batch_tokens, .translated = options.valid_sentences}) {}

CrossEntropy TranslationTask::next_loss(const TrainingLoss& options, Pass& pass) {
  Batch batch = in_span("making of batches", [&] { return batches_.next(); });
  if (options.r_drop > 0) {
    for (Tensor* tensor : {&batch.source, &batch.target_in, &batch.target_out}) *tensor = twice(*tensor);
    batch.source_lengths = twice(batch.source_lengths);
  }
  return model_->loss(batch.source, batch.source_lengths, batch.target_in, batch.target_out,
                      options.cross_entropy(), pass);
}

double TranslationTask::frequency_loss() const {
  TokenFrequencies frequencies(data_.vocabularies.target.size());
  for (int64_t i = 0; i < data_.train.size(); ++i) frequencies.add(data_.train.target(i));
  frequencies.add(data_.vocabularies.target.special().eos, data_.train.size());
  return frequencies.entropy();
}

std::vector<TrainingWarning> TranslationTask::data_warnings() const {
  const std::optional<TrainingWarning> shared =
      own_valid_ ? shared_data_warning(data_.train, data_.valid) : std::nullopt;
  return shared ? std::vector{*shared} : std::vector<TrainingWarning>();
}

std::vector<std::string> TranslationTask::notes() const {
  const EncodedCorpus::Skipped& skipped = data_.train.skipped();
  std::vector<std::string> notes;
  const bool skips = skipped.blank > 0 || skipped.too_long > 0;
  notes.push_back(fmt::format(
      "training on {}{}", counted(data_.train.size(), "sentence pair"),
      skips ? fmt::format(" (skipped: {} with a blank side, {} too long)", skipped.blank, skipped.too_long) : ""));
  if (data_.train.size() > 0)
    notes.push_back(
        fmt::format("for example: {}  ->  {}", one_line(data_.first.source, 60), one_line(data_.first.target, 60)));
  if (!own_valid_ && skipped.held_out > 0)
    notes.push_back(fmt::format(
        "validating on {}; {} held out of training", counted(data_.valid.size(), "distinct source sentence"),
        counted(skipped.held_out, "pair with these sources is", "pairs with these sources are")));
  else if (validates())
    notes.push_back(fmt::format(
        "validating on {}{}", counted(data_.valid.size(), "sentence pair"),
        skipped.held_out > 0 ? fmt::format("; {} held out", counted(skipped.held_out, "pair is", "pairs are"))
                             : ""));
  const Tokenizer &source = data_.vocabularies.source, &target = data_.vocabularies.target;
  notes.push_back(source.checksum() == target.checksum()
                      ? fmt::format("vocabulary of {} tokens for both sides", source.size())
                      : fmt::format("vocabularies of {} and {} tokens", source.size(), target.size()));
  return notes;
}

void TranslationTask::save_vocabulary(const std::filesystem::path& folder) const {
  data_.vocabularies.save(folder);
}

TrainingTask::HeldOut TranslationTask::held_out() const {
  HeldOut held_out{.file = "held-out.tsv", .text = {}};
  for (const SentencePair& pair : data_.held_out) held_out.text += pair.source + "\t" + pair.target + "\n";
  return held_out;
}

}  // namespace qkv
