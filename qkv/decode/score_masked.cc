#include "qkv/decode/score_masked.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "qkv/base/error.h"
#include "qkv/decode/length_batches.h"
#include "qkv/decode/overflow.h"
#include "qkv/decode/padded_batch.h"

namespace qkv {
namespace {

constexpr int32_t ignore = -1;

// A pass over a text: its scored tokens first, first + apart, ... are masked.
struct MaskedPass {
  size_t text;
  int64_t first;
};

int64_t scored_tokens(const std::vector<int32_t>& text, const ScoreMaskedOptions& o) {
  return std::max<int64_t>(0, std::ssize(text) - o.before - o.after);
}

void score_batch(const MaskedTransformer& model, std::span<const std::vector<int32_t>> texts,
                 const std::vector<MaskedPass>& batch, const ScoreMaskedOptions& o,
                 std::vector<TargetScore>& scores) {
  std::vector<std::vector<int32_t>> rows;
  rows.reserve(batch.size());
  for (const MaskedPass& pass : batch) rows.push_back(texts[pass.text]);
  const int64_t T = pad_batch(rows).ids.dim(1);
  std::vector<int32_t> targets(batch.size() * static_cast<size_t>(T), ignore);
  // place(b, i, at): token i of the text of row b is masked, at that position in its row.
  const auto for_each_masked = [&](const auto& place) {
    for (size_t b = 0; b < batch.size(); ++b)
      for (int64_t i = batch[b].first; i < scored_tokens(texts[batch[b].text], o); i += o.apart)
        place(b, static_cast<size_t>(i), static_cast<size_t>(i + o.before));
  };
  for_each_masked([&](size_t b, size_t, size_t at) {
    targets[b * static_cast<size_t>(T) + at] = std::exchange(rows[b][at], o.mask);
  });
  const PaddedBatch in = pad_batch(rows);
  Pass pass;
  const CrossEntropy result =
      model.loss(in.ids, in.lengths, Tensor::from(targets, {std::ssize(batch), T}), {.ignore_index = ignore}, pass);
  const float* losses = result.token_losses.data<float>();
  for_each_masked([&](size_t b, size_t i, size_t at) {
    const float loss = losses[b * static_cast<size_t>(T) + at];
    require<Overflow>(!std::isnan(loss), "score_masked", "the logits of token {} of text {} are not finite", i,
                      batch[b].text);
    scores[batch[b].text].token_log_probabilities[i] = -loss;
  });
}

}  // namespace

std::vector<TargetScore> score_masked(const MaskedTransformer& model, std::span<const std::vector<int32_t>> texts,
                                      const ScoreMaskedOptions& options,
                                      const std::function<void(int64_t)>& progress) {
  require<UsageError>(options.apart >= 1, "score_masked", "masked tokens must be at least 1 apart, got {}",
                      options.apart);
  const int64_t vocabulary = model.config().source_vocabulary();
  require<UsageError>(options.mask >= 0 && options.mask < vocabulary, "score_masked",
                      "the mask must be one of the {} ids of the vocabulary, got {}", vocabulary, options.mask);
  const NoGrad guard;
  std::vector<TargetScore> scores(texts.size());
  std::vector<MaskedPass> passes;
  std::vector<int64_t> lengths, waiting(texts.size());  // passes of a text that are not yet computed
  int64_t done = 0;
  for (size_t d = 0; d < texts.size(); ++d) {
    const int64_t tokens = scored_tokens(texts[d], options);
    scores[d].token_log_probabilities.resize(static_cast<size_t>(tokens));
    waiting[d] = std::min(tokens, options.apart);
    done += waiting[d] == 0 ? 1 : 0;
    for (int64_t first = 0; first < waiting[d]; ++first) {
      passes.push_back({d, first});
      lengths.push_back(std::ssize(texts[d]));
    }
  }
  for (const std::vector<size_t>& indices :
       length_batches(lengths, {options.batch_tokens, model.config().depends_on_length()})) {
    std::vector<MaskedPass> batch;
    batch.reserve(indices.size());
    for (const size_t i : indices) batch.push_back(passes[i]);
    score_batch(model, texts, batch, options, scores);
    for (const MaskedPass& pass : batch) done += --waiting[pass.text] == 0 ? 1 : 0;
    if (progress) progress(done);
  }
  for (TargetScore& score : scores)
    for (const float of_token : score.token_log_probabilities) score.log_probability += of_token;
  return scores;
}

}  // namespace qkv
