#include "qkv/train/masked_task.h"

#include <algorithm>
#include <utility>

#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"
#include "qkv/metric/perplexity.h"
#include "qkv/op/embedding.h"
#include "qkv/op/shape.h"
#include "qkv/published/text_model.h"
#include "qkv/train/sample_indices.h"
#include "qkv/train/shared_data.h"

namespace qkv {
namespace {

constexpr int64_t validation_epoch = 0;

std::vector<int32_t> never_masked(const Tokenizer& tokenizer) {
  const SpecialTokens& special = tokenizer.special();
  const TextFrame frame = frame_of(tokenizer, Architecture::masked);
  std::vector<int32_t> out = frame.before;
  out.insert(out.end(), frame.after.begin(), frame.after.end());
  for (const int32_t id : {special.pad, special.bos, special.eos, special.unk})
    if (id >= 0) out.push_back(id);
  return out;
}

MaskingOptions masking_options(const TrainOptions& options, const Tokenizer& tokenizer) {
  require<InputError>(tokenizer.mask_id() >= 0, "train", "the vocabulary has no mask");
  MaskingOptions o{.rate = options.masking_rate,
                   .mask = tokenizer.mask_id(),
                   .vocabulary = tokenizer.rows(/*is_masked=*/true),
                   .special = never_masked(tokenizer),
                   .seed = options.seed};
  if (options.mask_whole_words) {
    o.begins_word = begins_word(tokenizer);
    o.begins_word.resize(static_cast<size_t>(o.vocabulary), true);  // the mask
  }
  return o;
}

TransformerConfig masked_config(const TrainOptions& options, const TextData& data) {
  TransformerConfig config = options.architecture.transformer();
  config.source_vocabulary = config.target_vocabulary = data.tokenizer.rows(/*is_masked=*/true);
  return config;
}

constexpr const char* mark = "[MASK]";

// The text of ids, with a mark in place of each chosen token; a space before the token stays.
std::string text_with_marks(const Tokenizer& tokenizer, std::span<const int32_t> ids,
                            const std::vector<bool>& chosen) {
  std::string out, before;
  for (size_t t = 0; t < ids.size(); ++t) {
    const std::string now = tokenizer.decode(ids.first(t + 1));
    std::string piece = now.starts_with(before) ? now.substr(before.size()) : "";
    if (chosen[t]) piece = (piece.starts_with(' ') ? " " : "") + std::string(mark);
    out += piece;
    before = now;
  }
  return out;
}

int32_t likely_token(std::span<const float> logits, const std::vector<int32_t>& special) {
  int32_t best = -1;
  for (int32_t id = 0; id < std::ssize(logits); ++id)
    if (std::find(special.begin(), special.end(), id) == special.end() &&
        (best < 0 || logits[static_cast<size_t>(id)] > logits[static_cast<size_t>(best)]))
      best = id;
  return best;
}

// The hidden states at the positions that have a target, (1,n,C), and these targets (n).
std::pair<Variable, Tensor> at_targets(const Variable& hidden, const Tensor& targets, int32_t ignore_index) {
  std::vector<int32_t> positions, chosen;
  for (int64_t i = 0; i < targets.numel(); ++i)
    if (const int32_t target = targets.data<int32_t>()[i]; target != ignore_index) {
      positions.push_back(static_cast<int32_t>(i));
      chosen.push_back(target);
    }
  const int64_t n = std::ssize(chosen);
  const Variable rows = reshape(hidden, {hidden.dim(0) * hidden.dim(1), hidden.dim(2)});
  return {embedding(Tensor::from(positions, {1, n}), rows), Tensor::from(chosen, {n})};
}

}  // namespace

TextEncoding MaskedTask::encoding(const TrainOptions& options) {
  return [length = options.max_length](const Tokenizer& tokenizer) {
    return EncodeTextOptions{.before = frame_of(tokenizer, Architecture::masked).before, .max_length = length};
  };
}

MaskedTask::MaskedTask(const TrainOptions& options, TextData data)
    : data_(std::move(data)),
      own_valid_(!options.valid.empty()),
      batch_tokens_(options.batch_tokens),
      model_(masked_config(options, data_), options.seed),
      masking_(masking_options(options, data_.tokenizer)),
      batches_(data_.train, {.batch_tokens = options.batch_tokens,
                             .sentences = options.batch_sentences,
                             .seed = options.seed,
                             .tokens = tokens()}) {}

// The corpus already holds the tokens before a line; there are no targets.
BatchTokens MaskedTask::tokens() const {
  BatchTokens out;
  out.source = {.before = {}, .after = frame_of(data_.tokenizer, Architecture::masked).after};
  out.pad = std::max(data_.tokenizer.special().pad, 0);
  return out;
}

CrossEntropy MaskedTask::next_loss(const TrainingLoss& options, Pass& pass) {
  Batch batch = in_span("making of batches", [&] { return batches_.next(); });
  MaskedBatch masked = in_span("masking of tokens", [&] {
    return masking_.mask(batch.source, batch.source_lengths, batch.pairs, batch.position.epoch);
  });
  if (options.r_drop > 0) {
    for (Tensor* tensor : {&masked.inputs, &masked.targets}) *tensor = twice(*tensor);
    batch.source_lengths = twice(batch.source_lengths);
  }
  return model_.loss(masked.inputs, batch.source_lengths, masked.targets, options.cross_entropy(), pass);
}

Validation MaskedTask::validate() const {
  const NoGrad guard;
  BatchStream batches(data_.valid,
                      {.batch_tokens = batch_tokens_, .order = BatchOrder::sorted, .tokens = tokens()});
  LanguageModelScore score;
  Accuracy restored;
  while (batches.position().epoch == 0) {
    const Batch batch = batches.next();
    const MaskedBatch masked = masking_.mask(batch.source, batch.source_lengths, batch.pairs, validation_epoch);
    if (masked.chosen == 0) continue;
    Pass pass;
    const Variable hidden = model_.encode(masked.inputs, batch.source_lengths, pass);
    const auto [rows, targets] = at_targets(hidden, masked.targets, CrossEntropyOptions{}.ignore_index);
    const Tensor logits =
        reshape(model_.logits(rows), {targets.dim(0), model_.config().target_vocabulary()}).value();
    const CrossEntropy e = cross_entropy(logits, targets, {.reduction = CrossEntropyOptions::Reduction::sum});
    score.add(static_cast<double>(e.loss.value().at<float>({0})), e.count);
    restored.add(accuracy(logits, targets));
  }
  return {.loss = score.cross_entropy(), .accuracy = restored.fraction()};
}

// Lines whose masked tokens are replaced by the most likely ones.
std::vector<TrainingTask::Sample> MaskedTask::samples(int64_t count) const {
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < data_.valid.size(); ++i) lengths.push_back(std::ssize(data_.valid.source(i)));
  std::vector<Sample> out;
  for (const size_t i : sample_indices(lengths, count)) out.push_back(sample(static_cast<int64_t>(i)));
  return out;
}

