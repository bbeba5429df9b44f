// The log-probability of documents under a causal model, from which their perplexity follows.
//
//     auto scores = score_documents(model, documents, {.context = 512});    // documents: ids without bos and eos
//     scores[d].log_probability                                             // log p(document, eos | bos)
//     scores[d].token_log_probabilities                                     // of every token, eos last
//
// A document of n tokens has n + 1 inputs, bos and its tokens, each of which predicts the next one. In a document with
// at most `context` inputs, every token is predicted from all tokens before it. A longer one is read in windows: window
// k has the inputs [k stride, k stride + context), cut at the end of the document, at the positions 0, 1, .... The
// first window scores all of its tokens, every other window those that no earlier window has scored. So a token is
// predicted from at least context - stride tokens, if that many precede it: stride = context is the cheapest, a small
// stride is closest to an unlimited context, at context / stride times the cost.
//
// Windows of all documents are batched by length; a score does not depend on the other documents.
// Errors: UsageError for a context beyond the model's position limit, or a stride outside 1 to the context.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "qkv/decode/score.h"
#include "qkv/model/causal.h"

namespace qkv {

struct ScoreDocumentsOptions {
  int64_t context = 0;           // inputs of a window; 0: the limit of the model (default_context())
  int64_t stride = 0;            // 0: half of the context
  int64_t batch_tokens = 4096;   // of a batch; a single window always fits
  int32_t bos = Tokenizer::bos;  // -1: none, so the first token of a document is not scored
  int32_t eos = Tokenizer::eos;  // scored after every document; -1: none
  AttentionLog* log = nullptr;   // records the attention weights of all windows; of two positions or more each
};

// progress(n) is called after every batch, n documents being done; it may throw to stop.
std::vector<TargetScore> score_documents(const CausalTransformer& model,
                                         std::span<const std::vector<int32_t>> documents,
                                         const ScoreDocumentsOptions& options = {},
                                         const std::function<void(int64_t)>& progress = {});

// The checks of score_documents().
void check_options(const ScoreDocumentsOptions& options, const ModelConfig& config);

}  // namespace qkv
