#include "qkv/base/communicator.h"

#include <atomic>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/base/collectives.h"
#include "qkv/base/error.h"
#include "qkv/base/run_ranks.h"
#include "qkv/base/world.h"

namespace qkv::communicator_test {

std::string error_of(int ranks, FunctionRef<void(Communicator&)> body) {
  try {
    run_ranks(ranks, body);
  } catch (const std::exception& e) {
    return e.what();
  }
  return "no error";
}

TEST(Communicator, MessagesGoRoundARing) {
  for (const int ranks : {1, 2, 3, 8})
    run_ranks(ranks, [&](Communicator& c) {
      int token = c.rank();
      for (int i = 0; i < c.size(); ++i) {
        int received = -1;
        c.exchange((c.rank() + 1) % c.size(), bytes_of(std::span(&token, 1)), (c.rank() + c.size() - 1) % c.size(),
                   writable_bytes_of(std::span(&received, 1)));
        token = received;
      }
      EXPECT_EQ(token, c.rank());
      EXPECT_EQ(c.bytes_sent(), ranks == 1 ? 0 : static_cast<int64_t>(sizeof(int)) * ranks);
    });
}

TEST(Communicator, ABroadcastReachesAllRanksFromAnyRoot) {
  for (const int ranks : {1, 2, 3, 5, 8})
    for (int root = 0; root < ranks; ++root)
      run_ranks(ranks, [&](Communicator& c) {
        std::vector<int> x(3, c.rank() == root ? 7 : 0);
        c.broadcast(root, writable_bytes_of(x));
        EXPECT_EQ(x, std::vector<int>(3, 7)) << "rank " << c.rank() << " of " << ranks;
      });
}

TEST(Communicator, NobodyLeavesABarrierBeforeAllHaveCome) {
  for (const int ranks : {1, 2, 3, 8}) {
    std::atomic<int> came = 0;
    run_ranks(ranks, [&](Communicator& c) {
      ++came;
      c.barrier();
      EXPECT_EQ(came, ranks);
    });
  }
}

TEST(Communicator, AnErrorOfARankEndsTheOthers) {
  std::atomic<int> ended = 0;
  const auto body = [&](Communicator& c) {
    if (c.rank() == 2) throw std::runtime_error("the disk is full");
    try {
      c.barrier();
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("rank 2 ended with an error: the disk is full"), std::string::npos)
          << e.what();
      ++ended;
      throw;
    }
  };
  EXPECT_EQ(error_of(4, body), "the disk is full");
  EXPECT_EQ(ended, 3);
}

TEST(Communicator, RanksThatWaitForEachOtherAreAnError) {
  EXPECT_EQ(error_of(2,
                     [](Communicator& c) {
                       int x = 0;
                       c.receive(1 - c.rank(), writable_bytes_of(std::span(&x, 1)));
                     }),
            "exchange: all ranks wait: rank 0 receives from 1, rank 1 receives from 0");
  EXPECT_EQ(error_of(2,
                     [](Communicator& c) {
                       int x = 0;
                       if (c.rank() == 1) c.receive(0, writable_bytes_of(std::span(&x, 1)));
                     }),
            "exchange: all ranks wait: rank 1 receives from 0");
}

TEST(Communicator, AMessageOfAnotherSizeIsAnError) {
  EXPECT_EQ(error_of(2,
                     [](Communicator& c) {
                       std::vector<char> x(c.rank() == 0 ? 3 : 4);
                       if (c.rank() == 0)
                         c.send(1, bytes_of(x));
                       else
                         c.receive(0, writable_bytes_of(x));
                     }),
            "exchange: rank 0 sends 3 bytes to rank 1, which expects 4");
}

TEST(Communicator, ARankThatDoesNotExistIsAnError) {
  EXPECT_EQ(error_of(2, [](Communicator& c) { c.send(2, {}); }), "exchange: a rank must be 0 to 1, got 2");
  EXPECT_EQ(error_of(2, [](Communicator& c) { c.broadcast(-1, {}); }),
            "broadcast: the root must be 0 to 1, got -1");
  EXPECT_EQ(error_of(0, [](Communicator&) {}), "run_ranks: the number of ranks must be 1 to 1024, got 0");
}

TEST(Communicator, AProcessWithoutLauncherIsAlone) {
  EXPECT_EQ(world().rank(), 0);
  EXPECT_EQ(world().size(), 1);
  world().barrier();
  std::vector<float> x = {1, 2};
  all_reduce(world(), x);
  EXPECT_EQ(x, (std::vector<float>{1, 2}));
}

// The sum of x[begin, end) as the tree of collectives.h, for a power of two.
float tree_sum(const std::vector<float>& x, size_t begin, size_t end) {
  if (end - begin == 1) return x[begin];
  const size_t middle = begin + (end - begin) / 2;
  return tree_sum(x, begin, middle) + tree_sum(x, middle, end);
}

