#include "qkv/model/causal.h"

#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/documents.h"
#include "qkv/base/error.h"
#include "qkv/model/stack_decoding.h"

namespace qkv {
namespace {

const TransformerConfig& checked_causal(const TransformerConfig& config) {
  config.check();
  require<UsageError>(config.architecture == Architecture::causal, "CausalTransformer",
                      "the model must be causal, got {}", name_of(config.architecture));
  return config;
}

Parameter causal_table(const TransformerConfig& c) {
  const bool is_narrower = c.embedding_width != 0 && c.embedding_width != c.d_model;
  return embedding_table({c.target_vocabulary, "V"},
                         is_narrower ? Axis(c.embedding_width, "E") : Axis(c.d_model, "C"));
}

}  // namespace

CausalTransformer::CausalTransformer(const TransformerConfig& config)
    : Model(checked_causal(config)),
      embedding_(causal_table(config)),
      output_(!ties_output(config.tie) ? causal_table(config) : embedding_, config.output_options()),
      stack_({embedding_, config.embedding_options()}, config.decoder_blocks(), config.final_norm()) {}

CausalTransformer::CausalTransformer(const TransformerConfig& config, uint64_t seed) : CausalTransformer(config) {
  initialise("", seed);
}

Variable CausalTransformer::forward(const Tensor& ids, Pass& pass, const Packing& packing) const {
  require(ids.rank() == 2 && ids.dtype() == DType::i32 && ids.dim(1) >= 1, "CausalTransformer",
          "ids must be i32 (B,T), got {} {}", name_of(ids.dtype()), ids.shape());
  if (!packing.documents.defined() && !packing.positions.defined()) return stack_.forward_causal(ids, pass);
  const MaskPtr mask = packing.documents.defined() ? causal() & documents(packing.documents) : causal();
  return stack_.forward(ids, mask, pass, {.positions = packing.positions});
}

Variable CausalTransformer::logits(const Variable& hidden) const { return output_.logits(hidden); }

CrossEntropy CausalTransformer::loss(const Tensor& ids, const Tensor& targets, const CrossEntropyOptions& options,
                                     Pass& pass, const Packing& packing) const {
  return output_.loss(forward(ids, pass, packing), pass.part.of(targets), options);
}

std::unique_ptr<Decoding> CausalTransformer::start(int64_t rows) const {
  return std::make_unique<StackDecoding>(stack_, stack_.start(rows), output_);
}

void CausalTransformer::list(ModuleContents& contents) const {
  contents.parameter("embedding.tokens", embedding_);
  if (!ties_output(config().tie()) && config().has_head()) contents.parameter("output", output_.weight);
  contents.child("embedding", stack_.embedding);
  contents.child("", stack_);
  contents.child("output", output_);
}

}  // namespace qkv
