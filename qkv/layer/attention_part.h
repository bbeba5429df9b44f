// One word of a variant of attention in a layer: its numbers, and the weights that it needs there.
//
//     AttentionPart part(variant.parts()[0], size);
//     part.word().add_to(options, part);                              // once: what does not depend on a call
//     part.word().add_at(options, part, {.q = q, .key_lengths = n});  // in every call
//
// Parameters are named after the word: "self_attention.additive.query".
#pragma once

#include "qkv/layer/attention_variant.h"

namespace qkv {

class AttentionPart {
 public:
  AttentionPart(const AttentionVariant::Part& part, const AttentionSize& size);

  const AttentionMechanism& word() const { return *word_; }
  const AttentionMechanism::Numbers& numbers() const { return numbers_; }
  const AttentionSize& size() const { return size_; }
  const Variable& parameter(size_t i) const { return parameters_[i]; }

  void visit(const std::string& prefix, const ParameterVisitor& visitor);
  void initialise(const std::string& prefix, uint64_t seed);

 private:
  const AttentionMechanism* word_;
  AttentionMechanism::Numbers numbers_;
  AttentionSize size_;
  std::vector<AttentionMechanism::Parameter> shapes_;
  std::vector<Variable> parameters_;
};

}  // namespace qkv
