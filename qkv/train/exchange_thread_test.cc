#include "qkv/train/exchange_thread.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/run_ranks.h"
#include "qkv/train/gradient_exchange.h"
#include "qkv/train/gradients_test.h"

namespace qkv::exchange_thread_test {

// Three parts: the last two parameters, the one before, and the first two.
constexpr std::array<int64_t, 5> sizes = {3, 1'200'000, 1'100'000, 40, 1'048'570};

std::vector<Variable> parameters_of(uint64_t rank) {
  std::vector<Variable> parameters;
  for (const int64_t n : sizes) {
    Variable& p = parameters.emplace_back(parameter(std::vector<float>(static_cast<size_t>(n)), {n}));
    if (n == 40 && rank == 1) continue;  // this rank has no gradient of it
    give_gradient(p, random_values(static_cast<size_t>(n), 10 * rank + static_cast<uint64_t>(parameters.size())));
  }
  return parameters;
}

TEST(ExchangeThread, SumsAsOneExchangeAtTheEndDoes) {
  for (const GradientFormat format : {GradientFormat::f32, GradientFormat::bf16})
    for (const bool sharded : {false, true})
      run_ranks(3, [&](Communicator& c) {
        const auto rank = static_cast<uint64_t>(c.rank());
        const std::vector<Shard> shards = {{0, 700'000}, {700'000, 2'500'000}, {2'500'000, 3'348'613}};
        const std::span<const Shard> own = sharded ? std::span<const Shard>(shards) : std::span<const Shard>();
        GradientTree whole(parameters_of(rank), format), parts(parameters_of(rank), format);
        whole.add();
        Tensor sum = whole.sum();
        if (sharded)
          reduce_scatter(c, sum, format, shards);
        else
          all_reduce(c, sum, format);

        ExchangeThread exchange(c, parts, format, own);
        // Ranks complete their gradients in different orders, and the last not all.
        for (const size_t i : rank == 0   ? std::vector<size_t>{4, 3, 2, 1, 0}
                              : rank == 1 ? std::vector<size_t>{0, 2, 4, 1, 3}
                                          : std::vector<size_t>{4, 0})
          exchange.complete(i);
        exchange.finish();
        const Shard mine = sharded ? shards[rank] : Shard{0, sum.numel()};
        ASSERT_EQ(parts.sum().numel(), sum.numel());
        const std::span<const float> expected = sum.span<float>(), got = parts.sum().span<float>();
        for (auto i = static_cast<size_t>(mine.begin); i < static_cast<size_t>(mine.end); ++i)
          ASSERT_EQ(got[i], expected[i]) << i;
      });
}

TEST(ExchangeThread, AnErrorOfAnotherRankIsThrownAtTheEnd) {
  std::string what;
  EXPECT_THROW(run_ranks(2,
                         [&](Communicator& c) {
                           GradientTree tree(parameters_of(0));
                           ExchangeThread exchange(c, tree, GradientFormat::f32, {});
                           exchange.complete(4);
                           if (c.rank() == 1) fail("test", "no more memory");
                           try {
                             exchange.finish();
                           } catch (const Error& e) {
                             what = e.what();
                             throw;
                           }
                         }),
               Error);
  EXPECT_NE(what.find("rank 1 ended with an error"), std::string::npos) << what;
}

}  // namespace qkv::exchange_thread_test