// Numbers of very different sizes, so that another order of the sum gives other bits.
float number(int worker, int64_t i) {
  return static_cast<float>(std::sin(static_cast<double>(worker * 1013 + i)) *
                            std::pow(10.0, (worker * 5 + i) % 7));
}

TEST(Collectives, TheSumOfEightWorkersHasTheSameBitsOnOneToEightRanks) {
  constexpr int workers = 8;
  for (const int64_t n : {0, 1, 3, 8, 1000}) {
    std::vector<float> expected;
    for (int64_t i = 0; i < n; ++i) {
      std::vector<float> terms;
      for (int w = 0; w < workers; ++w) terms.push_back(number(w, i));
      expected.push_back(tree_sum(terms, 0, workers));
    }
    for (const int ranks : {1, 2, 4, 8})
      run_ranks(ranks, [&](Communicator& c) {
        const int own = workers / ranks;
        std::vector<std::vector<float>> x(static_cast<size_t>(own));
        for (int w = 0; w < own; ++w)
          for (int64_t i = 0; i < n; ++i) x[static_cast<size_t>(w)].push_back(number(c.rank() * own + w, i));
        add_in_tree(own, [&](int to, int from) {
          for (size_t i = 0; i < x[0].size(); ++i) x[static_cast<size_t>(to)][i] += x[static_cast<size_t>(from)][i];
        });
        all_reduce(c, x[0]);
        EXPECT_TRUE(x[0] == expected) << ranks << " ranks, " << n << " numbers";
      });
  }
}

TEST(Collectives, SumsOfAnyNumberOfRanksAreTheSameEverywhere) {
  for (const int ranks : {1, 2, 3, 5, 6, 7})
    for (const int64_t n : {2, 7, 100})
      run_ranks(ranks, [&](Communicator& c) {
        std::vector<float> x(static_cast<size_t>(n));
        for (int64_t i = 0; i < n; ++i) x[static_cast<size_t>(i)] = static_cast<float>(c.rank() * 100 + i);
        all_reduce(c, x);
        for (int64_t i = 0; i < n; ++i)
          EXPECT_EQ(x[static_cast<size_t>(i)], static_cast<float>(ranks * (ranks - 1) * 50 + ranks * i));
        // Each half sends n (N - 1) / N numbers, up to the rounding of the shards.
        EXPECT_NEAR(static_cast<double>(c.bytes_sent()), 8.0 * static_cast<double>(n * (ranks - 1)) / ranks,
                    8.0 * ranks);
      });
}

TEST(Collectives, ShardsOfAnyLengthsAreSummedAndGathered) {
  const std::vector<Shard> shards = {{0, 5}, {5, 5}, {5, 6}};
  run_ranks(3, [&](Communicator& c) {
    std::vector<float> x(6, static_cast<float>(c.rank() + 1));
    reduce_scatter(c, x, shards);
    all_gather(c, x, shards);
    EXPECT_EQ(x, std::vector<float>(6, 6)) << c.rank();
    EXPECT_THROW(all_gather(c, x, std::vector<Shard>{{0, 6}}), Error);
  });
}

TEST(Collectives, ALongSumIsTakenInParts) {
  constexpr int64_t n = 5'000'001;
  run_ranks(2, [&](Communicator& c) {
    std::vector<float> x(n, static_cast<float>(c.rank() + 1));
    x.back() = 10;
    reduce_scatter(c, x);
    const Shard own = shard_of(n, c.rank(), 2);
    for (int64_t i = 0; i < n; ++i) {
      const bool mine = own.begin <= i && i < own.end;
      const float before = i == n - 1 ? 10 : static_cast<float>(c.rank() + 1), sum = i == n - 1 ? 20 : 3;
      ASSERT_EQ(x[static_cast<size_t>(i)], mine ? sum : before) << i;
    }
  });
}

TEST(Collectives, ShardsCoverEverythingOnce) {
  for (const int size : {1, 2, 3, 7})
    for (const int64_t n : {0, 1, 5, 7, 20}) {
      int64_t end = 0;
      for (int rank = 0; rank < size; ++rank) {
        const Shard p = shard_of(n, rank, size);
        EXPECT_EQ(p.begin, end);
        EXPECT_LE(p.size() - n / size, 1);
        end = p.end;
      }
      EXPECT_EQ(end, n);
    }
}

TEST(Collectives, BytesOfDifferentLengthsAreGathered) {
  run_ranks(3, [](Communicator& c) {
    const std::string mine(static_cast<size_t>(c.rank() * 2), static_cast<char>('a' + c.rank()));
    std::vector<std::string> all;
    for (const auto& bytes : all_gather_bytes(c, bytes_of(mine)))
      all.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    EXPECT_EQ(all, (std::vector<std::string>{"", "bb", "cccc"}));
    EXPECT_EQ(all_gather_number(c, c.rank() * c.rank()), (std::vector<int64_t>{0, 1, 4}));
  });
}

}  // namespace qkv::communicator_test
