// Calls of attention(), drawn at random: shapes, strides, and every score, mask, modifier, normalizer and reweigher.
//
//     const Drawn call = draw(/*number=*/17, DType::f32);
//     Variable y = attention(call.q, call.k, call.v, call.options());
//     const ReferenceResult wanted = reference_attention(call.reference());
//
// A call is a function of its number, so one that fails can be drawn again.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "test/attention_random_test/drawn_parts.h"

namespace qkv::test {

struct Drawn {
  AttentionShape n;  // D is the width of the queries
  Tensor q, k, v, dout;
  DrawnScore score;
  std::vector<DrawnModifier> modifiers;
  DrawnMask mask;  // without a part: none
  DrawnNormalizer normalizer;
  std::vector<DrawnReweigher> reweighers;
  bool single_queries = false;

  AttentionOptions options() const { return options(Variable(q), {0, n.B}); }
  // For the queries q of these rows of the batch: local_p() gives them a gradient.
  AttentionOptions options(const Variable& queries, const BatchRows& rows) const;
  ReferenceCall reference() const;
  // In the order of ReferenceResult::parameters; not all of them ask for a gradient.
  std::vector<Variable> parameters() const;
  std::vector<std::string> mechanisms() const;
  bool has(const std::string& mechanism) const;
  std::string name() const;
};

struct DrawOptions {
  std::span<const uint8_t> choices = {};  // the first choices are made by these bytes
  int64_t max_work = 400'000;             // pairs times widths, which the reference takes time for
};
Drawn draw(uint64_t number, DType dtype, const DrawOptions& options = {});

}  // namespace qkv::test
