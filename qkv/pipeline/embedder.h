// Sentence embeddings: one vector for a sentence, from a masked or causal language model, or from the encoder of an
// encoder-decoder.
//
//     Embedder embedder("my-model");
//     Tensor e = embedder.embed(sentences, {.normalize = true}).vectors;        // (N,C) f32
//     float similarity = dot(e.select(0, 0), e.select(0, 1));                   // cosine
//
// A sentence is tokenized as in training: bos, its tokens, eos (for an encoder-decoder without bos). The hidden states
// of all these tokens after the last block are pooled (pooling.h). The default is their mean; for a causal model it is
// the last one, because only the last token has seen the whole sentence; a folder of sentence-transformers says it in
// modules.json (sentence_encoder.h), which may join several poolings, normalise, and limit the length. A blank sentence
// has the vector of its special tokens, or zeros where the model adds none. A sentence longer than the position limit of the model is cut.
//
// Sentences are batched by length; a vector does not depend on the other sentences, nor on the number of threads.
// Errors: InputError for a folder that is not a model, files that do not fit together, and sentences that are not UTF-8
// ("sentence 3", counted from 1); UsageError for options out of range; Overflow for a vector that is not finite.
// The member functions may be called by several threads at once.
#pragma once

#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qkv/model/model.h"
#include "qkv/model/pooling.h"
#include "qkv/model/store_parameters.h"
#include "qkv/pipeline/encoded_sentence.h"
#include "qkv/published/huggingface/sentence_encoder.h"
#include "qkv/published/text_model.h"
#include "qkv/text/tokenizer.h"

namespace qkv {

struct EmbedOptions {
  std::optional<Pooling> pooling = {};  // none: as above
  bool normalize = false;               // to an L2 norm of 1
  int64_t batch_tokens = 4096;          // sentences * tokens of the longest one in a batch
  int64_t max_input_tokens = 0;         // a longer sentence is cut (encode_texts.h); 0: the limit of the model
};

struct Embeddings {
  Tensor vectors;                      // (N,C) f32
  std::vector<size_t> truncated = {};  // indices of the sentences that were too long and were cut
  int64_t tokens = 0;                  // of all sentences, as they were read
};

class Embedder {
 public:
  explicit Embedder(const std::filesystem::path& folder, const InferenceOptions& options = {});
  // The tokenizer of the text that the model reads. Errors begin with `name`.
  Embedder(std::shared_ptr<const Model> model, Tokenizer tokenizer, const std::string& name = "Embedder");

  // progress(n) is called after every batch, n sentences being done; it may throw to stop.
  using ProgressFunction = std::function<void(int64_t)>;
  Embeddings embed(std::span<const std::string> sentences, const EmbedOptions& options = {},
                   const ProgressFunction& progress = {}) const;
  Embeddings embed(std::initializer_list<std::string> sentences, const EmbedOptions& options = {}) const {
    return embed(std::span(sentences.begin(), sentences.size()), options);
  }

  int64_t input_limit(int64_t max_input_tokens) const;  // including that of a sentence encoder
  int64_t width() const;  // of the hidden states: C, or 2 C of an encoder in both directions
  // The width of a vector: the width of the hidden states for each pooling.
  int64_t vector_width(const EmbedOptions& options = {}) const { return width() * std::ssize(poolings(options)); }
  const Model& model() const { return *model_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }

 private:
  Embedder(const TextModel& from, const std::filesystem::path& folder);
  EncodedSentence encode(const std::string& sentence, int64_t max_tokens) const;
  std::vector<Pooling> poolings(const EmbedOptions& options) const;
  // The hidden states (B,T,C) of padded rows.
  Tensor hidden(const Tensor& ids, const std::vector<int32_t>& lengths) const;

  std::shared_ptr<const Model> model_;
  Tokenizer tokenizer_;
  SentenceEncoder published_;
};

}  // namespace qkv
