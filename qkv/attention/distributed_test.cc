// What random calls (test/attention_random_test/distributed.cc) do not show: what is sent, and errors.
#include "qkv/attention/distributed.h"

#include <mutex>
#include <numeric>

#include <gtest/gtest.h>

#include "qkv/attention/attention.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/documents.h"
#include "qkv/attention/mask/window.h"
#include "qkv/attention/normalize/softmax.h"
#include "qkv/attention/score/location.h"
#include "qkv/base/error.h"
#include "qkv/base/run_ranks.h"
#include "qkv/test_support/check_attention.h"

namespace qkv::distributed_test {

using namespace test;

constexpr int64_t B = 1, H = 4, G = 2, T = 1024, D = 6, E = 4;
constexpr int ranks = 4;
constexpr int64_t key_bytes = B * G * (D + E) * 4;  // of a key and its value

struct Sent {
  DistributedPlan plan;
  int64_t forward = 0, backward = 0;  // by all ranks, without what the preparation sends
};

// Checks the result, and counts what is sent.
Sent run(const SequenceLayout& layout, const AttentionOptions& options,
         Distribution distribution = Distribution::ring) {
  const Tensor q = random_tensor({B, H, T, D}, 1), k = random_tensor({B, G, T, D}, 2),
               v = random_tensor({B, G, T, E}, 3), dout = random_tensor({B, H, T, E}, 4);
  const Variable whole_k(k, {.requires_grad = true});
  const Variable whole = attention(Variable(q), whole_k, Variable(v), options);
  whole.backward(dout);
  Tensor out = Tensor::zeros(whole.shape()), dk = Tensor::zeros(k.shape());
  Sent sent;
  std::mutex mutex;
  run_ranks(ranks, [&](Communicator& c) {
    const auto mine = [&](const Tensor& x) {
      return Variable(layout.rows_of(x, 2, c.rank()), {.requires_grad = true});
    };
    const Variable mine_q = mine(q), mine_k = mine(k), mine_v = mine(v);
    const DistributedSequence sequence = {c, layout, layout, distribution};
    const DistributedPlan plan = distributed_plan(mine_q, mine_k, mine_v, sequence, options);
    const int64_t preparation = c.bytes_sent();
    const Variable y = distributed_attention(mine_q, mine_k, mine_v, sequence, options);
    const int64_t forward = c.bytes_sent();
    y.backward(layout.rows_of(dout, 2, c.rank()));
    const std::lock_guard lock(mutex);
    sent.plan = plan;
    sent.forward += forward - 2 * preparation;
    sent.backward += c.bytes_sent() - forward;
    layout.put_rows(y.value(), 2, c.rank(), out);
    layout.put_rows(mine_k.grad(), 2, c.rank(), dk);
  });
  EXPECT_LT(largest_difference(out, whole.value()), 1e-6);
  EXPECT_LT(largest_difference(dk, whole_k.grad()), 2e-6);
  return sent;
}

// In the backward keys and values travel again, and two gradients in f32 back.
void expect_keys(const Sent& sent, int64_t keys) {
  EXPECT_EQ(sent.forward, keys * key_bytes);
  EXPECT_EQ(sent.backward, 2 * keys * key_bytes);
  EXPECT_EQ(sent.plan.ring_forward, sent.forward);
  EXPECT_EQ(sent.plan.ring_backward, sent.backward);
}

TEST(DistributedAttention, SendsAllKeysToAllRanksWithoutAMask) {
  expect_keys(run(contiguous_layout(T, ranks), {}), (ranks - 1) * T);
}

TEST(DistributedAttention, SendsAWindowWhatItReachesOverTheBorder) {
  expect_keys(run(contiguous_layout(T, ranks), {.mask = window(100, 0)}), (ranks - 1) * 100);
  expect_keys(run(contiguous_layout(T, ranks), {.mask = window(5, 3)}), (ranks - 1) * (5 + 3));
  expect_keys(run(contiguous_layout(T, ranks), {.mask = window(300, 0)}), 256 + 300 + 300);  // over a whole block
}

TEST(DistributedAttention, SendsDocumentsOnlyTheirOwnKeys) {
  const auto ids = [](const std::vector<int64_t>& lengths) {
    std::vector<int32_t> of_tokens;
    for (size_t n = 0; n < lengths.size(); ++n)
      of_tokens.insert(of_tokens.end(), static_cast<size_t>(lengths[n]), static_cast<int32_t>(n));
    return documents(Tensor::from(of_tokens, {1, T}));
  };
  expect_keys(run(contiguous_layout(T, ranks), {.mask = ids({256, 256, 200, 56, 256})}), 0);
  // The second document has 10 tokens of rank 0 and 20 of rank 1.
  expect_keys(run(contiguous_layout(T, ranks), {.mask = ids({246, 30, 236, 512})}), 30 + 2 * 256);
  expect_keys(run(contiguous_layout(T, ranks), {.mask = causal() & ids({246, 30, 236, 256, 256})}), 10);
}

TEST(DistributedAttention, SendsACausalMaskEarlierKeys) {
  expect_keys(run(contiguous_layout(T, ranks), {.mask = causal()}), 256 * (1 + 2 + 3));
  // Of 8 blocks: rank r sees all up to 7 - r, of which it has two.
  expect_keys(run(zigzag_layout(T, ranks), {.mask = causal()}), 128 * (6 + 5 + 4 + 3));
}

TEST(DistributedAttention, SpreadsHeadsAsThePlanSays) {
  const SequenceLayout halves({{0, 512, 0}, {512, T, 1}});
  const Tensor x = random_tensor({B, H, T, D}, 1), y = random_tensor({B, G, T, D}, 2);
  int64_t sent = 0;
  std::mutex mutex;
  run_ranks(2, [&](Communicator& c) {
    const auto mine = [&](const Tensor& t) { return halves.rows_of(t, 2, c.rank()); };
    const DistributedSequence sequence = {c, halves, halves, Distribution::heads};
    const DistributedPlan plan = distributed_plan(mine(x), mine(y), mine(y), sequence);
    const int64_t preparation = c.bytes_sent();
    distributed_attention(mine(x), mine(y), mine(y), sequence);
    EXPECT_EQ(plan.heads_forward, 2 * (H + G) * T * D * 4 / 2);
    const std::lock_guard lock(mutex);
    sent += c.bytes_sent() - 2 * preparation;
    EXPECT_EQ(plan.chosen, Distribution::heads);
  });
  EXPECT_EQ(sent, 2 * (H + G) * T * D * 4 / 2);
}

TEST(DistributedAttention, TakesWhatSendsFewerBytes) {
  // For each token the ring sends 2 G D (N - 1) numbers, heads 2 (H + G) D (N - 1) / N.
  const auto chosen = [](int n, int64_t heads, int64_t kv_heads, const AttentionOptions& options) {
    Distribution result = Distribution::automatic;
    run_ranks(n, [&](Communicator& c) {
      const SequenceLayout layout = contiguous_layout(1200, n);
      const Tensor q = Tensor::zeros({1, heads, 1200 / n, 8}), k = Tensor::zeros({1, kv_heads, 1200 / n, 8});
      const DistributedPlan plan = distributed_plan(q, k, k, {c, layout, layout}, options);
      EXPECT_NE(plan.text().find("bytes in the forward"), std::string::npos);
      if (c.rank() == 0) result = plan.chosen;
    });
    return result;
  };
  EXPECT_EQ(chosen(4, 4, 4, {}), Distribution::heads);
  EXPECT_EQ(chosen(4, 16, 4, {}), Distribution::ring);  // 20 / 4 heads are more than 4
  EXPECT_EQ(chosen(4, 4, 4, {.mask = window(3, 0)}), Distribution::ring);
  EXPECT_EQ(chosen(3, 4, 4, {}), Distribution::ring);  // 3 ranks do not divide 4 heads
}

TEST(DistributedAttention, CountsASinkOnce) {
  const Tensor sink = random_tensor({H}, 9);
  const auto gradient_of_sink = [&](int n) {
    Tensor sum = Tensor::zeros({H});
    std::mutex mutex;
    run_ranks(n, [&](Communicator& c) {
      const Variable mine(sink.clone(), {.requires_grad = true});
      const SequenceLayout layout = zigzag_layout(T, n);
      const Variable q(layout.rows_of(random_tensor({B, H, T, D}, 1), 2, c.rank())),
          k(layout.rows_of(random_tensor({B, G, T, D}, 2), 2, c.rank()));
      distributed_attention(q, k, k, {c, layout, layout, Distribution::ring},
                            {.mask = window(300, 0), .normalize = softmax_with_sink(mine)})
          .backward(layout.rows_of(random_tensor({B, H, T, D}, 4), 2, c.rank()));
      const std::lock_guard lock(mutex);
      for (int64_t h = 0; h < H; ++h) sum.data<float>()[h] += mine.grad().data<float>()[h];
    });
    return sum;
  };
  EXPECT_LT(largest_difference(gradient_of_sink(4), gradient_of_sink(1)), 2e-5);
}

TEST(DistributedAttention, HasTheBitsOfOneProcessOnOneRank) {
  const Tensor q = random_tensor({2, H, 200, D}, 1), k = random_tensor({2, G, 300, D}, 2);
  const SequenceLayout queries = contiguous_layout(200, 1), keys = contiguous_layout(300, 1);
  run_ranks(1, [&](Communicator& c) {
    const Tensor y = distributed_attention(q, k, k, {c, queries, keys}, {.mask = causal()});
    EXPECT_TRUE(same_bits(y, attention(q, k, k, {.mask = causal()})));
    EXPECT_EQ(c.bytes_sent(), 0);
  });
}

// Blocks of more queries than are computed together.
TEST(DistributedAttention, IsTheSameForLongBlocks) {
  const int64_t long_T = 9001;
  const Tensor q = random_tensor({1, 2, long_T, 4}, 1), k = random_tensor({1, 1, long_T, 4}, 2),
               dout = random_tensor({1, 2, long_T, 4}, 3);
  const AttentionOptions options = {.mask = window(700, 40)};
  const auto leaf = [](const Tensor& x) { return Variable(x, {.requires_grad = true}); };
  const Variable whole_q = leaf(q), whole_k = leaf(k), whole = attention(whole_q, whole_k, whole_k, options);
  whole.backward(dout);
  const SequenceLayout layout = zigzag_layout(long_T, 2);
  run_ranks(2, [&](Communicator& c) {
    const auto rows = [&](const Tensor& x) { return layout.rows_of(x, 2, c.rank()); };
    const Variable mine_q = leaf(rows(q)), mine_k = leaf(rows(k));
    const Variable y = distributed_attention(mine_q, mine_k, mine_k, {c, layout, layout}, options);
    y.backward(rows(dout));
    EXPECT_LT(largest_difference(y.value(), rows(whole.value())), 1e-6);
    EXPECT_LT(largest_difference(mine_q.grad(), rows(whole_q.grad())), 2e-6);
    EXPECT_LT(largest_difference(mine_k.grad(), rows(whole_k.grad())), 4e-6);
  });
}

TEST(DistributedAttention, RefusesWhatItCannotSpread) {
  const auto error = [](int n, const Shape& q, Distribution distribution, const AttentionOptions& options) {
    return error_of([&] {
      run_ranks(n, [&](Communicator& c) {
        const SequenceLayout layout = contiguous_layout(8, n);
        distributed_attention(Tensor::zeros(q), Tensor::zeros(q), Tensor::zeros(q),
                              {c, layout, layout, distribution}, options);
      });
    });
  };
  EXPECT_EQ(
      error(2, {1, 2, 4, 6}, Distribution::ring, {.score = location(Tensor::zeros({8, 6}))}),
      "distributed_attention: location(w) depends on the positions of keys, which other ranks have: take another "
      "score");
  EXPECT_EQ(error(2, {1, 3, 4, 6}, Distribution::heads, {}),
            "distributed_attention: heads cannot be spread: 2 ranks do not divide G 3 key/value heads");
  EXPECT_EQ(error(1, {1, 2, 4, 6}, Distribution::ring, {}),
            "distributed_attention: rank 0 must have 8 queries, q is (B 1, H 2, T 4, D 6)");
  EXPECT_EQ(error_of([&] {
              run_ranks(1, [&](Communicator& c) {
                const SequenceLayout layout = contiguous_layout(8, 2);
                const Tensor x = Tensor::zeros({1, 1, 4, 2});
                distributed_attention(x, x, x, {c, layout, layout});
              });
            }),
            "distributed_attention: the layout gives [4, 8) to rank 1 of 1");
}

TEST(DistributedAttention, RefusesRanksThatDiffer) {
  const std::string error = error_of([&] {
    run_ranks(2, [&](Communicator& c) {
      const SequenceLayout layout = contiguous_layout(8, 2);
      const Tensor x = Tensor::zeros({1, c.rank() + 1, 4, 2});
      distributed_attention(x, x, x, {c, layout, layout});
    });
  });
  EXPECT_NE(error.find("all ranks must make the same call, with the same layouts: rank"), std::string::npos)
      << error;
}

}  // namespace qkv::distributed_test
