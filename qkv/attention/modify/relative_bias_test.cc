#include "qkv/attention/modify/relative_bias.h"

#include "qkv/attention/modify/modifier_test.h"
#include "qkv/base/error.h"

namespace qkv::relative_bias_test {

using namespace test;

TEST(RelativeBias, EqualsItsFormulaInEveryInputAndEntry) {
  const AttentionShape n{.B = 2, .H = 2, .G = 1, .T = 6, .S = 9, .D = 3, .E = 2};
  for (const bool bidirectional : {false, true}) {
    const RelativeBuckets buckets{bidirectional, 6, 5};
    check_op(
        "relative_bias",
        {random_tensor({2, 2, 6, 3}, 1), random_tensor({2, 1, 9, 3}, 2), random_tensor({2, 1, 9, 2}, 3),
         random_tensor({6, 2}, 4)},
        [&](const Variables& x) { return attention(x[0], x[1], x[2], {.modify = {relative_bias(x[3], buckets)}}); },
        modified(n, false,
                 [&](const Doubles& x) {
                   return reference::relative_bias({{6, 2}, x[3]}, buckets);
                 }),
        {.value = 2e-6, .gradient = 1e-5, .strided = false});
  }
}

TEST(RelativeBias, SumsTheGradientOfAnEntryOverAllTiles) {
  uint64_t stream = 0;
  for (const AttentionShape& n : modifier_shapes())
    for (const bool is_causal : {false, true}) {
      const RelativeBuckets buckets{.bidirectional = !is_causal};
      const Variable table(with_gaps_between_elements(random_tensor({32, n.H}, ++stream)), {.requires_grad = true});
      check_modifier(n, relative_bias(table, buckets), reference::relative_bias(table, buckets),
                     {.is_causal = is_causal, .stream = stream += 10, .parameters = {table}});
    }
}

TEST(RelativeBias, FindsTheBucketOfEveryDistance) {
  for (const bool bidirectional : {false, true})
    for (const int64_t num_buckets : {4, 7, 32})
      for (const int64_t max_distance : {20, 100, 1000}) {
        const RelativeBuckets buckets{bidirectional, num_buckets, max_distance};
        Tensor table = Tensor::empty({num_buckets, 1});
        for (int64_t c = 0; c < num_buckets; ++c) table.data<float>()[c] = static_cast<float>(c);
        const ModifierPtr modifier = relative_bias(table, buckets);
        for (const auto& [T, S] : {std::pair<int64_t, int64_t>{1, 1500}, {1500, 1}, {64, 128}}) {
          const AttentionShape n{.B = 1, .H = 1, .G = 1, .T = T, .S = S, .D = 1, .E = 1};
          for (int64_t query = 0; query < T; query += 64)
            for (int64_t key = 0; key < S; key += 128) {
              const Tile tile{
                  {&n, 0, 0, query, std::min<int64_t>(64, T - query), 64}, key, std::min<int64_t>(128, S - key)};
              std::vector<float> s(64 * 128);
              modifier->forward(tile, s.data());
              for (int64_t j = 0; j < tile.keys; ++j)
                for (int64_t i = 0; i < tile.queries; ++i)
                  ASSERT_EQ(s[j * 64 + i],
                            static_cast<float>(relative_bucket(key + j - n.position(query + i), buckets)));
            }
        }
      }
}

TEST(RelativeBias, RejectsOtherShapes) {
  const Tensor q = Tensor::zeros({1, 2, 3, 4});
  EXPECT_EQ(error_of([&] {
              attention(q, q, q, {.modify = {relative_bias(Tensor::zeros({32, 3}))}});
            }),
            "relative_bias: the table is (N 32, H 3) for H 2 query heads");
  EXPECT_EQ(error_of([] {
              relative_bias(Tensor::zeros({31, 2}));
            }),
            "relative_bias: the table must be f32 of shape (num_buckets 32, H), got (31, 2)");
  EXPECT_THROW(relative_bias(Tensor::zeros({2, 2}), {.num_buckets = 2}), Error);
  EXPECT_THROW(relative_bias(Variable()), Error);
}

}  // namespace qkv::relative_bias_test
