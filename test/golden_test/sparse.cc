// Sparse patterns, each written as the rule of one pair that its paper gives. The dense mask of the file must say
// the same, pair by pair.
#include <cstdlib>

#include <gtest/gtest.h>

#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/function.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/attention/score/dot.h"
#include "test/golden_test/sdpa.h"

namespace qkv::golden {
namespace {

using Rule = std::function<bool(int64_t b, int64_t h, int64_t i, int64_t j)>;

Rule longformer(Case& c) {
  const int64_t window = c.integer("window");
  const Tensor list = c.tensor("global_positions").contiguous_copy();
  const auto positions = list.span<int32_t>();
  const std::set<int64_t> global(positions.begin(), positions.end());
  return [=](auto, auto, int64_t i, int64_t j) {
    return std::abs(i - j) <= window || global.contains(i) || global.contains(j);
  };
}

Rule bigbird(Case& c) {
  const int64_t block = c.integer("block"), reach = c.integer("window_blocks") / 2;
  const std::vector<int64_t> list = c.integers("global_blocks");
  const std::set<int64_t> global(list.begin(), list.end());
  Tensor random = c.tensor("random_blocks");  // (n, r), or (H, n, r)
  if (random.rank() == 2) random = random.reshape({1, random.dim(0), random.dim(1)});
  return [=](auto, int64_t h, int64_t i, int64_t j) {
    const int64_t from = i / block, to = j / block;
    if (std::abs(from - to) <= reach || global.contains(from) || global.contains(to)) return true;
    for (int64_t r = 0; r < random.dim(2); ++r)
      if (random.at<int32_t>({random.dim(0) == 1 ? 0 : h, from, r}) == to) return true;
    return false;
  };
}

Rule dilated(Case& c) {
  const int64_t window = c.integer("window"), step = c.integer("dilation");
  return [=](auto, auto, int64_t i, int64_t j) { return std::abs(i - j) <= window * step && (i - j) % step == 0; };
}

Rule strided(Case& c) {
  const int64_t stride = c.integer("stride");
  return [=](auto, auto, int64_t i, int64_t j) { return j <= i && (i - j < stride || (i - j) % stride == 0); };
}

Rule rule_given(Case& c) {
  const std::string pattern = c.text("pattern");
  if (pattern == "longformer") return longformer(c);
  if (pattern == "bigbird") return bigbird(c);
  if (pattern == "dilated") return dilated(c);
  if (pattern == "strided") return strided(c);
  throw NotBuilt("pattern " + pattern + " is not known");
}

void expect_same_pairs(Case& c, const Rule& rule, bool is_causal) {
  const Tensor mask = c.tensor("mask");  // (1, 1 or H, S, S)
  for (int64_t h = 0; h < mask.dim(1); ++h)
    for (int64_t i = 0; i < mask.dim(2); ++i)
      for (int64_t j = 0; j < mask.dim(3); ++j)
        ASSERT_EQ(mask.at<uint8_t>({0, h, i, j}) != 0, rule(0, h, i, j) && (!is_causal || j <= i))
            << "head " << h << " query " << i << " key " << j;
}

void sparse(Case& c) {
  c.knows({"pattern", "scale", "causal", "window", "dilation", "stride", "block", "window_blocks", "global_blocks"},
          {"q", "k", "v", "mask", "valid_lens", "global_positions", "random_blocks"});
  const Rule rule = rule_given(c);
  expect_same_pairs(c, rule, c.flag("causal"));
  MaskPtr mask = mask_of(rule, {.name = c.text("pattern"), .per_batch = false});
  if (c.flag("causal")) mask = mask & causal();
  if (c.holds("valid_lens")) mask = mask & padding(c.tensor("valid_lens"));
  compare_attention(c, {.score = dot(static_cast<float>(c.number("scale"))), .mask = mask});
}

const Group group("sparse", sparse);

}  // namespace
}  // namespace qkv::golden
