#include "qkv/model/masked.h"

#include "qkv/base/error.h"

namespace qkv {
namespace {

const TransformerConfig& checked_masked(const TransformerConfig& config) {
  config.check();
  require<UsageError>(config.architecture == Architecture::masked, "MaskedTransformer",
                      "the model must be masked, got {}", name_of(config.architecture));
  return config;
}

Parameter masked_table(const TransformerConfig& c) {
  return embedding_table({c.source_vocabulary, "V"}, {c.d_model, "C"});
}

}  // namespace

MaskedTransformer::MaskedTransformer(const TransformerConfig& config)
    : Model(checked_masked(config)),
      embedding_(masked_table(config)),
      transform_({config.d_model, "C"}, {config.d_model, "C"}),
      norm_({config.d_model, "C"}, config.norm_options()),
      output_(!ties_output(config.tie) ? masked_table(config) : embedding_, config.output_options()),
      stack_({embedding_, config.embedding_options()}, config.encoder_blocks(), config.final_norm()) {}

MaskedTransformer::MaskedTransformer(const TransformerConfig& config, uint64_t seed) : MaskedTransformer(config) {
  initialise("", seed);
}

Variable MaskedTransformer::encode(const Tensor& ids, const std::vector<int32_t>& lengths, Pass& pass,
                                   const Tensor& types) const {
  require(ids.rank() == 2 && ids.dtype() == DType::i32 && ids.dim(1) >= 1, "MaskedTransformer",
          "ids must be i32 (B,T), got {} {}", name_of(ids.dtype()), ids.shape());
  return stack_.encode(ids, lengths, pass, types);
}

Variable MaskedTransformer::transformed(const Variable& hidden) const {
  const TransformerConfig& c = config().transformer();
  return norm_.forward(activate(c.head_activation.value_or(c.activation), transform_.forward(hidden)));
}

Variable MaskedTransformer::logits(const Variable& hidden) const { return output_.logits(transformed(hidden)); }

CrossEntropy MaskedTransformer::loss(const Tensor& ids, const std::vector<int32_t>& lengths, const Tensor& targets,
                                     const CrossEntropyOptions& options, Pass& pass, const Tensor& types) const {
  return output_.loss(transformed(encode(ids, lengths, pass, types)), targets, options);
}

void MaskedTransformer::list(ModuleContents& contents) const {
  contents.parameter("embedding.tokens", embedding_);
  if (!ties_output(config().tie()) && config().has_head()) contents.parameter("output", output_.weight);
  contents.child("embedding", stack_.embedding);
  contents.child("", stack_);
  if (!config().has_head()) return;
  contents.child("head.transform", transform_);
  contents.child("head.norm", norm_);
  contents.child("head", output_);
}

}  // namespace qkv
