// attention() on hundreds of random calls, against the plain computation in float64: the error may be twice that of
// the plain computation in the type of the inputs. And the laws, bit for bit: neither the neighbours in the batch
// nor the number of threads change a result; a query that sees no key has zeros.
//
// test/CMakeLists.txt runs it once for every instruction set.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "qkv/base/threads.h"
#include "test/attention_random_test/check.h"

namespace qkv {
namespace {

using namespace test;

const std::vector<DType> dtypes = {DType::f32, DType::bf16};
constexpr uint64_t calls = 300, calls_per_test = 20;

bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = as_float(a), y = as_float(b);
  return x.shape() == y.shape() &&
         std::equal(x.span<float>().begin(), x.span<float>().end(), y.span<float>().begin());
}

void expect_fair(const Drawn& call, const std::vector<Tensor>& got) {
  EXPECT_EQ(unfair_error(call, got), "");
  EXPECT_EQ(nonzero_empty_row(call, got), "");
}

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
  const Inputs inputs{row(call.q), row(call.k), row(call.v), row(call.dout)};
  expect_same_bits(results(call, inputs, options), rows(together), "a row alone");
  expect_same_bits(outputs(inputs, options), rows(outputs(call)), "a row alone, without a tape");
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
  expect_fair(call, now);
}

void check_call(uint64_t number) {
  const Drawn call = draw(number, dtypes[number % dtypes.size()]);
  SCOPED_TRACE(fmt::format("call {}: {}", number, call.name()));
  const std::vector<Tensor> got = results(call);
  expect_fair(call, got);
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
