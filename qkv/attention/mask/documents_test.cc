#include "qkv/attention/mask/documents.h"

#include "qkv/base/error.h"
#include "qkv/test_support/check_mask.h"

namespace qkv::documents_test {

using namespace test;

Tensor ids(const std::vector<int32_t>& values, int64_t rows, int64_t columns) {
  return Tensor::from(values, {rows, columns});
}

TEST(Documents, AQuerySeesTheKeysOfItsOwnDocument) {
  uint64_t stream = 0;
  for (const AttentionShape& n : mask_shapes())
    for (const bool sorted : {false, true}) {
      std::vector<int32_t> q = random_integers(n.B * n.T, 3, ++stream), k = random_integers(n.B * n.S, 3, ++stream);
      if (sorted) {
        std::sort(q.begin(), q.end());
        std::sort(k.begin(), k.end());
      }
      check_mask(documents(ids(q, n.B, n.T), ids(k, n.B, n.S)), n,
                 [&](int64_t b, auto, int64_t i, int64_t j) { return q[b * n.T + i] == k[b * n.S + j]; });
      q.resize(n.T);
      check_mask(documents(ids(q, 1, n.T), ids(k, n.B, n.S)), n,
                 [&](int64_t b, auto, int64_t i, int64_t j) { return q[i] == k[b * n.S + j]; });
    }
}

TEST(Documents, KeyRangeIsExactInAnyOrder) {
  const AttentionShape n{.B = 2, .H = 1, .G = 1, .T = 300, .S = 500, .D = 4, .E = 4};
  std::vector<int32_t> q(static_cast<size_t>(n.B * n.T)), k(static_cast<size_t>(n.B * n.S));
  const auto check = [&](auto of_query, auto of_key) {
    for (int64_t b = 0; b < n.B; ++b) {
      for (int64_t i = 0; i < n.T; ++i) q[b * n.T + i] = static_cast<int32_t>(of_query(b, i));
      for (int64_t j = 0; j < n.S; ++j) k[b * n.S + j] = static_cast<int32_t>(of_key(b, j));
    }
    const MaskPtr mask = documents(ids(q, n.B, n.T), ids(k, n.B, n.S));
    const VisibleRule sees = [&](int64_t b, auto, int64_t i, int64_t j) {
      return q[b * n.T + i] == k[b * n.S + j];
    };
    expect_exact_keys(mask, n, sees);
    check_mask(mask, n, sees);
  };
  check([](auto, auto i) { return i / 30; }, [](auto, auto j) { return j / 50; });                  // in order
  check([](auto b, auto i) { return 10 - i / 30 + b; }, [](auto, auto j) { return j / 50; });       // backwards
  check([](auto, auto i) { return i / 25 % 4 * 7; }, [](auto, auto j) { return j / 60 % 5 * 7; });  // in pieces
  check([](auto, auto i) { return i; }, [](auto, auto j) { return (j * 7) % 500; });  // a document for every query
}

TEST(Documents, SkipsTheTilesBetweenDocuments) {
  const AttentionShape n{.B = 1, .H = 1, .G = 1, .T = 6, .S = 6, .D = 4, .E = 4};
  const MaskPtr mask = documents(ids({0, 0, 0, 1, 1, 1}, 1, 6));
  const QueryBlock first{&n, 0, 0, 0, 3, 16};
  EXPECT_EQ(mask->classify({first, 0, 3}), Visibility::visible);
  EXPECT_EQ(mask->classify({first, 3, 3}), Visibility::masked);
  EXPECT_EQ(mask->classify({first, 0, 6}), Visibility::partial);
}

TEST(Documents, RejectsOtherShapesAndTypes) {
  const AttentionShape n{.B = 2, .H = 1, .G = 1, .T = 3, .S = 5, .D = 4, .E = 4};
  try {
    documents(ids({0, 0, 0}, 1, 3))->check(n);
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(),
                 "documents: the ids of queries are (B 1, T 3), of keys (B 1, S 3); expected (1 or B, T) and (1 or "
                 "B, S) for B "
                 "2, T 3, S 5");
  }
  EXPECT_THROW(documents(Tensor::zeros({1, 3})), Error);
}

}  // namespace qkv::documents_test
