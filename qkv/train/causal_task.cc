#include "qkv/train/causal_task.h"

#include <algorithm>
#include <utility>

#include "qkv/autograd/profile.h"
#include "qkv/autograd/variable.h"
#include "qkv/base/error.h"
#include "qkv/decode/generate.h"
#include "qkv/metric/perplexity.h"
#include "qkv/published/text_model.h"
#include "qkv/train/sample_indices.h"
#include "qkv/train/shared_data.h"
#include "qkv/train/token_frequencies.h"

namespace qkv {
namespace {

constexpr int64_t continuation_tokens = 30;  // of a continuation

TransformerConfig causal_config(const TrainOptions& options, const TextData& data) {
  TransformerConfig config = options.architecture.transformer();
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
  const std::vector<int32_t> before = frame_of(tokenizer, Architecture::causal).before;
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
  PackedBatch batch = in_span("making of batches", [&] { return text_.next(); });
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

// The first half of a line is continued by its most likely tokens.
std::vector<TrainingTask::Sample> CausalTask::samples(int64_t count) const {
  const NoGrad guard;
  const Tokenizer& tokenizer = data_.tokenizer;
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < data_.valid.size(); ++i) lengths.push_back(std::ssize(data_.valid.source(i)));
  std::vector<Sample> out;
  std::vector<std::vector<int32_t>> prompts;
  for (const size_t i : sample_indices(lengths, count)) {
    const auto line = data_.valid.source(static_cast<int64_t>(i));
    const auto begin = line.first(std::min((line.size() + 1) / 2, static_cast<size_t>(packing_.length / 2)));
    out.push_back({.source = tokenizer.decode(begin), .reference = tokenizer.decode(line), .hypothesis = {}});
    std::vector<int32_t>& prompt = prompts.emplace_back();
    if (packing_.bos) prompt.push_back(*packing_.bos);
    prompt.insert(prompt.end(), begin.begin(), begin.end());
  }
  if (prompts.empty()) return out;
  const std::vector<Generated> found =
      generate(*model_.start(std::ssize(prompts)), prompts,
               {.eos = {packing_.eos},
                .max_tokens = std::min<int64_t>(continuation_tokens, packing_.length / 2),
                .position_limit = model_.config().position_limit(),
                .sampling = {.temperature = 0, .suppress_tokens = tokenizer.special().suppressed}});
  for (size_t i = 0; i < out.size(); ++i) {
    std::vector<int32_t> ids = prompts[i];
    ids.insert(ids.end(), found[i].ids.begin(), found[i].ids.end());
    out[i].hypothesis = tokenizer.decode(ids);
  }
  return out;
}

double CausalTask::frequency_loss() const {
  TokenFrequencies frequencies(data_.tokenizer.size());
  for (int64_t i = 0; i < data_.train.size(); ++i) frequencies.add(data_.train.source(i));
  frequencies.add(data_.tokenizer.special().eos, data_.train.size());
  return frequencies.entropy();
}

std::vector<TrainingWarning> CausalTask::data_warnings() const {
  const std::optional<TrainingWarning> shared =
      own_valid_ ? shared_data_warning(data_.train, data_.valid) : std::nullopt;
  return shared ? std::vector{*shared} : std::vector<TrainingWarning>();
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
