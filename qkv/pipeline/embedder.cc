#include "qkv/pipeline/embedder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "qkv/base/error.h"
#include "qkv/decode/length_batches.h"
#include "qkv/decode/option_table.h"
#include "qkv/decode/overflow.h"
#include "qkv/decode/padded_batch.h"
#include "qkv/model/causal.h"
#include "qkv/model/encoder_decoder.h"
#include "qkv/model/masked.h"
#include "qkv/op/concatenate.h"
#include "qkv/pipeline/encode_texts.h"
#include "qkv/pipeline/translator.h"
#include "qkv/published/text_model.h"
#include "qkv/text/unicode.h"
#include "qkv/text/utf8.h"

namespace qkv {
namespace {

// The text that the model reads. Text that is not UTF-8 stays unchanged, so that the tokenizer rejects it.
std::string prepared(const std::string& sentence, const SentenceEncoder& published) {
  const bool is_lowered = published.lowercase && !utf8_error(sentence);
  return published.prompt + (is_lowered ? utf8_encode(lowercase(utf8_decode(sentence))) : sentence);
}

// Before vectors are normalised, which would make NaN of infinity.
void check_finite_rows(const Tensor& vectors, const std::vector<size_t>& sentences) {
  const auto W = static_cast<size_t>(vectors.dim(1));
  const std::span<const float> numbers = vectors.span<float>();
  const auto bad = std::find_if(numbers.begin(), numbers.end(), [](float x) { return !std::isfinite(x); });
  if (bad != numbers.end())
    fail<Overflow>("Embedder", "the vector of sentence {} holds {}",
                   sentences[static_cast<size_t>(bad - numbers.begin()) / W] + 1, *bad);
}

}  // namespace

Embedder::Embedder(const std::filesystem::path& folder, const InferenceOptions& options)
    : Embedder(read_text_model(encoder_folder(folder), options), folder) {}

Embedder::Embedder(const TextModel& from, const std::filesystem::path& folder)
    : Embedder(from.model, from.tokenizer, folder.string()) {
  published_ = read_sentence_encoder(folder);
}

Embedder::Embedder(std::shared_ptr<const Model> model, Tokenizer tokenizer, const std::string& name)
    : model_(std::move(model)), tokenizer_(std::move(tokenizer)) {
  check_vocabulary(*model_, tokenizer_, name);
}

int64_t Embedder::width() const {
  const ModelConfig& config = model_->config();
  return config.is_recurrent() ? config.recurrent().encoder_width() : config.d_model();
}

int64_t Embedder::input_limit(int64_t max_input_tokens) const {
  const int64_t limit = qkv::input_limit(model_->config(), max_input_tokens);
  return published_.max_tokens > 0 ? std::min(limit, published_.max_tokens) : limit;
}

std::vector<Pooling> Embedder::poolings(const EmbedOptions& options) const {
  if (options.pooling) return {*options.pooling};
  if (!published_.poolings.empty()) return published_.poolings;
  return {model_->config().architecture() == Architecture::causal ? Pooling::last : Pooling::mean};
}

EncodedSentence Embedder::encode(const std::string& sentence, int64_t max_tokens) const {
  TextFrame frame = frame_of(tokenizer_, model_->config().architecture());
  if (frame.after.empty() && tokenizer_.document_end() >= 0) frame.after = {tokenizer_.document_end()};
  return encode_sentence(prepared(sentence, published_), tokenizer_,
                         {.max_tokens = max_tokens, .name = "sentence", .frame = frame});
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
  visit_options(options, CheckRanges{"Embedder"});
  const NoGrad guard;
  const std::vector<Pooling> poolings = this->poolings(options);
  const bool normalizes = options.normalize || (published_.normalize && !options.pooling);
  const int64_t W = vector_width(options);
  std::vector<EncodedSentence> encoded(sentences.size());
  const int64_t longest = input_limit(options.max_input_tokens);
  encode_texts(std::ssize(encoded), "sentence", [&](size_t i) { encoded[i] = encode(sentences[i], longest); });
  Embeddings out{.vectors = Tensor::zeros({std::ssize(sentences), W})};
  std::vector<int64_t> lengths;
  lengths.reserve(encoded.size());
  for (size_t i = 0; i < encoded.size(); ++i) {
    lengths.push_back(std::ssize(encoded[i].ids));
    out.tokens += lengths.back();
    if (encoded[i].truncated) out.truncated.push_back(i);
  }
  int64_t done = 0;
  for (const std::vector<size_t>& batch :
       length_batches(lengths, {options.batch_tokens, model_->config().depends_on_length()})) {
    std::vector<std::vector<int32_t>> rows;
    rows.reserve(batch.size());
    for (const size_t i : batch) rows.push_back(encoded[i].ids);
    // A single query is computed by a pass of its own, whose last bits differ from those beside longer rows.
    const PaddedBatch padded = pad_batch(rows, {.min_length = 2});
    const Tensor states = hidden(padded.ids, padded.lengths);
    Tensor pooled = pool(states, padded.lengths, {.pooling = poolings.front()});
    for (size_t p = 1; p < poolings.size(); ++p)
      pooled = concatenate({Variable(pooled), Variable(pool(states, padded.lengths, {.pooling = poolings[p]}))}, 1)
                   .value();
    check_finite_rows(pooled, batch);
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
