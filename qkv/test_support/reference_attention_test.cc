// The reference itself: its gradients are the central differences of its output, for every mechanism; its error
// estimate covers the errors of float32.
#include "qkv/test_support/reference_attention.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "qkv/test_support/gradient_check.h"

namespace qkv::test::reference_attention_test {

using reference::Values;

// A mechanism of these parameters, put into a call.
struct Mechanism {
  std::string name;
  std::vector<Tensor> parameters;
  std::function<void(ReferenceCall& call, const std::vector<Values>& parameters)> put;
};

std::vector<Mechanism> mechanisms() {
  using P = const std::vector<Values>&;
  const Tensor lengths = Tensor::from({5, 7}, {2});
  return {
      {"scaled_dot", {}, [](ReferenceCall&, P) {}},
      {"dot", {}, [](ReferenceCall& c, P) { c.score = reference::dot(0.7); }},
      {"cosine", {}, [](ReferenceCall& c, P) { c.score = reference::cosine(3); }},
      {"cosine with gain",
       {random_tensor({1}, 4)},
       [](ReferenceCall& c, P p) { c.score = reference::cosine(3, p[0]); }},
      {"bilinear", {random_tensor({3, 3}, 4)}, [](ReferenceCall& c, P p) { c.score = reference::bilinear(p[0]); }},
      {"location", {random_tensor({6, 3}, 4)}, [](ReferenceCall& c, P p) { c.score = reference::location(p[0]); }},
      {"distance", {}, [](ReferenceCall& c, P) { c.score = reference::distance(); }},
      {"gaussian", {Tensor::full({1}, 1.7f)}, [](ReferenceCall& c, P p) { c.score = reference::gaussian(p[0]); }},
      {"additive",
       {random_tensor({4, 3}, 4), random_tensor({4, 3}, 5), random_tensor({4}, 6)},
       [](ReferenceCall& c, P p) { c.score = reference::additive(p[0], p[1], p[2]); }},
      {"concat",
       {random_tensor({4, 6}, 4), random_tensor({4}, 5)},
       [](ReferenceCall& c, P p) { c.score = reference::concat(p[0], p[1]); }},
      {"softcap", {}, [](ReferenceCall& c, P) { c.modify = {reference::softcap(0.8)}; }},
      {"bias", {random_tensor({2, 1, 4, 7}, 4)}, [](ReferenceCall& c, P p) { c.modify = {reference::bias(p[0])}; }},
      {"alibi", {random_tensor({2}, 4, 0.2)}, [](ReferenceCall& c, P p) { c.modify = {reference::alibi(p[0])}; }},
      {"relative_bias",
       {random_tensor({8, 2}, 4)},
       [](ReferenceCall& c, P p) {
         c.modify = {reference::relative_bias(p[0], {.num_buckets = 8, .max_distance = 6}), reference::softcap(2)};
       }},
      {"softmax_with_sink",
       {random_tensor({2}, 4)},
       [](ReferenceCall& c, P p) { c.normalize = reference::softmax_with_sink(p[0]); }},
      {"epanechnikov",
       {Tensor::full({1}, 4.1f)},
       [](ReferenceCall& c, P p) {
         c.score = reference::gaussian(p[0]);
         c.normalize = reference::epanechnikov();
       }},
      {"triangular",
       {Tensor::full({1}, 4.1f)},
       [](ReferenceCall& c, P p) {
         c.score = reference::gaussian(p[0]);
         c.normalize = reference::triangular();
       }},
      {"boxcar",
       {Tensor::full({1}, 3.1f)},
       [](ReferenceCall& c, P p) {
         c.score = reference::gaussian(p[0]);
         c.normalize = reference::boxcar();
       }},
      {"constant", {}, [](ReferenceCall& c, P) { c.normalize = reference::constant(); }},
      {"factors",
       {},
       [](ReferenceCall& c, P) {
         c.reweigh = {reference::factors(random_tensor({2, 2, 4, 7}, 9))};
         c.normalize = reference::softmax();
       }},
      {"gaussian_window",
       {random_tensor({2, 2, 4}, 4, 2)},
       [](ReferenceCall& c, P p) { c.reweigh = {reference::gaussian_window(p[0], 2.5)}; }},
      {"local_p",
       {random_tensor({2, 3}, 4), random_tensor({2}, 5)},
       [=](ReferenceCall& c, P p) { c.reweigh = {reference::local_p(p[0], p[1], lengths, 3)}; }},
  };
}

ReferenceCall call_of(const Mechanism& mechanism, const std::vector<Values>& x) {
  ReferenceCall call = {.q = x[0], .k = x[1], .v = x[2]};
  call.visible = [](int64_t b, int64_t, int64_t i, int64_t j) { return j <= i + 3 && (b == 0 || i != 2); };
  mechanism.put(call, {x.begin() + 3, x.end()});
  return call;
}

class ReferenceMechanism : public testing::TestWithParam<size_t> {
 protected:
  Mechanism mechanism = mechanisms()[GetParam()];
  std::vector<Values> x = {random_tensor({2, 2, 4, 3}, 1), random_tensor({2, 1, 7, 3}, 2),
                           random_tensor({2, 1, 7, 2}, 3)};
  Tensor dout = random_tensor({2, 2, 4, 2}, 8);

