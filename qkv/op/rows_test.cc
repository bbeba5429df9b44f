#include "qkv/op/rows.h"

#include "qkv/test_support/gradient_check.h"

namespace qkv::rows_test {

using namespace test;

TEST(SumRows, AddsTheRowsInAnOrderThatDoesNotDependOnThreads) {
  const int before = threads();
  for (const auto& [rows, width] : {std::pair<int64_t, int64_t>{1, 1}, {0, 5}, {31, 7}, {33, 7}, {5000, 3}}) {
    const Tensor x = random_tensor({rows, width}, 1);
    std::vector<double> wanted(static_cast<size_t>(width));
    const std::vector<double> numbers = doubles(x);
    for (size_t i = 0; i < numbers.size(); ++i) wanted[i % width] += numbers[i];
    set_threads(1);
    const Tensor one = sum_rows(x, width);
    expect_close(one, wanted, 2e-6, fmt::format("{} rows", rows));
    set_threads(3);
    EXPECT_TRUE(same_bits(one, sum_rows(x, width)));
  }
  set_threads(before);
}

}  // namespace qkv::rows_test
