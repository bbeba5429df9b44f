#include "qkv/op/embedding.h"

#include "qkv/test_support/gradient_check.h"

namespace qkv::embedding_test {

using namespace test;

const std::vector<int32_t> ids = {2, 0, 2, 4, 2, 1};  // (2, 3): a row is used three times

std::vector<double> formula(const Doubles& d, int64_t C, double scale, int64_t first) {
  std::vector<double> y;
  for (size_t i = 0; i < ids.size(); ++i)
    for (int64_t c = 0; c < C; ++c)
      y.push_back(scale * d[0][ids[i] * C + c] +
                  (d.size() > 1 ? d[1][(first + static_cast<int64_t>(i % 3)) * C + c] : 0));
  return y;
}

TEST(Embedding, PicksScalesAndAddsPositions) {
  const Tensor id = Tensor::from(ids, {2, 3});
  for (const int64_t C : {1, 4, 19}) {
    check_op(
        "alone", {random_tensor({5, C}, 1)}, [&](const Variables& v) { return embedding(id, v[0]); },
        [&](const Doubles& d) { return formula(d, C, 1, 0); });
    check_op(
        "scaled, with learned positions", {random_tensor({5, C}, 1), random_tensor({6, C}, 2)},
        [&](const Variables& v) {
          return embedding(id, v[0], {.scale = 1.7f, .positions = v[1], .first_position = 2});
        },
        [&](const Doubles& d) { return formula(d, C, 1.7, 2); });
  }
}

TEST(Embedding, TakesIdsOfAnyStrideAndNone) {
  const Tensor table = random_tensor({5, 4}, 1), id = Tensor::from(ids, {2, 3});
  const Tensor turned = Tensor::from(std::vector<int32_t>{2, 4, 0, 2, 2, 1}, {3, 2}).transpose(0, 1);
  EXPECT_TRUE(same_bits(embedding(id, table).value(), embedding(turned, table).value()));
  EXPECT_EQ(embedding(Tensor::zeros({2, 0}, DType::i32), table).shape(), (Shape{2, 0, 4}));
}

TEST(Embedding, RejectsIdsAndPositionsOutsideTheTables) {
  const Variable table = Tensor::zeros({5, 4});
  const auto with = [&](const std::vector<int32_t>& id, const EmbeddingOptions& options = {}) {
    return error_of([&] { embedding(Tensor::from(id, {1, static_cast<int64_t>(id.size())}), table, options); });
  };
  EXPECT_EQ(with({0, 5}), "embedding: id 5 is not in the table of V 5 rows");
  EXPECT_EQ(with({-1}), "embedding: id -1 is not in the table of V 5 rows");
  EXPECT_EQ(with({0, 1}, {.positions = Tensor::zeros({6, 4}), .first_position = 5}),
            "embedding: positions [5, 7) do not fit a table of (6, 4)");
  EXPECT_EQ(error_of([&] {
              embedding(Tensor::zeros({2, 2}), table);
            }),
            "embedding: ids must be i32 (B,T), the table f32 (V,C); got f32 (2, 2) and (5, 4)");
}

}  // namespace qkv::embedding_test
