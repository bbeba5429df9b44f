// attention() on hundreds of random calls, against the plain computation in float64: the error may be twice that of
// the plain computation in the type of the inputs. And the laws, bit for bit: neither the neighbours in the batch
// nor the number of threads change a result; a query that sees no key has zeros.
//
// test/CMakeLists.txt runs it once for every instruction set.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "qkv/base/threads.h"
#include "test/attention_random_test/draw.h"
#include "test/attention_random_test/plain.h"

namespace qkv {
namespace {

using namespace test;

const std::vector<DType> dtypes = {DType::f32, DType::bf16};
constexpr uint64_t calls = 300, calls_per_test = 20;

Tensor as_float(const Tensor& x) { return (x.dtype() == DType::f32 ? x : x.to(DType::f32)).contiguous_copy(); }

// What a call gave: as plain_attention() lists it.
std::vector<Tensor> results(const Drawn& call, const Tensor& q, const Tensor& k, const Tensor& v,
                            const Tensor& dout, const AttentionOptions& options) {
  const Variable::Options learnt{.requires_grad = true};
  const Variable x(q, learnt), y(k, learnt), z(v, learnt);
  for (Variable parameter : call.learnt_parameters()) parameter.zero_grad();
  const auto [out, weights, lse] = attention_with_weights(x, y, z, options);
  out.backward(dout);
  std::vector<Tensor> all = {out.value(), weights, lse, x.grad(), y.grad(), z.grad()};
  for (const Variable& parameter : call.learnt_parameters())
    if (parameter.grad().defined()) all.push_back(parameter.grad());
  for (Tensor& result : all) result = as_float(result);
  return all;
}
std::vector<Tensor> results(const Drawn& call) {
  return results(call, call.q, call.k, call.v, call.dout, call.options());
}

bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = as_float(a), y = as_float(b);
  return x.shape() == y.shape() &&
         std::equal(x.span<float>().begin(), x.span<float>().end(), y.span<float>().begin());
}

// The largest difference; infinite where one number is infinite or none at all and the other is not.
double error(const std::vector<double>& got, const std::vector<double>& wanted) {
  double most = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (got[i] == wanted[i]) continue;
    const double e = std::abs(got[i] - wanted[i]);
    most = std::max(most, std::isfinite(e) ? e : INFINITY);
  }
  return most;
}

void expect_fair_errors(const Drawn& call, const std::vector<Tensor>& got) {
  const bool single = call.q.dtype() == DType::f32;
  const std::vector<Numbers> exact = plain_attention(call, Precision::exact);
  const std::vector<Numbers> plain = plain_attention(call, single ? Precision::single : Precision::bf16);
  const double ulp = single ? std::ldexp(1.0, -23) : std::ldexp(1.0, -8);
  ASSERT_EQ(got.size(), exact.size());
  for (size_t n = 0; n < exact.size(); ++n) {
    const auto values = got[n].span<float>();
    ASSERT_EQ(values.size(), exact[n].values.size()) << exact[n].name;
    const double fair = error(plain[n].values, exact[n].values), floor = 2 * ulp * exact[n].size;
    const double ours = error({values.begin(), values.end()}, exact[n].values);
    EXPECT_LE(ours, 2 * fair + floor) << exact[n].name << ": the plain computation errs by " << fair
                                      << ", the unit of rounding is " << ulp * exact[n].size;
  }
}

void expect_empty_rows_zero(const Drawn& call, const std::vector<Tensor>& got) {
  const float *out = got[0].data<float>(), *weights = got[1].data<float>(), *lse = got[2].data<float>(),
              *dq = got[3].data<float>();
  const auto all_zero = [](const float* x, int64_t n) {
    return std::all_of(x, x + n, [](float y) { return y == 0; });
  };
  for (int64_t row = 0; row < call.n.B * call.n.H * call.n.T; ++row) {
    const char* visible = call.visible.data() + row * call.n.S;
    if (std::count(visible, visible + call.n.S, 0) < call.n.S) continue;
    ASSERT_TRUE(all_zero(out + row * call.n.E, call.n.E) && all_zero(weights + row * call.n.S, call.n.S) &&
                all_zero(dq + row * call.n.D, call.n.D) && lse[row] == -INFINITY)
        << "row " << row << " sees no key";
  }
}

