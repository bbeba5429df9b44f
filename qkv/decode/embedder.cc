#include "qkv/decode/embedder.h"

#include <algorithm>
#include <utility>

#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/decode/length_batches.h"
#include "qkv/decode/padded_batch.h"
#include "qkv/decode/text_model.h"
#include "qkv/decode/translator.h"
#include "qkv/model/causal.h"
#include "qkv/model/encoder_decoder.h"
#include "qkv/model/masked.h"

namespace qkv {
namespace {

Embedder read_embedder(const std::filesystem::path& folder) {
  const TextModel from = read_text_model(folder);
  return {from.model, from.tokenizer, folder.string()};
}

}  // namespace

Embedder::Embedder(const std::filesystem::path& folder) : Embedder(read_embedder(folder)) {}

Embedder::Embedder(std::shared_ptr<const Model> model, Tokenizer tokenizer, const std::string& name)
    : model_(std::move(model)), tokenizer_(std::move(tokenizer)) {
  check_vocabulary(*model_, tokenizer_, name);
}

int64_t Embedder::width() const {
  const TransformerConfig& config = model_->config();
  return config.architecture == Architecture::bahdanau ? 2 * config.d_model : config.d_model;
}

EncodedSentence Embedder::encode(const std::string& sentence, size_t index) const {
  const bool bos = is_language_model(model_->config().architecture);
  EncodedSentence out = encode_sentence(sentence, tokenizer_,
                                        {.max_tokens = model_->config().position_limit() - (bos ? 1 : 0),
                                         .name = fmt::format("sentence {}", index + 1)});
  if (bos) out.ids.insert(out.ids.begin(), Tokenizer::bos);
  return out;
}

Tensor Embedder::hidden(const Tensor& ids, const std::vector<int32_t>& lengths) const {
  Pass pass;
  if (const auto* causal = dynamic_cast<const CausalTransformer*>(model_.get()))
    return causal->forward(ids, pass).value();
  if (const auto* masked = dynamic_cast<const MaskedTransformer*>(model_.get()))
    return masked->encode(ids, lengths, pass).value();
  if (const auto* pairs = dynamic_cast<const EncoderDecoder*>(model_.get()))
    return pairs->encode(ids, lengths, pass).memory.value();
  fail("Embedder", "a model of this class has no hidden states");
}

Embeddings Embedder::embed(std::span<const std::string> sentences, const EmbedOptions& options,
                           const ProgressFunction& progress) const {
  check_batch_tokens(options.batch_tokens);
  const NoGrad guard;
  const bool causal = model_->config().architecture == Architecture::causal;
  const PoolingOptions pooling = {.pooling = options.pooling.value_or(causal ? Pooling::last : Pooling::mean),
                                  .normalize = options.normalize};
  std::vector<EncodedSentence> encoded(sentences.size());
  parallel_for(std::ssize(encoded), [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    encoded[at] = encode(sentences[at], at);
  });
  Embeddings out{.vectors = Tensor::empty({std::ssize(sentences), width()})};
  std::vector<int64_t> lengths;
  for (size_t i = 0; i < encoded.size(); ++i) {
    lengths.push_back(std::ssize(encoded[i].ids));
    if (encoded[i].truncated) out.truncated.push_back(i);
  }
  int64_t done = 0;
  for (const std::vector<size_t>& batch : length_batches(lengths, options.batch_tokens)) {
    std::vector<std::vector<int32_t>> rows;
    for (const size_t i : batch) rows.push_back(encoded[i].ids);
    // A single query takes a pass of its own through attention, with other last bits than beside longer rows.
    const PaddedBatch padded = pad_batch(rows, {.min_length = 2});
    const Tensor pooled = pool(hidden(padded.ids, padded.lengths), padded.lengths, pooling);
    for (size_t b = 0; b < batch.size(); ++b) {
      const auto row = pooled.span<float>().subspan(b * static_cast<size_t>(width()), static_cast<size_t>(width()));
      std::copy(row.begin(), row.end(), out.vectors.data<float>() + static_cast<int64_t>(batch[b]) * width());
    }
    done += std::ssize(batch);
    if (progress) progress(done);
  }
  return out;
}

}  // namespace qkv
