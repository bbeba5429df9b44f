#include "qkv/attention/merge.h"

#include <cmath>

#include <gtest/gtest.h>

#include "qkv/attention/mask/first_keys.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/test_support/check_attention.h"

namespace qkv::merge_test {

using namespace test;

struct Parts {
  Tensor q = random_tensor({2, 4, 7, 8}, 1), k = random_tensor({2, 2, 30, 8}, 2),
         v = random_tensor({2, 2, 30, 5}, 3), dout = random_tensor({2, 4, 7, 5}, 4);
  std::vector<std::pair<int64_t, int64_t>> cuts = {{0, 11}, {11, 12}, {12, 30}};

  Tensor keys(size_t i) const { return k.slice(2, cuts[i].first, cuts[i].second); }
  Tensor values(size_t i) const { return v.slice(2, cuts[i].first, cuts[i].second); }
  std::vector<AttentionForward> forward(DType dtype = DType::f32) const {
    std::vector<AttentionForward> all;
    for (size_t i = 0; i < cuts.size(); ++i)
      all.push_back(attention_forward(q.to(dtype), keys(i).to(dtype), values(i).to(dtype)));
    return all;
  }
};

TEST(Merge, IsAttentionOverAllKeys) {
  const Parts p;
  const AttentionForward whole = attention_forward(p.q, p.k, p.v), merged = merge(p.forward());
  EXPECT_LT(largest_difference(merged.out, whole.out), 1e-6);
  EXPECT_TRUE(same_bits(merged.maximum, whole.maximum));
  EXPECT_LT(largest_difference(merged.inverse_sum, whole.inverse_sum), 1e-6);
  EXPECT_LT(largest_difference(as_float(merge(p.forward(DType::bf16)).out), whole.out), 2e-2);
}

TEST(Merge, GivesTheBackwardOfEachPart) {
  const Parts p;
  const AttentionForward merged = merge(p.forward());
  const AttentionGradients whole = attention_backward(attention_forward(p.q, p.k, p.v), p.q, p.k, p.v, p.dout);
  Tensor dq = Tensor::zeros(p.q.shape());
  for (size_t i = 0; i < p.cuts.size(); ++i) {
    const AttentionGradients g = attention_backward(merged, p.q, p.keys(i), p.values(i), p.dout);
    for (size_t n = 0; n < dq.span<float>().size(); ++n) dq.span<float>()[n] += g.dq.span<float>()[n];
    EXPECT_LT(largest_difference(g.dk, whole.dk.slice(2, p.cuts[i].first, p.cuts[i].second).contiguous_copy()),
              2e-6);
    EXPECT_LT(largest_difference(g.dv, whole.dv.slice(2, p.cuts[i].first, p.cuts[i].second).contiguous_copy()),
              2e-6);
  }
  EXPECT_LT(largest_difference(dq, whole.dq), 2e-6);
}

TEST(Merge, TakesNothingFromAPartThatAQueryDoesNotSee) {
  const Parts p;
  const AttentionForward seen = attention_forward(p.q, p.k, p.v, {.mask = padding({30, 0})});
  const AttentionForward unseen = attention_forward(p.q, p.k, p.v, {.mask = first_keys(0)});
  for (const AttentionForward& merged : {merge({seen, unseen}), merge({unseen, seen})}) {
    EXPECT_TRUE(same_bits(merged.maximum, seen.maximum));
    EXPECT_LT(largest_difference(merged.out, seen.out), 1e-7);
    EXPECT_LT(largest_difference(merged.inverse_sum, seen.inverse_sum), 1e-7);
    for (const double x : doubles(merged.out.slice(0, 1, 2))) ASSERT_EQ(x, 0.0);  // sees nothing at all
    EXPECT_EQ(merged.maximum.at<float>({1, 0, 0}), -INFINITY);
  }
}

TEST(Merge, RejectsPartsThatDoNotFitTogether) {
  const Parts p;
  std::vector<AttentionForward> parts = p.forward();
  parts[1] = attention_forward(p.q.slice(2, 0, 3), p.k, p.v);
  EXPECT_EQ(
      error_of([&] { merge(parts); }),
      "merge: all parts must have outputs of the same shape and type: f32 (B 2, H 4, T 7, E 5) and f32 (B 2, H 4, "
      "T 3, E 5)");
  EXPECT_EQ(error_of([] { merge({}); }), "merge: there must be at least one part");
}

}  // namespace qkv::merge_test
