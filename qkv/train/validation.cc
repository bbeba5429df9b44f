#include "qkv/train/validation.h"

#include <algorithm>
#include <numeric>

#include "qkv/decode/search.h"
#include "qkv/metric/bleu.h"
#include "qkv/text/batches.h"

namespace qkv {

Validation Validator::measure(const Transformer& model) const {
  const NoGrad guard;
  Validation v{.loss = loss(model)};
  if (options_.translated > 0) v.bleu = translation_bleu(model);
  return v;
}

double Validator::loss(const Transformer& model) const {
  BatchStream batches(data_.valid, {.batch_tokens = options_.batch_tokens, .order = BatchOrder::sorted});
  double sum = 0;
  int64_t tokens = 0;
  while (batches.position().epoch == 0) {
    const Batch batch = batches.next();
    Pass pass;
    const CrossEntropy result =
        model.loss(batch.source, batch.source_lengths, batch.target_in, batch.target_out,
                   {.ignore_index = Tokenizer::pad, .reduction = CrossEntropyOptions::Reduction::sum}, pass);
    sum += static_cast<double>(result.loss.value().at<float>({0}));
    tokens += result.count;
  }
  return sum / static_cast<double>(tokens);
}

double Validator::translation_bleu(const Transformer& model) const {
  const auto count = static_cast<size_t>(std::min(options_.translated, data_.valid.size()));
  const auto source = [&](size_t pair) { return data_.valid.source(static_cast<int64_t>(pair)); };
  // Sorted by length, so that batches have little padding.
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return source(a).size() < source(b).size(); });

  std::vector<std::string> translations(count);
  for (size_t begin = 0; begin < count;) {
    std::vector<std::span<const int32_t>> rows;
    std::vector<int32_t> lengths;
    for (size_t i = begin; i < count; ++i) {
      const auto row = source(order[i]);
      const auto padded = static_cast<int64_t>((rows.size() + 1) * (row.size() + 1));
      if (!rows.empty() && padded > options_.batch_tokens) break;
      rows.push_back(row);
      lengths.push_back(static_cast<int32_t>(row.size()) + 1);
    }
    // Early in training a model does not end its sentences: short limits keep the validation fast.
    const auto answers = search(model, pad_ids(rows, {}, Tokenizer::eos), lengths,
                                {.max_length_ratio = 2.0, .max_length_extra = 10});
    for (size_t b = 0; b < rows.size(); ++b)
      translations[order[begin + b]] = data_.vocabularies.target.decode(answers[b].front().ids);
    begin += rows.size();
  }
  return bleu(translations, std::span(data_.references).first(count)).score;
}

}  // namespace qkv