// out, weights and lse without a tape: few queries have a pass of their own then.
std::vector<Tensor> outputs(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  const auto [out, weights, lse] = attention_with_weights(q, k, v, options);
  return {as_float(out), as_float(weights), as_float(lse)};
}
std::vector<Tensor> outputs(const Drawn& call) { return outputs(call.q, call.k, call.v, call.options()); }

void expect_same_bits(const std::vector<Tensor>& got, const std::vector<Tensor>& wanted, const std::string& when) {
  for (size_t n = 0; n < wanted.size(); ++n) EXPECT_TRUE(same_bits(got[n], wanted[n])) << when << ": " << n;
}

// Row b alone, in a batch of one. (The random numbers of dropout count from row 0.)
void expect_no_neighbours(const Drawn& call, const std::vector<Tensor>& together) {
  const int64_t b = call.dropout ? 0 : call.n.B - 1;
  const auto row = [b](const Tensor& x) { return x.slice(0, b, b + 1); };
  const auto rows = [&](const std::vector<Tensor>& all) {  // gradients of parameters have none
    std::vector<Tensor> of_row;
    for (size_t n = 0; n < std::min<size_t>(6, all.size()); ++n) of_row.push_back(row(all[n]));
    return of_row;
  };
  const AttentionOptions options = call.options_of_rows(b, 1);
  expect_same_bits(results(call, row(call.q), row(call.k), row(call.v), row(call.dout), options), rows(together),
                   "a row alone");
  expect_same_bits(outputs(row(call.q), row(call.k), row(call.v), options), rows(outputs(call)),
                   "a row alone, without a tape");
}

void expect_no_threads(const Drawn& call, const std::vector<Tensor>& wanted) {
  const int before = threads();
  const std::vector<Tensor> wanted_outputs = outputs(call);
  for (const int count : {1, 2, 3}) {
    set_threads(count);
    expect_same_bits(results(call), wanted, fmt::format("{} threads", count));
    expect_same_bits(outputs(call), wanted_outputs, fmt::format("{} threads, without a tape", count));
  }
  set_threads(before);
}

// Without weights the same bits; without a tape as exact, and the same zeros.
void expect_fair_outputs(const Drawn& call, const std::vector<Tensor>& recorded) {
  std::vector<Tensor> now = outputs(call);
  EXPECT_TRUE(same_bits(attention(call.q, call.k, call.v, call.options()), now[0])) << "the output alone";
  if (same_bits(now[0], recorded[0])) return;
  now.insert(now.end(), recorded.begin() + 3, recorded.end());
  expect_fair_errors(call, now);
  expect_empty_rows_zero(call, now);
}

void check_call(uint64_t number) {
  const Drawn call = draw(number, dtypes[number % dtypes.size()]);
  SCOPED_TRACE(fmt::format("call {}: {}", number, call.name()));
  const std::vector<Tensor> got = results(call);
  expect_fair_errors(call, got);
  expect_empty_rows_zero(call, got);
  expect_fair_outputs(call, got);
  if (call.n.B > 1) expect_no_neighbours(call, got);
  if (number % 3 == 0) expect_no_threads(call, got);
}

class RandomCalls : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomCalls, AreAsExactAsThePlainComputationAndKeepTheLaws) {
  for (uint64_t n = 0; n < calls_per_test; ++n) check_call(GetParam() * calls_per_test + n);
}

INSTANTIATE_TEST_SUITE_P(Attention, RandomCalls, testing::Range<uint64_t>(0, calls / calls_per_test));

}  // namespace
}  // namespace qkv
