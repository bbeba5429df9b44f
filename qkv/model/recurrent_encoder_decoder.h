// An encoder-decoder of recurrent networks: the common part of the models of Bahdanau et al. and Luong et al.
//
//     memory = encoder(embedding(source))                      Recurrent
//     logits = decoder(embedding(target), memory) W^T          BahdanauDecoder, LuongDecoder
//
// Embeddings and states have the width C, d_model; dropout applies to embeddings, between layers, and to the states
// before the output projection. Parameters: source_embedding, target_embedding and output as far as they are not tied,
// encoder, decoder.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "qkv/layer/recurrent.h"
#include "qkv/layer/token_embedding.h"
#include "qkv/model/encoder_decoder.h"
#include "qkv/model/recurrent_decoding.h"
#include "qkv/op/shape.h"

namespace qkv {

template <class Decoder>
class RecurrentEncoderDecoder : public EncoderDecoder {
 public:
  using EncoderDecoder::loss;
  Encoded encode(const Tensor& source, std::vector<int32_t> lengths, Pass& pass) const override {
    check_ids("source", source);
    const Tensor of_rows = Tensor::from(lengths, {std::ssize(lengths)});
    auto [outputs, state] = encoder_.forward(source_embedding_.forward(source, {}, pass), of_rows, pass);
    return {outputs, std::move(lengths), std::move(state.layers)};
  }
  Variable decode(const Tensor& target_in, const Encoded& encoded, Pass& pass) const override {
    check_ids("target", target_in);
    const Variable y = target_embedding_.forward(target_in, {}, pass);
    return decoder_.forward(y, first_state(encoded), decoder_.memory(encoded.memory, encoded.lengths), pass);
  }
  Variable logits(const Variable& hidden) const override { return output_.logits(hidden); }
  CrossEntropy loss(const Variable& hidden, const Tensor& target_out,
                    const CrossEntropyOptions& options) const override {
    return output_.loss(hidden, target_out, options);
  }
  std::unique_ptr<Decoding> start(const Encoded& encoded) const override {
    const NoGrad guard;
    const auto embed = [this](const Tensor& ids) {
      Pass pass;
      const Variable y = target_embedding_.forward(ids.reshape({ids.dim(0), 1}), {}, pass);
      return reshape(y, {ids.dim(0), config().d_model()});
    };
    return std::make_unique<RecurrentDecoding<Decoder>>(decoder_, first_state(encoded),
                                                        decoder_.memory(encoded.memory, encoded.lengths),
                                                        RecurrentEnds{embed, output_});
  }
  int64_t cross_attention_layers() const override { return 1; }

  void list(ModuleContents& contents) const override {
    contents.parameter("source_embedding", source_embedding_.table);
    if (!ties_embeddings(config().tie())) contents.parameter("target_embedding", target_embedding_.table);
    if (!ties_output(config().tie())) contents.parameter("output", output_.weight);
    contents.child("encoder", encoder_);
    contents.child("decoder", decoder_);
  }

 protected:
  RecurrentEncoderDecoder(const RecurrentConfig& config, Decoder decoder)
      : EncoderDecoder(config),
        source_embedding_(table(config.source_vocabulary, "V"), {.dropout = config.dropout}),
        target_embedding_(
            ties_embeddings(config.tie) ? source_embedding_.table : table(config.target_vocabulary, "W"),
            {.dropout = config.dropout}),
        output_(!ties_output(config.tie) ? table(config.target_vocabulary, "W") : target_embedding_.table),
        encoder_(config.encoder()),
        decoder_(std::move(decoder)) {}

  virtual typename Decoder::State first_state(const Encoded& encoded) const = 0;
  const Decoder& decoder() const { return decoder_; }

 private:
  Parameter table(int64_t vocabulary, const char* letter) const {
    return embedding_table({vocabulary, letter}, {config().d_model(), "C"});
  }
  void check_ids(const char* side, const Tensor& ids) const {
    require(ids.rank() == 2 && ids.dtype() == DType::i32 && ids.dim(1) >= 1, name_of(config().architecture()),
            "{} ids must be i32 (B,T), got {} {}", side, name_of(ids.dtype()), ids.shape());
  }

  TokenEmbedding source_embedding_, target_embedding_;
  OutputProjection output_;
  Recurrent encoder_;
  Decoder decoder_;
};

}  // namespace qkv
