#include "qkv/decode/embedder.h"

#include <algorithm>
#include <utility>

#include "qkv/base/error.h"
#include "qkv/decode/encode_texts.h"
#include "qkv/decode/length_batches.h"
#include "qkv/decode/padded_batch.h"
#include "qkv/decode/sentence_encoder.h"
#include "qkv/decode/text_model.h"
#include "qkv/decode/translator.h"
#include "qkv/model/causal.h"
#include "qkv/model/encoder_decoder.h"
#include "qkv/model/masked.h"
#include "qkv/op/concatenate.h"

namespace qkv {

Embedder::Embedder(const std::filesystem::path& folder) : Embedder(read_text_model(folder), folder) {}

Embedder::Embedder(const TextModel& from, const std::filesystem::path& folder)
    : Embedder(from.model, from.tokenizer, folder.string()) {
  if (!from.tokenizer.special().frame) return;
  const SentenceEncoder published = read_sentence_encoder(folder);
  poolings_ = published.poolings;
  normalizes_ = published.normalize;
  if (published.max_tokens > 0) max_tokens_ = published.max_tokens;
}

Embedder::Embedder(std::shared_ptr<const Model> model, Tokenizer tokenizer, const std::string& name)
    : model_(std::move(model)), tokenizer_(std::move(tokenizer)) {
  check_vocabulary(*model_, tokenizer_, name);
}

int64_t Embedder::width() const {
  const TransformerConfig& config = model_->config();
  return config.architecture == Architecture::bahdanau ? 2 * config.d_model : config.d_model;
}

int64_t Embedder::input_limit(int64_t max_input_tokens) const {
  return std::min(qkv::input_limit(model_->config(), max_input_tokens), max_tokens_);
}

EncodedSentence Embedder::encode(const std::string& sentence, int64_t max_tokens) const {
  TextFrame frame = frame_of(tokenizer_, model_->config().architecture);
  const SpecialTokens& special = tokenizer_.special();
  if (!special.frame) frame.after = {special.eos};
  return encode_sentence(sentence, tokenizer_, {.max_tokens = max_tokens, .name = "sentence", .frame = frame});
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
  std::vector<Pooling> poolings = poolings_;
  if (poolings.empty()) poolings = {causal ? Pooling::last : Pooling::mean};
  if (options.pooling) poolings = {*options.pooling};
  const bool normalizes = options.normalize || (normalizes_ && !options.pooling);
  const int64_t W = width() * std::ssize(poolings);
  std::vector<EncodedSentence> encoded(sentences.size());
  const int64_t longest = input_limit(options.max_input_tokens);
  encode_texts(std::ssize(encoded), "sentence", [&](size_t i) { encoded[i] = encode(sentences[i], longest); });
  Embeddings out{.vectors = Tensor::empty({std::ssize(sentences), W})};
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
    const Tensor states = hidden(padded.ids, padded.lengths);
    Tensor pooled = pool(states, padded.lengths, {.pooling = poolings.front()});
    for (size_t p = 1; p < poolings.size(); ++p)
      pooled = concatenate({Variable(pooled), Variable(pool(states, padded.lengths, {.pooling = poolings[p]}))}, 1)
                   .value();
    if (normalizes) pooled = normalized_rows(pooled);
    for (size_t b = 0; b < batch.size(); ++b) {
      const auto row = pooled.span<float>().subspan(b * static_cast<size_t>(W), static_cast<size_t>(W));
      std::copy(row.begin(), row.end(), out.vectors.data<float>() + static_cast<int64_t>(batch[b]) * W);
    }
    done += std::ssize(batch);
    if (progress) progress(done);
  }
  return out;
}

}  // namespace qkv
