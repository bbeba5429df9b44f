#include "qkv/attention/local.h"

#include <cmath>

#include "qkv/attention/mask/padding.h"
#include "qkv/attention/score/dot.h"
#include "qkv/test_support/check_attention.h"
#include "qkv/test_support/check_mask.h"

namespace qkv::local_test {

using namespace test;

TEST(LocalM, IsCenteredAtTheIndexOfTheQueryWhateverTheLengths) {
  for (const AttentionShape& n : mask_shapes())
    for (const int64_t radius : {0, 1, 7}) {
      const auto sees = [=](int64_t, int64_t, int64_t i, int64_t j) { return std::abs(j - i) <= radius; };
      check_mask(local_m(radius), n, sees);
      expect_exact_keys(local_m(radius), n, sees);
    }
}

// x: q, k, v, w_p (F,D), v_p (F). Dot products without a scale, lengths 11 and 4, radius 3; `edges`: centers of the
// mask.
std::vector<double> formula(const AttentionShape& n, const Doubles& x, const std::vector<double>& edges) {
  const std::vector<double> lengths = {11, 4};
  const auto F = static_cast<int64_t>(x[4].size());
  ReferenceCall call = reference_call(n, x);
  call.score = reference::dot();
  call.visible = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
    const auto key = static_cast<double>(j);
    return key < lengths[b] && std::abs(key - edges[(b * n.H + h) * n.T + i]) <= 3;
  };
  call.reweigh = {reference::local_p({{F, n.D}, x[3]}, {{F}, x[4]}, {{2}, lengths}, 3)};
  return reference_attention(call).out.values;
}

TEST(LocalP, EqualsItsFormulaInEveryInputAndWeight) {
  const AttentionShape n{.B = 2, .H = 2, .G = 1, .T = 4, .S = 11, .D = 3, .E = 2};
  const int64_t F = 4;
  const Tensor lengths = Tensor::from(std::vector<int32_t>{11, 4}, {2});
  const std::vector<Tensor> inputs = {random_tensor({2, 2, 4, 3}, 1), random_tensor({2, 1, 11, 3}, 2, 0.5),
                                      random_tensor({2, 1, 11, 2}, 3), random_tensor({F, 3}, 4),
                                      random_tensor({F}, 5)};
  const std::vector<double> edges =
      doubles(local_p(Variable(inputs[0]), Variable(inputs[3]), Variable(inputs[4]), lengths, 3).p.value());
  check_op(
      "local_p", inputs,
      [&](const Variables& x) {
        const PredictedWindow near = local_p(x[0], x[3], x[4], lengths, 3);
        return attention(x[0], x[1], x[2],
                         {.score = dot(), .mask = padding(lengths) & near.mask, .reweigh = {near.reweigh}});
      },
      [&](const Doubles& x) { return formula(n, x, edges); }, {.value = 3e-6, .gradient = 2e-5, .strided = false});
}

TEST(LocalP, TakesBf16) {
  const Tensor q = random_tensor({1, 2, 5, 4}, 1).to(DType::bf16), w = random_tensor({3, 4}, 2),
               v = random_tensor({3}, 3);
  const Tensor lengths = Tensor::from(std::vector<int32_t>{9}, {1});
  const PredictedWindow bf16 = local_p(q, w, v, lengths, 2), f32 = local_p(q.to(DType::f32), w, v, lengths, 2);
  EXPECT_TRUE(same_bits(bf16.p.value(), f32.p.value()));
}

TEST(Local, RejectsInvalidArguments) {
  const Tensor q = Tensor::zeros({2, 1, 3, 4}), w = Tensor::zeros({5, 4}), v = Tensor::zeros({5});
  const Tensor lengths = Tensor::zeros({2}, DType::i32);
  EXPECT_EQ(error_of([] { local_m(-1); }), "local_m: the radius must not be negative, got -1");
  EXPECT_EQ(error_of([&] { local_p(q, w, Tensor::zeros({4}), lengths, 2); }),
            "local_p: q (B,H,T,D) is (2, 1, 3, 4), w_p (F,D) is (5, 4), v_p (F) is (4)");
  EXPECT_EQ(error_of([&] { local_p(q, w, v, v, 2); }),
            "local_p: lengths must be i32 of shape (B), got f32 (5) for B 2");
  EXPECT_EQ(error_of([&] { local_p(q, w, v, lengths, 0); }), "local_p: the radius must be positive, got 0");
}

}  // namespace qkv::local_test
