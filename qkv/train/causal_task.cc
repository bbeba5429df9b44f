#include "qkv/train/causal_task.h"

#include <algorithm>
#include <utility>

#include "qkv/autograd/variable.h"
#include "qkv/base/error.h"
#include "qkv/metric/perplexity.h"
#include "qkv/train/token_frequencies.h"

namespace qkv {
namespace {

TransformerConfig causal_config(const TrainOptions& options, const TextData& data) {
  TransformerConfig config = options.architecture;
  config.source_vocabulary = config.target_vocabulary = data.tokenizer.size();
  return config;
}

std::vector<std::span<const int32_t>> documents_of(const EncodedCorpus& corpus) {
  std::vector<std::span<const int32_t>> documents;
  for (int64_t i = 0; i < corpus.size(); ++i) documents.push_back(corpus.source(i));
  return documents;
}

PackedTextOptions packing(const TrainOptions& options, const Tokenizer& tokenizer) {
  const SpecialTokens& special = tokenizer.special();
  std::vector<int32_t> before = {special.bos};
  if (special.frame) before = special.frame->before;
  require<InputError>(
      special.eos >= 0 && before.size() <= 1, "train",
      "packing allows at most one token before and one after a text; this vocabulary adds {} and {}", before.size(),
      special.eos >= 0 ? 1 : 0);
  return {.length = options.max_length,
          .rows = options.batch_sentences > 0 ? options.batch_sentences
                                              : std::max<int64_t>(1, options.batch_tokens / options.max_length),
          .seed = options.seed,
          .bos = before.empty() ? std::nullopt : std::optional(before.front()),
          .eos = special.eos,
          .pad = std::max(special.pad, 0)};
}

}  // namespace

CausalTask::CausalTask(const TrainOptions& options, TextData data)
    : data_(std::move(data)),
      own_valid_(!options.valid.empty()),
      model_(causal_config(options, data_), options.seed),
      packing_(packing(options, data_.tokenizer)),
      text_(documents_of(data_.train), packing_) {}

CrossEntropy CausalTask::loss(const PackedBatch& batch, CrossEntropyOptions options, Pass& pass) const {
  options.ignore_index = packing_.ignore_index;
  return model_.loss(batch.inputs, batch.targets, options, pass,
                     {.documents = batch.documents, .positions = batch.positions});
}

CrossEntropy CausalTask::next_loss(const TrainingLoss& options, Pass& pass) {
  PackedBatch batch = text_.next();
  if (options.r_drop > 0)
    for (Tensor* tensor : {&batch.inputs, &batch.targets, &batch.documents, &batch.positions})
      *tensor = twice(*tensor);
  return loss(batch, options.cross_entropy(), pass);
}

Validation CausalTask::validate() const {
  const NoGrad guard;
  PackedTextOptions options = packing_;
  options.shuffle = false;
  PackedText text(documents_of(data_.valid), options);
  LanguageModelScore score;
  while (text.position().epoch == 0) {
    Pass pass;
    const CrossEntropy e = loss(text.next(), TrainingLoss().cross_entropy(), pass);
    score.add(static_cast<double>(e.loss.value().at<float>({0})), e.count);
  }
  return {.loss = score.cross_entropy()};
}

double CausalTask::frequency_loss() const {
  TokenFrequencies frequencies(data_.tokenizer.size());
  for (int64_t i = 0; i < data_.train.size(); ++i) frequencies.add(data_.train.source(i));
  frequencies.add(data_.tokenizer.special().eos, data_.train.size());
  return frequencies.entropy();
}

std::vector<std::string> CausalTask::notes() const {
  std::vector<std::string> notes = data_.notes(own_valid_);
  notes.push_back(fmt::format("rows of {} tokens, {} in a batch; vocabulary of {} tokens", packing_.length,
                              packing_.rows, data_.tokenizer.size()));
  if (!validates()) return notes;
  UnigramModel unigram(data_.tokenizer.size());
  const int32_t eos = data_.tokenizer.special().eos;
  for (int64_t i = 0; i < data_.train.size(); ++i) unigram.add(data_.train.source(i)), unigram.add({&eos, 1});
  LanguageModelScore score;
  for (int64_t i = 0; i < data_.valid.size(); ++i) {
    score.add(unigram.score(data_.valid.source(i)));
    score.add(unigram.score({&eos, 1}));
  }
  notes.push_back(
      fmt::format("a model of only token frequencies has a validation loss of {:.3f}, perplexity {:.1f}",
                  score.cross_entropy(), score.perplexity()));
  return notes;
}

}  // namespace qkv
