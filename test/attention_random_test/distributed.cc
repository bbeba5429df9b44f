// distributed_attention() on the random calls, spread over 1 to 8 ranks in any way, against the same reference.
#include "qkv/attention/distributed.h"

#include <array>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/base/collectives.h"
#include "qkv/base/run_ranks.h"
#include "test/attention_random_test/check.h"
#include "test/attention_random_test/dice.h"

namespace qkv::distributed_random_test {

using namespace test;

constexpr uint64_t calls = 160, calls_per_test = 16;

DType type_of(uint64_t number) { return number % 2 ? DType::bf16 : DType::f32; }
Drawn draw_call(uint64_t number) { return draw(number, type_of(number), {.max_work = 150'000}); }

// local_p() predicts windows from all queries; location() is refused.
bool can_be_spread(const Drawn& call) { return !call.has("local_p") && !call.has("location"); }

// Equal blocks, zig-zag, or blocks of any length and owner: ranks may have nothing.
SequenceLayout draw_layout(Dice& dice, int64_t length, int ranks) {
  switch (dice.between(0, 3)) {
    case 0: return contiguous_layout(length, ranks);
    case 1: return zigzag_layout(length, ranks);
    default: break;
  }
  std::vector<SequenceBlock> blocks;
  int64_t begin = 0;
  for (int64_t left = dice.between(0, 2 * ranks); left > 0 && begin < length; --left) {
    const int64_t end = dice.between(begin, length);
    blocks.push_back({begin, end, static_cast<int>(dice.between(0, ranks - 1))});
    begin = end;
  }
  blocks.push_back({begin, length, static_cast<int>(dice.between(0, ranks - 1))});
  return SequenceLayout(std::move(blocks));
}

// out, dq, dk, dv of the whole, and the gradients of the parameters, summed over the ranks; f32.
struct Spread {
  Tensor out, dq, dk, dv;
  std::vector<Tensor> parameters;
};

Spread spread(uint64_t number, int ranks, const SequenceLayout& queries, const SequenceLayout& keys,
              Distribution distribution) {
  const Drawn whole = draw_call(number);
  Spread all = {Tensor::zeros({whole.n.B, whole.n.H, whole.n.T, whole.n.E}),
                Tensor::zeros(whole.q.shape()),
                Tensor::zeros(whole.k.shape()),
                Tensor::zeros(whole.v.shape()),
                {}};
  for (const Variable& parameter : whole.parameters())
    if (parameter.requires_grad()) all.parameters.push_back(Tensor::zeros(parameter.shape()));
  run_ranks(ranks, [&](Communicator& c) {
    const Drawn call = draw_call(number);  // parameters of its own
    const auto mine = [&](const Tensor& x, const SequenceLayout& layout) {
      return Variable(layout.rows_of(x, 2, c.rank()), {.requires_grad = true});
    };
    const Variable q = mine(call.q, queries), k = mine(call.k, keys), v = mine(call.v, keys);
    const Variable out = distributed_attention(q, k, v, {c, queries, keys, distribution},
                                               call.options(Variable(call.q), {0, call.n.B}));
    out.backward(queries.rows_of(call.dout, 2, c.rank()));
    std::vector<Tensor> parameters;
    for (const Variable& parameter : call.parameters())
      if (parameter.requires_grad()) {
        parameters.push_back(parameter.grad().defined() ? parameter.grad().clone()
                                                        : Tensor::zeros(parameter.shape()));
        all_reduce(c, parameters.back().span<float>());
      }
    if (c.rank() == 0) all.parameters = parameters;
    const auto put = [&](const Tensor& x, const SequenceLayout& layout, Tensor& to) {
      layout.put_rows(x.defined() ? as_float(x) : Tensor::zeros({1, 1, 0, 1}), 2, c.rank(), to);
    };
    put(out.value(), queries, all.out);
    put(q.grad(), queries, all.dq);
    put(k.grad(), keys, all.dk);
    put(v.grad(), keys, all.dv);
  });
  return all;
}

std::vector<Tensor> with_weights_of(const Spread& s, const std::vector<Tensor>& whole) {
  std::vector<Tensor> all = {s.out, whole[1], whole[2], s.dq, s.dk, s.dv};
  all.insert(all.end(), s.parameters.begin(), s.parameters.end());
  return all;
}

class RandomDistributedCalls : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomDistributedCalls, AreAsExactAsThePlainComputation) {
  for (uint64_t n = 0; n < calls_per_test; ++n) {
    const uint64_t number = GetParam() * calls_per_test + n;
    const Drawn call = draw_call(number);
    if (!can_be_spread(call)) continue;
    Dice dice(number + 1'000'000, {});
    const int ranks = std::array{1, 2, 3, 4, 8}[static_cast<size_t>(dice.between(0, 4))];
    const SequenceLayout queries = draw_layout(dice, call.n.T, ranks), keys = draw_layout(dice, call.n.S, ranks);
    std::string blocks;
    for (const SequenceLayout* layout : {&queries, &keys})
      for (const SequenceBlock& b : layout->blocks()) blocks += fmt::format(" [{}, {}) {}", b.begin, b.end, b.rank);
    SCOPED_TRACE(fmt::format("call {} on {} ranks: {},{}", number, ranks, call.name(), blocks));
    const std::vector<Tensor> got =
        with_weights_of(spread(number, ranks, queries, keys, Distribution::ring), results(call));
    EXPECT_EQ(excess_error(call, got), "");
    EXPECT_EQ(nonzero_empty_row(call, got), "");
  }
}

TEST_P(RandomDistributedCalls, HaveTheBitsOfOneProcessIfHeadsAreSpread) {
  for (uint64_t n = 0; n < calls_per_test; ++n) {
    const uint64_t number = GetParam() * calls_per_test + n;
    const Drawn call = draw_call(number);
    const auto ranks = static_cast<int>(call.n.G);
    if (!can_be_spread(call) || ranks == 1) continue;
    SCOPED_TRACE(fmt::format("call {}: {}", number, call.name()));
    Dice dice(number + 1'000'000, {});
    const std::vector<Tensor> whole = results(call);
    const Spread got = spread(number, ranks, draw_layout(dice, call.n.T, ranks), draw_layout(dice, call.n.S, ranks),
                              Distribution::heads);
    EXPECT_TRUE(same_bits(got.out, whole[0]));
    EXPECT_EQ(excess_error(call, with_weights_of(got, whole)), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Attention, RandomDistributedCalls, testing::Range<uint64_t>(0, calls / calls_per_test));

}  // namespace qkv::distributed_random_test
