#include "qkv/op/batch_matmul.h"

#include "qkv/test_support/gradient_check.h"

namespace qkv::batch_matmul_test {

using namespace test;

TEST(BatchMatmul, IsOneMatrixProductPerEntry) {
  struct Sizes {
    int64_t N, R, K, C;
  };
  for (const auto& [N, R, K, C] :
       {Sizes{2, 3, 4, 5}, {1, 1, 1, 1}, {3, 1, 7, 2}, {0, 2, 3, 2}, {2, 0, 3, 2}, {2, 3, 0, 2}, {2, 9, 17, 1}})
    check_op(
        fmt::format("{} x ({}, {}, {})", N, R, K, C), {random_tensor({N, R, K}, 1), random_tensor({N, K, C}, 2)},
        [](const Variables& x) { return batch_matmul(x[0], x[1]); },
        [N = N, R = R, K = K, C = C](const Doubles& x) {
          std::vector<double> y(static_cast<size_t>(N * R * C));
          for (int64_t n = 0; n < N; ++n)
            for (int64_t r = 0; r < R; ++r)
              for (int64_t c = 0; c < C; ++c)
                for (int64_t k = 0; k < K; ++k)
                  y[(n * R + r) * C + c] += x[0][(n * R + r) * K + k] * x[1][(n * K + k) * C + c];
          return y;
        });
}

TEST(BatchMatmul, RejectsShapesThatDoNotAgree) {
  const Variable a = Tensor::zeros({2, 3, 4}), b = Tensor::zeros({2, 5, 6});
  EXPECT_EQ(error_of([&] { batch_matmul(a, b); }),
            "batch_matmul: a (N,R,K) is (2, 3, 4), b (N,K,C) is (2, 5, 6): N and K must agree");
  EXPECT_NE(error_of([&] { batch_matmul(a, Tensor::zeros({4, 6})); }), "no error");
}

}  // namespace qkv::batch_matmul_test
