// Every mechanism of attention, drawn at random, for the library and for the reference.
//
// Parts are made for some rows of the batch: a row alone must have the results that it has among others.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "qkv/attention/options.h"
#include "qkv/test_support/reference_attention.h"
#include "test/attention_random_test/dice.h"

namespace qkv::test {

struct BatchRows {
  int64_t first = 0, count = 0;
  Tensor of(const Tensor& x) const { return x.dim(0) == 1 ? x : x.slice(0, first, first + count); }
  // A parameter with a batch axis. A part of it has no gradient.
  Variable of(const Variable& x) const { return x.dim(0) == 1 || count == x.dim(0) ? x : Variable(of(x.value())); }
};

struct DrawnScore {
  std::string mechanism;  // the name of the function that makes it, as in all of these
  ScorePtr score;
  reference::ScoreRecipe reference;
  std::vector<Variable> parameters = {};
};

struct DrawnModifier {
  std::string mechanism;
  std::function<ModifierPtr(const BatchRows&)> part;
  reference::ModifierRecipe reference;
  std::vector<Variable> parameters = {};
};

struct DrawnMask {
  std::vector<std::string> mechanisms = {};  // of a combination, its operators too
  std::function<MaskPtr(const BatchRows&)> part = {};
  VisibleRule visible = {};
};

struct DrawnNormalizer {
  std::string mechanism;
  NormalizerPtr normalizer;
  reference::NormalizerRecipe reference;
  std::vector<Variable> parameters = {};
};

struct DrawnReweigher {
  struct Part {
    ReweigherPtr reweigher;
    MaskPtr mask = {};  // that comes with it
  };
  std::string mechanism;
  std::function<Part(const Variable& q, const BatchRows&)> part;
  reference::ReweigherRecipe reference;
  std::vector<Variable> parameters = {};
  VisibleRule visible = {};  // of its mask
};

// The widths of queries and keys may differ for some scores.
std::string draw_score_mechanism(Dice& dice);
bool takes_other_key_width(const std::string& mechanism);
DrawnScore draw_score(Dice& dice, const std::string& mechanism, int64_t query_width, int64_t key_width);
// gaussian() with a width such that no pair is near the edge of a kernel, where rounding decides whether it counts.
DrawnScore draw_gaussian_for_kernel(Dice& dice, const Tensor& q, const Tensor& k, const VisibleRule& visible);

DrawnModifier draw_modifier(Dice& dice, const AttentionShape& n);
DrawnMask draw_mask(Dice& dice, const AttentionShape& n, int depth);
DrawnNormalizer draw_softmax(Dice& dice, const AttentionShape& n);
DrawnNormalizer draw_kernel(Dice& dice);
DrawnNormalizer draw_constant();
DrawnReweigher draw_dropout(const AttentionShape& n, uint64_t seed);
DrawnReweigher draw_gaussian_window(Dice& dice, const AttentionShape& n);
DrawnReweigher draw_local_p(Dice& dice, const Tensor& q, int64_t keys);

}  // namespace qkv::test
