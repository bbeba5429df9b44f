#include "qkv/attention/mask/window.h"

#include "qkv/base/error.h"
#include "qkv/test_support/check_mask.h"

namespace qkv::window_test {

using namespace test;

TEST(Window, EqualsItsBounds) {
  for (const AttentionShape& n : mask_shapes())
    for (const auto& [left, right] : {std::pair<int64_t, int64_t>{0, 0}, {2, 1}, {20, 0}, {0, 70}, {300, 300}})
      check_mask(window(left, right), n, [&, l = left, r = right](auto, auto, int64_t i, int64_t j) {
        const int64_t p = i + n.S - n.T;
        return p - l <= j && j <= p + r;
      });
}

TEST(Window, MinusOneIsUnbounded) {
  for (const AttentionShape& n : mask_shapes()) {
    const auto p = [&](int64_t i) { return i + n.S - n.T; };
    check_mask(window(-1, 2), n, [&](auto, auto, int64_t i, int64_t j) { return j <= p(i) + 2; });
    check_mask(window(3, -1), n, [&](auto, auto, int64_t i, int64_t j) { return j >= p(i) - 3; });
    check_mask(window(-1, -1), n, [](auto, auto, auto, auto) { return true; });
  }
}

TEST(Window, VisitsOnlyItsOwnKeys) {
  const AttentionShape n{.B = 1, .H = 1, .G = 1, .T = 4096, .S = 4096, .D = 4, .E = 4};
  const KeyRange range = window(100, 10)->key_range({&n, 0, 0, 1000, 64, 64});
  EXPECT_EQ(range.begin, 900);
  EXPECT_EQ(range.end, 1074);
}

TEST(Window, HasANameAndRejectsBadBounds) {
  EXPECT_EQ(window(4)->name(), "window(4, 4)");
  try {
    window(-2, 0);
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "window: left and right must be numbers of positions, or -1 for unbounded; got (-2, 0)");
  }
}

TEST(Window, TakesAnOffset) {
  for (const AttentionShape& n : mask_shapes())
    for (const int64_t offset : {-5, 0, 3})
      for (const auto& [left, right] : {std::pair<int64_t, int64_t>{2, 1}, {-1, 4}, {3, -1}}) {
        const auto sees = [&, left = left, right = right](int64_t, int64_t, int64_t i, int64_t j) {
          return (left < 0 || j >= i + offset - left) && (right < 0 || j <= i + offset + right);
        };
        check_mask(window(left, right, offset), n, sees);
        expect_exact_keys(window(left, right, offset), n, sees);
      }
}

}  // namespace qkv::window_test
