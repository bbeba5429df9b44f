// One word of a kind of attention in a layer: its numbers, and the weights that it needs there.
//
//     AttentionPart part(kind.parts()[0], size);
//     part.word().add_to(options, part);                              // once: what does not depend on a call
//     part.word().add_at(options, part, {.q = q, .key_lengths = n});  // in every call
//
// Parameters are named after the word: "self_attention.additive.query".
#pragma once

#include "qkv/layer/attention_kind.h"

namespace qkv {

class AttentionPart {
 public:
  AttentionPart(const AttentionKind::Part& part, const AttentionSize& size);

  const AttentionWord& word() const { return *word_; }
  const AttentionWord::Numbers& numbers() const { return numbers_; }
  const AttentionSize& size() const { return size_; }
  const Variable& parameter(size_t i) const { return parameters_[i]; }

  void visit(const std::string& prefix, const ParameterVisitor& visitor);
  void initialise(const std::string& prefix, uint64_t seed);

 private:
  const AttentionWord* word_;
  AttentionWord::Numbers numbers_;
  AttentionSize size_;
  std::vector<AttentionWord::Parameter> shapes_;
  std::vector<Variable> parameters_;
};

}  // namespace qkv
