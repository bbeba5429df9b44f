#include "qkv/decode/score_documents.h"

#include <algorithm>
#include <cmath>

#include "qkv/base/error.h"
#include "qkv/decode/length_batches.h"
#include "qkv/decode/overflow.h"
#include "qkv/decode/padded_batch.h"

namespace qkv {
namespace {

// Inputs [begin, end) of a document; the tokens from `first` on are scored.
struct Window {
  size_t document;
  int64_t begin, first, end;
};

// The tokens of a document that are scored, eos among them: all but the first of bos, document, eos.
int64_t scored_tokens(std::span<const int32_t> document, const ScoreDocumentsOptions& options) {
  const int64_t tokens = (options.bos >= 0 ? 1 : 0) + std::ssize(document) + (options.eos >= 0 ? 1 : 0);
  return std::max<int64_t>(tokens - 1, 0);
}

std::vector<Window> windows_of(std::span<const std::vector<int32_t>> documents, int64_t context, int64_t stride,
                               const ScoreDocumentsOptions& options) {
  std::vector<Window> windows;
  for (size_t d = 0; d < documents.size(); ++d) {
    const int64_t inputs = scored_tokens(documents[d], options);
    for (int64_t begin = 0, first = 0; first < inputs; begin += stride) {
      const int64_t end = std::min(begin + context, inputs);
      windows.push_back({d, begin, first, end});
      first = end;
    }
  }
  return windows;
}

// Token i of bos, document, eos.
int32_t token(std::span<const int32_t> document, int64_t i, const ScoreDocumentsOptions& options) {
  if (options.bos >= 0 && i-- == 0) return options.bos;
  return i == std::ssize(document) ? options.eos : document[static_cast<size_t>(i)];
}

void score_batch(const CausalTransformer& model, std::span<const std::vector<int32_t>> documents,
                 const std::vector<Window>& batch, const ScoreDocumentsOptions& options,
                 std::vector<TargetScore>& scores) {
  constexpr int32_t ignore = -1;
  // A single query is computed by a pass of its own, whose last bits differ from those beside longer windows.
  constexpr int64_t min_length = 2;
  std::vector<std::vector<int32_t>> inputs;
  for (const Window& w : batch) {
    std::vector<int32_t>& row = inputs.emplace_back();
    for (int64_t i = w.begin; i < w.end; ++i) row.push_back(token(documents[w.document], i, options));
  }
  const PaddedBatch in = pad_batch(inputs, {.min_length = min_length});
  const int64_t T = in.ids.dim(1);
  std::vector<int32_t> targets(batch.size() * static_cast<size_t>(T), ignore);
  for (size_t b = 0; b < batch.size(); ++b)
    for (int64_t i = batch[b].first; i < batch[b].end; ++i)
      targets[b * static_cast<size_t>(T) + static_cast<size_t>(i - batch[b].begin)] =
          token(documents[batch[b].document], i + 1, options);
  Pass pass{.log = options.log};
  const CrossEntropy result =
      model.loss(in.ids, Tensor::from(targets, {std::ssize(batch), T}), {.ignore_index = ignore}, pass);
  const float* losses = result.token_losses.data<float>();
  for (size_t b = 0; b < batch.size(); ++b)
    for (int64_t i = batch[b].first; i < batch[b].end; ++i) {
      const float loss = losses[static_cast<int64_t>(b) * T + i - batch[b].begin];
      require<Overflow>(!std::isnan(loss), "score_documents",
                        "the logits of token {} of document {} are not finite", i, batch[b].document);
      scores[batch[b].document].token_log_probabilities[static_cast<size_t>(i)] = -loss;
    }
}

}  // namespace

void check_options(const ScoreDocumentsOptions& o, const ModelConfig& config) {
  const int64_t limit = config.position_limit();
  require<UsageError>(o.context >= 0 && o.context <= limit, "score_documents",
                      "context must be 0 to the model's {} tokens, got {}", limit, o.context);
  const int64_t context = o.context > 0 ? o.context : config.default_context();
  require<UsageError>(o.stride >= 0 && o.stride <= context, "score_documents",
                      "stride must be 0 to the context of {} tokens, got {}", context, o.stride);
}

std::vector<TargetScore> score_documents(const CausalTransformer& model,
                                         std::span<const std::vector<int32_t>> documents,
                                         const ScoreDocumentsOptions& options,
                                         const std::function<void(int64_t)>& progress) {
  check_options(options, model.config());
  const NoGrad guard;
  const int64_t context = options.context > 0 ? options.context : model.config().default_context();
  const int64_t stride = options.stride > 0 ? options.stride : std::max<int64_t>(1, context / 2);
  const std::vector<Window> windows = windows_of(documents, context, stride, options);
  std::vector<TargetScore> scores(documents.size());
  std::vector<int64_t> lengths, waiting(documents.size());  // windows of a document that are not yet scored
  for (size_t d = 0; d < documents.size(); ++d)
    scores[d].token_log_probabilities.resize(static_cast<size_t>(scored_tokens(documents[d], options)));
  lengths.reserve(windows.size());
  for (const Window& w : windows) {
    lengths.push_back(w.end - w.begin);
    ++waiting[w.document];
  }
  int64_t done = 0;
  for (const std::vector<size_t>& indices :
       length_batches(lengths, {options.batch_tokens, model.config().depends_on_length()})) {
    std::vector<Window> batch;
    batch.reserve(indices.size());
    for (const size_t i : indices) batch.push_back(windows[i]);
    score_batch(model, documents, batch, options, scores);
    for (const Window& w : batch) done += --waiting[w.document] == 0 ? 1 : 0;
    if (progress) progress(done);
  }
  for (TargetScore& score : scores)
    for (const float of_token : score.token_log_probabilities) score.log_probability += of_token;
  return scores;
}

}  // namespace qkv