  void SetUp() override { x.insert(x.end(), mechanism.parameters.begin(), mechanism.parameters.end()); }
  ReferenceResult run(Precision precision) const {
    ReferenceCall call = call_of(mechanism, x);
    call.dout = dout;
    return reference_attention(call, precision);
  }
  static std::vector<ReferenceTensor> gradients(const ReferenceResult& r) {
    std::vector<ReferenceTensor> all = {r.dq, r.dk, r.dv};
    all.insert(all.end(), r.parameters.begin(), r.parameters.end());
    return all;
  }
};

TEST_P(ReferenceMechanism, HasTheGradientsOfItsOutput) {
  SCOPED_TRACE(mechanism.name);
  const std::vector<ReferenceTensor> got = gradients(run(Precision::float64));
  ASSERT_EQ(got.size(), x.size());
  const Formula formula = [&](const Doubles& numbers) {
    std::vector<Values> inputs;
    for (size_t n = 0; n < numbers.size(); ++n) inputs.emplace_back(x[n].shape, numbers[n]);
    return reference_attention(call_of(mechanism, inputs)).out.values;
  };
  Doubles numbers;
  for (const Values& input : x) numbers.push_back(input.numbers);
  for (size_t n = 0; n < x.size(); ++n) {
    const std::vector<double> wanted = central_differences(formula, numbers, n, doubles(dout));
    EXPECT_LT(largest_difference(got[n].values, wanted), 1e-7) << "input " << n;
  }
}

TEST_P(ReferenceMechanism, EstimatesTheErrorsOfFloat32) {
  SCOPED_TRACE(mechanism.name);
  const ReferenceResult exact = run(Precision::float64), plain = run(Precision::float32),
                        measured = run(Precision::float64_and_float32_error);
  EXPECT_EQ(measured.out.values, exact.out.values);
  EXPECT_LT(largest_difference(plain.out.values, exact.out.values), 4 * measured.out.error);
  const std::vector<ReferenceTensor> wanted = gradients(exact), floats = gradients(plain),
                                     errors = gradients(measured);
  for (size_t n = 0; n < wanted.size(); ++n) {
    EXPECT_LE(largest_difference(floats[n].values, wanted[n].values), 4 * errors[n].error) << "input " << n;
    EXPECT_LT(errors[n].error, 1e-5) << "input " << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Every, ReferenceMechanism, testing::Range<size_t>(0, mechanisms().size()));

TEST(ReferenceAttention, GivesAQueryWithoutKeysZeros) {
  ReferenceCall call = {.q = random_tensor({1, 1, 2, 3}, 1),
                        .k = random_tensor({1, 1, 4, 3}, 2),
                        .v = random_tensor({1, 1, 4, 2}, 3)};
  call.visible = [](int64_t, int64_t, int64_t i, int64_t) { return i == 1; };
  const ReferenceResult r = reference_attention(call);
  EXPECT_EQ(r.out.values[0], 0);
  EXPECT_EQ(r.weights.values[3], 0);
  EXPECT_EQ(r.lse.values[0], -INFINITY);
  EXPECT_GT(r.lse.values[1], -INFINITY);
}

TEST(ReferenceAttention, RoundsWhatItStoresToBfloat16) {
  const ReferenceCall call = {.q = random_tensor({1, 1, 9, 8}, 1),
                              .k = random_tensor({1, 1, 30, 8}, 2),
                              .v = random_tensor({1, 1, 30, 4}, 3)};
  const std::vector<double> exact = reference_attention(call).out.values,
                            plain = reference_attention(call, Precision::bfloat16).out.values;
  for (const double x : plain)
    EXPECT_EQ(static_cast<double>(static_cast<float>(bfloat16(static_cast<float>(x)))), x);
  EXPECT_GT(largest_difference(plain, exact), 1e-4);
  EXPECT_LT(largest_difference(plain, exact), 3e-2);
}

}  // namespace qkv::test::reference_attention_test