TrainingTask::Sample MaskedTask::sample(int64_t line) const {
  const NoGrad guard;
  const Tokenizer& tokenizer = data_.tokenizer;
  const TextFrame frame = frame_of(tokenizer, Architecture::masked);
  std::vector<int32_t> ids(data_.valid.source(line).begin(), data_.valid.source(line).end());
  ids.insert(ids.end(), frame.after.begin(), frame.after.end());
  const MaskedTokens masked = masking_.mask(ids, line, validation_epoch);
  // Every chosen token becomes a mask, also those that training would exchange or keep.
  std::vector<bool> chosen(ids.size());
  std::vector<int32_t> inputs = ids, filled = ids;
  for (size_t t = 0; t < ids.size(); ++t) {
    chosen[t] = masked.targets[t] >= 0;
    if (chosen[t]) inputs[t] = tokenizer.mask_id();
  }
  Pass pass;
  const auto length = static_cast<int32_t>(ids.size());
  const Tensor logits = model_.logits(model_.encode(Tensor::from(inputs, {1, length}), {length}, pass)).value();
  const auto V = static_cast<size_t>(model_.config().target_vocabulary());
  std::vector<int32_t> no_answers = never_masked(tokenizer);
  no_answers.push_back(tokenizer.mask_id());
  for (size_t t = 0; t < ids.size(); ++t)
    if (chosen[t]) filled[t] = likely_token({logits.data<float>() + t * V, V}, no_answers);
  return {.source = text_with_marks(tokenizer, ids, chosen),
          .reference = tokenizer.decode(ids),
          .hypothesis = tokenizer.decode(filled)};
}

// Counts the tokens of lines, because bos and eos are never masked.
TokenFrequencies MaskedTask::frequencies() const {
  TokenFrequencies frequencies(data_.tokenizer.size());
  for (int64_t i = 0; i < data_.train.size(); ++i)
    frequencies.add(data_.train.source(i).subspan(frame_of(data_.tokenizer, Architecture::masked).before.size()));
  return frequencies;
}

std::vector<TrainingWarning> MaskedTask::data_warnings() const {
  const std::optional<TrainingWarning> shared =
      own_valid_ ? shared_data_warning(data_.train, data_.valid) : std::nullopt;
  return shared ? std::vector{*shared} : std::vector<TrainingWarning>();
}

std::vector<std::string> MaskedTask::notes() const {
  std::vector<std::string> notes = data_.notes(own_valid_);
  const bool has_mask = data_.tokenizer.mask_id() < data_.tokenizer.size();
  notes.push_back(
      fmt::format("vocabulary of {} tokens{}", data_.tokenizer.size(), has_mask ? "" : " and the mask"));
  if (!validates()) return notes;
  const int32_t frequent = frequencies().frequent_token();
  Accuracy baseline;
  for (int64_t i = 0; i < data_.valid.size(); ++i)
    for (const int32_t id :
         data_.valid.source(i).subspan(frame_of(data_.tokenizer, Architecture::masked).before.size()))
      baseline.add({.correct = id == frequent ? 1 : 0, .total = 1});
  notes.push_back(fmt::format(
      "always predicting the most frequent token is right for {:.1f}% of the tokens of the validation lines",
      100 * baseline.fraction()));
  return notes;
}

}  // namespace qkv
