#include "qkv/kernel/row_test.h"

namespace qkv::kernel::dropout_test {

bool kept(const DropoutKey& key, int64_t index) {
  const auto words = philox(key.seed, key.stream, static_cast<uint64_t>(index) / 8);
  const uint32_t word = words[static_cast<size_t>(index % 8 / 2)];
  return (index % 2 ? word >> 16 : word & 0xffff) < key.threshold;
}

TEST(Dropout, EveryElementIsDecidedByItsOwnNumberOnEveryInstructionSet) {
  const DropoutKey key = dropout_key(0x123456789abcdef0u, 0xfedcba9876543210u, 0.3f);
  for_every_isa([&](const RowKernels& k, const std::string& isa) {
    for (int64_t first : {int64_t{0}, int64_t{5}, int64_t{64}, int64_t{1001}, (int64_t{1} << 35) - 20}) {
      for (int64_t n : {1, 2, 7, 8, 31, 64, 65, 128, 300, 1000}) {
        Row x = Row::normal(n, 1), r = Row::normal(n, 2), y(n), z(n);
        k.dropout(x.data(), n, key, first, y.data());
        k.dropout_add(x.data(), r.data(), n, key, first, z.data());
        for (int64_t i = 0; i < n; ++i) {
          const bool keep = kept(key, first + i);
          ASSERT_EQ(y[i], keep ? x[i] * key.scale : 0.0f) << isa << " " << first << " " << n << " " << i;
          ASSERT_TRUE(keep || z[i] == r[i]) << isa;
          ASSERT_NEAR(z[i], keep ? r[i] + double{x[i]} * key.scale : double{r[i]}, 2e-6) << isa;
        }
        EXPECT_TRUE(y.intact() && z.intact()) << isa;
        k.dropout(x.data(), n, key, first, x.data());
        expect_same_bits(x, y, isa + " in place");
        k.dropout_add(x.data(), r.data(), 0, key, first, x.data());  // no elements
      }
    }
  });
}

TEST(Dropout, BitsDoNotDependOnHowAnArrayIsCut) {
  const DropoutKey key = dropout_key(3, 4, 0.1f);
  for_every_isa([&](const RowKernels& k, const std::string& isa) {
    const int64_t n = 700;
    Row x = Row::normal(n, 1), r = Row::normal(n, 2), whole(n), cut(n);
    k.dropout_add(x.data(), r.data(), n, key, 9, whole.data());
    for (int64_t i = 0, length = 1; i < n; i += length, length = length % 37 + 5) {
      length = std::min(length, n - i);
      k.dropout_add(x.data() + i, r.data() + i, length, key, 9 + i, cut.data() + i);
    }
    expect_same_bits(cut, whole, isa);
  });
}

TEST(Dropout, KeepsTheShareThatItsRateSpecifies) {
  for_every_isa([](const RowKernels& k, const std::string& isa) {
    const int64_t n = 1 << 20;
    std::vector<float> ones(static_cast<size_t>(n), 1.0f), y(ones.size());
    for (float rate : {0.0f, 0.1f, 0.5f, 0.99f}) {
      k.dropout(ones.data(), n, dropout_key(1, 2, rate), 0, y.data());
      const double lost = static_cast<double>(std::count(y.begin(), y.end(), 0.0f)) / static_cast<double>(n);
      EXPECT_NEAR(lost, rate, rate == 0.0f ? 0.0 : 2e-3) << isa;
      EXPECT_NEAR(k.sum(y.data(), n) / static_cast<double>(n), 1.0, 0.06) << isa;  // the mean is preserved
    }
  });
}

TEST(Dropout, DroppedElementsAreZeroEvenIfInfinite) {
  for_every_isa([](const RowKernels& k, const std::string& isa) {
    Row x(100), y(100);
    std::fill(x.begin(), x.end(), INFINITY);
    k.dropout(x.data(), 100, dropout_key(1, 2, 0.5f), 0, y.data());
    EXPECT_TRUE(std::all_of(y.begin(), y.end(), [](float v) { return v == 0.0f || v == INFINITY; })) << isa;
  });
}

}  // namespace qkv::kernel::dropout_test
