#include "qkv/attention/modify/falcon_alibi.h"

#include "qkv/attention/modify/alibi.h"
#include "qkv/attention/modify/modifier_test.h"
#include "qkv/base/error.h"

namespace qkv::falcon_alibi_test {

using namespace test;

TEST(FalconAlibi, EqualsItsFormulaInEveryInput) {
  const AttentionShape n{.B = 2, .H = 2, .G = 1, .T = 3, .S = 5, .D = 3, .E = 2};
  const std::vector<float> slopes = {0.7f, 0.3f};
  for (const bool is_causal : {false, true})
    check_op("falcon_alibi",
             {random_tensor({2, 2, 3, 3}, 1), random_tensor({2, 1, 5, 3}, 2), random_tensor({2, 1, 5, 2}, 3)},
             [&](const Variables& x) {
               return attention(x[0], x[1], x[2],
                                {.modify = {falcon_alibi(slopes, 0.6f)}, .mask = is_causal ? causal() : MaskPtr()});
             },
             modified(n, is_causal, [&](const Doubles&) { return reference::falcon_alibi(slopes, 0.6f); }),
             {.value = 2e-6, .gradient = 1e-5, .strided = false});
}

TEST(FalconAlibi, AddsToEveryTile) {
  uint64_t stream = 0;
  for (const AttentionShape& n : modifier_shapes())
    for (const bool is_causal : {false, true})
      check_modifier(n, falcon_alibi(alibi_slopes(n.H), 0.1f), reference::falcon_alibi(alibi_slopes(n.H), 0.1f),
                     {.is_causal = is_causal, .stream = stream += 10});
}

// Key 257 is rounded to 256 and 771 to 772, so with a slope of 1 their biases are those.
TEST(FalconAlibi, RoundsThePositionOfTheKeyToBf16) {
  const AttentionShape n{.B = 1, .H = 1, .G = 1, .T = 1, .S = 800, .D = 1, .E = 1};
  const ModifierPtr modifier = falcon_alibi({1.0f}, 1.0f);
  for (const auto& [key, bias] : {std::pair<int64_t, float>{3, 3}, {256, 256}, {257, 256}, {771, 772}}) {
    float s[16] = {};
    modifier->forward({{&n, 0, 0, 0, 1, 16}, key, 1}, s);
    EXPECT_EQ(s[0], bias) << key;
  }
}

TEST(FalconAlibi, RejectsInvalidSlopesAndScales) {
  const Tensor q = Tensor::zeros({1, 2, 3, 4});
  EXPECT_EQ(error_of([&] {
              attention(q, q, q, {.modify = {falcon_alibi({1, 2, 3}, 0.5f)}});
            }),
            "falcon_alibi: 3 slopes for H 2 query heads");
  EXPECT_EQ(error_of([] { falcon_alibi({1}, INFINITY); }), "falcon_alibi: the scale must be finite, got inf");
}

}  // namespace qkv::falcon_alibi_test
