#include "qkv/attention/mask/first_keys.h"

#include "qkv/attention/attention.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/prefix.h"
#include "qkv/attention/mask/window.h"
#include "qkv/base/error.h"
#include "qkv/test_support/check_mask.h"
#include "qkv/test_support/gradient_check.h"

namespace qkv::first_keys_test {

using namespace test;

TEST(FirstKeys, AreSeenByEveryQueryOfEveryRow) {
  for (const AttentionShape& n : mask_shapes())
    for (const int64_t count : {0, 1, 4, 63, 64, 100, 1000}) {
      const VisibleRule rule = [&](auto, auto, auto, int64_t j) { return j < count; };
      check_mask(first_keys(count), n, rule);
      expect_exact_keys(first_keys(count), n, rule);
      expect_exact_keys(!first_keys(count), n, [&](auto, auto, auto, int64_t j) { return j >= count; });
      check_mask(causal() & (window(3) | first_keys(count)), n, [&](auto, auto, int64_t i, int64_t j) {
        const int64_t p = n.position(i);
        return j <= p && (p - j <= 3 || j < count);
      });
    }
}

TEST(FirstKeys, AreAPrefixOfEqualLengths) {
  const Tensor q = random_tensor({3, 2, 70, 4}, 1), k = random_tensor({3, 1, 140, 4}, 2);
  EXPECT_TRUE(same_bits(attention(q, k, k, {.mask = causal() | first_keys(90)}),
                        attention(q, k, k, {.mask = causal() | prefix({90, 90, 90})})));
}

TEST(FirstKeys, HaveANameAndRejectANegativeCount) {
  EXPECT_EQ(first_keys(4)->name(), "first_keys(4)");
  EXPECT_EQ(error_of([] { first_keys(-1); }), "first_keys: the count must not be negative, got -1");
}

}  // namespace qkv::first_keys_test
