#include "qkv/train/translation_validator.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "qkv/decode/search.h"
#include "qkv/metric/bleu.h"
#include "qkv/text/batches.h"
#include "qkv/train/sample_indices.h"

namespace qkv {

namespace {

constexpr int64_t sample_pairs = 64;
constexpr size_t sample_length = 256;  // tokens: weights take T x S numbers a head

// Adds the entropies, each divided by that of equal weights, of the rows of weights (B,H,T,S) that are not padding.
struct EntropySum {
  double sum = 0;
  int64_t rows = 0;

  void add(const Tensor& weights, const Batch& batch) {
    const int64_t H = weights.dim(1), T = weights.dim(2), S = weights.dim(3);
    const Tensor w = weights.contiguous_copy();
    for (int64_t b = 0; b < weights.dim(0); ++b) {
      const auto row = static_cast<size_t>(b);
      const int64_t source = batch.source_lengths[row], target = batch.target_lengths[row];
      if (source < 2) continue;  // a single weight has no entropy
      for (int64_t h = 0; h < H; ++h)
        for (int64_t t = 0; t < target; ++t)
          add({w.data<float>() + ((b * H + h) * T + t) * S, static_cast<size_t>(source)});
    }
  }

  // Weights of kernels do not sum to one, and may all be zero.
  void add(std::span<const float> weights) {
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    if (!(total > 0)) return;
    double entropy = 0;
    for (const double w : weights)
      if (w > 0) entropy -= w / total * std::log(w / total);
    sum += entropy / std::log(static_cast<double>(weights.size()));
    ++rows;
  }

  double mean() const { return rows > 0 ? sum / static_cast<double>(rows) : 0; }
};

}  // namespace

TranslationValidator::TranslationValidator(const TranslationData& data, const TranslationValidatorOptions& options)
    : data_(data), options_(options), tokens_(data.vocabularies.batch_tokens()) {
  std::vector<int64_t> pairs;
  for (int64_t i = 0; i < data.valid.size() && std::ssize(pairs) < sample_pairs; ++i)
    if (data.valid.source(i).size() < sample_length && data.valid.target(i).size() < sample_length)
      pairs.push_back(i);
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto own = data.valid.source(pairs[i]), other = data.valid.source(pairs[(i + 1) % pairs.size()]);
    if (std::equal(own.begin(), own.end(), other.begin(), other.end())) continue;
    sample_.add(own, data.valid.target(pairs[i]));
    exchanged_.add(other, data.valid.target(pairs[i]));
  }
}

Validation TranslationValidator::measure(const EncoderDecoder& model) const {
  const NoGrad guard;
  Validation v{.loss = loss(model, data_.valid)};
  if (options_.translated > 0) v.bleu = translation_bleu(model);
  return v;
}

SourceUse TranslationValidator::source_use(const EncoderDecoder& model) const {
  const NoGrad guard;
  if (sample_.size() == 0) return {};
  return {.gain = loss(model, exchanged_) - loss(model, sample_), .entropy = cross_attention_entropy(model)};
}

std::vector<double> TranslationValidator::cross_attention_entropy(const EncoderDecoder& model) const {
  BatchStream batches(sample_, {.batch_tokens = 1024, .order = BatchOrder::sorted, .tokens = tokens_});
  std::vector<EntropySum> layers(static_cast<size_t>(model.cross_attention_layers()));
  while (batches.position().epoch == 0) {
    const Batch batch = batches.next();
    AttentionLog log;
    Pass pass;
    const Encoded encoded = model.encode(batch.source, batch.source_lengths, pass);
    pass.log = &log;
    model.decode(batch.target_in, encoded, pass);
    for (size_t n = 0; n < layers.size(); ++n)
      layers[n].add(log.weights(AttentionUse::cross, static_cast<int64_t>(n)), batch);
  }
  std::vector<double> means;
  means.reserve(layers.size());
  for (const EntropySum& layer : layers) means.push_back(layer.mean());
  return means;
}

double TranslationValidator::loss(const EncoderDecoder& model, const EncodedCorpus& pairs) const {
  BatchStream batches(pairs,
                      {.batch_tokens = options_.batch_tokens, .order = BatchOrder::sorted, .tokens = tokens_});
  double sum = 0;
  int64_t tokens = 0;
  while (batches.position().epoch == 0) {
    const Batch batch = batches.next();
    Pass pass;
    const CrossEntropy result = model.loss(batch.source, batch.source_lengths, batch.target_in, batch.target_out,
                                           {.reduction = CrossEntropyOptions::Reduction::sum}, pass);
    sum += static_cast<double>(result.loss.value().at<float>({0}));
    tokens += result.count;
  }
  return sum / static_cast<double>(tokens);
}

double TranslationValidator::translation_bleu(const EncoderDecoder& model) const {
  const auto count = static_cast<size_t>(std::min(options_.translated, data_.valid.size()));
  std::vector<size_t> pairs(count);
  std::iota(pairs.begin(), pairs.end(), size_t{0});
  return bleu(translate(model, pairs), std::span(data_.references).first(count)).score;
}

std::vector<TrainingTask::Sample> TranslationValidator::samples(const EncoderDecoder& model, int64_t count) const {
  const NoGrad guard;
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < data_.valid.size(); ++i) lengths.push_back(std::ssize(data_.valid.source(i)));
  const std::vector<size_t> pairs = sample_indices(lengths, count);
  const std::vector<std::string> translations = translate(model, pairs);
  std::vector<TrainingTask::Sample> out;
  for (size_t i = 0; i < pairs.size(); ++i)
    out.push_back({data_.sources[pairs[i]], data_.references[pairs[i]], translations[i]});
  return out;
}

std::vector<std::string> TranslationValidator::translate(const EncoderDecoder& model,
                                                         const std::vector<size_t>& pairs) const {
  const auto source = [&](size_t i) { return data_.valid.source(static_cast<int64_t>(pairs[i])); };
  // Sorted by length, so that batches have little padding.
  std::vector<size_t> order(pairs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return source(a).size() < source(b).size(); });

  std::vector<std::string> translations(pairs.size());
  for (size_t begin = 0; begin < pairs.size();) {
    std::vector<std::span<const int32_t>> rows;
    std::vector<int32_t> lengths;
    for (size_t i = begin; i < pairs.size(); ++i) {
      const auto row = source(order[i]);
      const auto padded = static_cast<int64_t>((rows.size() + 1) * (row.size() + 1));
      if (!rows.empty() && padded > options_.batch_tokens) break;
      rows.push_back(row);
      lengths.push_back(
          static_cast<int32_t>(row.size() + tokens_.source.before.size() + tokens_.source.after.size()));
    }
    // Early in training a model does not end its sentences: short limits keep the validation fast.
    const SpecialTokens& special = data_.vocabularies.target.special();
    const auto answers = search(model, pad_ids(rows, tokens_.source, tokens_.pad), lengths,
                                {.beam = 1,
                                 .max_length_ratio = 2.0,
                                 .max_length_extra = 10,
                                 .bos = special.bos,
                                 .eos = special.eos,
                                 .suppress_tokens = special.suppressed,
                                 .forced_first_token = special.forced_first});
    for (size_t b = 0; b < rows.size(); ++b)
      translations[order[begin + b]] = data_.vocabularies.target.decode(answers[b].front().ids);
    begin += rows.size();
  }
  return translations;
}

}  // namespace qkv
