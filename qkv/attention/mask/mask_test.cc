#include "qkv/attention/mask/mask.h"

#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/documents.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/attention/mask/window.h"
#include "qkv/base/error.h"
#include "qkv/test_support/check_mask.h"

namespace qkv::mask_test {

using namespace test;

TEST(Mask, CombinesWithAndOrNot) {
  uint64_t stream = 0;
  for (const AttentionShape& n : mask_shapes()) {
    const auto p = [&](int64_t i) { return i + n.S - n.T; };
    const std::vector<int32_t> lengths = random_integers(n.B, n.S, ++stream),
                               ids = random_integers(n.B * n.S, 2, ++stream);
    const std::vector<int32_t> of_queries = random_integers(n.B * n.T, 2, ++stream);
    const MaskPtr a = causal(), b = padding(lengths), c = window(9, 2),
                  d = documents(Tensor::from(of_queries, {n.B, n.T}), Tensor::from(ids, {n.B, n.S}));
    const VisibleRule sees_a = [&](auto, auto, int64_t i, int64_t j) { return j <= p(i); };
    const VisibleRule sees_b = [&](int64_t row, auto, auto, int64_t j) { return j < lengths[row]; };
    const VisibleRule sees_c = [&](auto, auto, int64_t i, int64_t j) { return p(i) - 9 <= j && j <= p(i) + 2; };
    const VisibleRule sees_d = [&](int64_t row, auto, int64_t i, int64_t j) {
      return of_queries[row * n.T + i] == ids[row * n.S + j];
    };
    const auto with = [&](auto rule) {
      return [&, rule](int64_t row, int64_t h, int64_t i, int64_t j) {
        return rule(sees_a(row, h, i, j), sees_b(row, h, i, j), sees_c(row, h, i, j), sees_d(row, h, i, j));
      };
    };
    using B = bool;
    check_mask(a & b, n, with([](B x, B y, B, B) { return x && y; }));
    check_mask(a | b, n, with([](B x, B y, B, B) { return x || y; }));
    check_mask(!a, n, with([](B x, B, B, B) { return !x; }));
    check_mask(c & d, n, with([](B, B, B z, B w) { return z && w; }));
    check_mask((!(a & d)) | (b & !c), n, with([](B x, B y, B z, B w) { return !(x && w) || (y && !z); }));
    check_mask((!!c) & (a | d) & b, n, with([](B x, B y, B z, B w) { return z && (x || w) && y; }));
  }
}

TEST(Mask, KeyRangeIsExact) {
  for (const auto& [T, S] : {std::pair<int64_t, int64_t>{300, 300}, {100, 450}, {450, 100}, {1, 300}, {70, 1}}) {
    const AttentionShape n{.B = 2, .H = 1, .G = 1, .T = T, .S = S, .D = 4, .E = 4};
    const auto p = [&n](int64_t i) { return n.position(i); };
    const std::vector<int32_t> lengths = {0, static_cast<int32_t>(S / 2)};
    const std::vector<int32_t> per_query = random_integers(n.B * T, S, 1);
    const VisibleRule is_causal = [p](auto, auto, int64_t i, int64_t j) { return j <= p(i); };
    const VisibleRule is_real = [&](int64_t b, auto, auto, int64_t j) { return j < lengths[b]; };
    expect_exact_keys(causal(), n, is_causal);
    expect_exact_keys(causal(20), n, [](auto, auto, int64_t i, int64_t j) { return j <= i + 20; });
    expect_exact_keys(!causal(), n, [p](auto, auto, int64_t i, int64_t j) { return j > p(i); });
    expect_exact_keys(window(30, 5), n,
                      [p](auto, auto, int64_t i, int64_t j) { return p(i) - 30 <= j && j <= p(i) + 5; });
    expect_exact_keys(!window(-1, 5), n, [p](auto, auto, int64_t i, int64_t j) { return j > p(i) + 5; });
    expect_exact_keys(!window(30, -1), n, [p](auto, auto, int64_t i, int64_t j) { return j < p(i) - 30; });
    expect_exact_keys(causal() & window(30, 30), n,
                      [p](auto, auto, int64_t i, int64_t j) { return p(i) - 30 <= j && j <= p(i); });
    expect_exact_keys(padding(lengths), n, is_real);
    expect_exact_keys(!padding(lengths), n, [&](int64_t b, auto, auto, int64_t j) { return j >= lengths[b]; });
    expect_exact_keys(padding(Tensor::from(per_query, {n.B, T})), n,
                      [&](int64_t b, auto, int64_t i, int64_t j) { return j < per_query[b * n.T + i]; });
    expect_exact_keys(causal() & padding(lengths), n,
                      [&](auto b, auto h, auto i, auto j) { return is_causal(b, h, i, j) && is_real(b, h, i, j); });
    expect_exact_keys(window(10, 0) | padding(lengths), n, [&](auto b, auto h, int64_t i, int64_t j) {
      return (p(i) - 10 <= j && j <= p(i)) || is_real(b, h, i, j);
    });
  }
}

TEST(Mask, AnEmptyMaskMasksNothing) {
  const MaskPtr none;
  EXPECT_EQ((none & causal())->name(), "causal()");
  EXPECT_EQ((causal() & none)->name(), "causal()");
  EXPECT_FALSE(static_cast<bool>(none | causal()));
  EXPECT_FALSE(static_cast<bool>(causal() | none));
  EXPECT_THROW(!none, Error);
}

TEST(Mask, HasANameAsCode) {
  EXPECT_EQ((causal() & window(256, 0))->name(), "causal() & window(256, 0)");
  EXPECT_EQ((!(causal() | window(1, 2)))->name(), "!((causal() | window(1, 2)))");
}

TEST(Mask, ChecksBothOperands) {
  const AttentionShape n{.B = 1, .H = 1, .G = 1, .T = 3, .S = 5, .D = 4, .E = 4};
  EXPECT_THROW((causal() & padding({6}))->check(n), Error);
  EXPECT_THROW((padding({6}) | causal())->check(n), Error);
  EXPECT_THROW((!padding({6}))->check(n), Error);
}

}  // namespace qkv::mask_test
