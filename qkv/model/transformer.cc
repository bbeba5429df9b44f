#include "qkv/model/transformer.h"

#include <cmath>

#include "qkv/attention/mask/causal.h"
#include "qkv/base/error.h"
#include "qkv/model/stack_decoding.h"

namespace qkv {
namespace {

void check_ids(const char* side, const Tensor& ids, int64_t limit) {
  require(ids.rank() == 2 && ids.dtype() == DType::i32, "Transformer", "{} ids must be i32 (B,T), got {} {}", side,
          name_of(ids.dtype()), ids.shape());
  require(ids.dim(1) >= 1 && ids.dim(1) <= limit, "Transformer", "{} must have 1 to {} tokens, got {}", side, limit,
          ids.dim(1));
}

const TransformerConfig& checked_transformer(const TransformerConfig& config) {
  config.check();
  require<UsageError>(config.architecture == Architecture::encoder_decoder, "Transformer",
                      "the model is {}, not an encoder-decoder", name_of(config.architecture));
  return config;
}

Parameter transformer_table(const TransformerConfig& c, int64_t vocabulary, const char* letter) {
  return embedding_table({vocabulary, letter}, {c.d_model, "C"});
}

}  // namespace

Transformer::Transformer(const TransformerConfig& config)
    : EncoderDecoder(checked_transformer(config)),
      source_embedding_(transformer_table(config, config.source_vocabulary, "V")),
      target_embedding_(ties_embeddings(config.tie) ? source_embedding_
                                                    : transformer_table(config, config.target_vocabulary, "W")),
      output_(
          !ties_output(config.tie) ? transformer_table(config, config.target_vocabulary, "W") : target_embedding_,
          config.output_options()),
      encoder_({source_embedding_, config.embedding_options()}, config.encoder_blocks(), config.final_norm()),
      decoder_({target_embedding_, config.embedding_options()}, config.decoder_blocks(), config.final_norm()) {}

Transformer::Transformer(const TransformerConfig& config, uint64_t seed) : Transformer(config) {
  initialise("", seed);
}

Encoded Transformer::encode(const Tensor& source, std::vector<int32_t> lengths, Pass& pass) const {
  check_ids("source", source, config().position_limit());
  Variable memory = encoder_.encode(source, lengths, pass);
  return {std::move(memory), std::move(lengths)};
}

Variable Transformer::decode(const Tensor& target_in, const Encoded& encoded, Pass& pass) const {
  check_ids("target", target_in, config().position_limit());
  return decoder_.forward(target_in, causal(), encoded, pass);
}

Variable Transformer::logits(const Variable& hidden) const { return output_.logits(hidden); }

CrossEntropy Transformer::loss(const Variable& hidden, const Tensor& target_out,
                               const CrossEntropyOptions& options) const {
  return output_.loss(hidden, target_out, options);
}

std::unique_ptr<Decoding> Transformer::start(const Encoded& encoded) const {
  return std::make_unique<StackDecoding>(decoder_, decoder_.start(encoded), output_);
}

void Transformer::list(ModuleContents& contents) const {
  contents.parameter("source_embedding", source_embedding_);
  if (!ties_embeddings(config().tie())) contents.parameter("target_embedding", target_embedding_);
  if (!ties_output(config().tie()) && config().has_head()) contents.parameter("output", output_.weight);
  contents.parameter("source_positions", encoder_.embedding.positions);
  contents.parameter("target_positions", decoder_.embedding.positions);
  for (const auto& [name, embedding] :
       {std::pair("source_embedding", &encoder_.embedding), std::pair("target_embedding", &decoder_.embedding)}) {
    contents.parameter(join_name(name, "types"), embedding->types);
    if (embedding->norm) contents.child(join_name(name, "norm"), *embedding->norm);
  }
  contents.child("encoder", encoder_);
  contents.child("decoder", decoder_);
  contents.child("output", output_);
}

}  // namespace qkv
