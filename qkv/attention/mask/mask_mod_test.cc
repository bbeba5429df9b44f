#include "qkv/attention/mask/mask_mod.h"

#include <atomic>
#include <thread>

#include "qkv/attention/attention.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/window.h"
#include "qkv/test_support/check_mask.h"
#include "qkv/test_support/gradient_check.h"

namespace qkv::mask_mod_test {

using namespace test;

// A fixed random number for each pair.
uint64_t hash(int64_t b, int64_t h, int64_t i, int64_t j) {
  return mix(mix(static_cast<uint64_t>(b), static_cast<uint64_t>(h)),
             mix(static_cast<uint64_t>(i), static_cast<uint64_t>(j)));
}

TEST(MaskMod, EqualsItsRule) {
  const VisibleRule scattered = [](int64_t b, int64_t h, int64_t i, int64_t j) {
    return hash(b, h, i, j) % 3 == 0;
  };
  const VisibleRule stripes = [](auto, auto, int64_t i, int64_t j) {
    return (i + j) / 90 % 2 == 0;
  };  // some blocks are fully visible
  const VisibleRule nothing = [](auto, auto, auto, auto) { return false; };
  const VisibleRule late = [](int64_t b, auto, int64_t i, int64_t j) { return j > i + 40 * b; };
  for (const AttentionShape& n : mask_shapes())
    for (const VisibleRule& sees : {scattered, stripes, nothing, late}) {
      check_mask(mask_mod(sees), n, sees);
      expect_exact_keys(mask_mod(sees), n, sees);
      check_mask(mask_mod(sees) & causal(), n,
                 [&](auto b, auto h, auto i, auto j) { return sees(b, h, i, j) && j <= n.position(i); });
    }
}

TEST(MaskMod, IsEvaluatedOnlyOnTheAxesItDependsOn) {
  const AttentionShape n{.B = 3, .H = 2, .G = 1, .T = 70, .S = 130, .D = 4, .E = 4};
  for (const bool per_batch : {false, true})
    for (const bool per_head : {false, true}) {
      std::atomic<int64_t> evaluations = 0;
      const auto rule = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
        ++evaluations;
        return (i * (b + 2) + j * (h + 3)) % 5 != 0;
      };
      const MaskPtr mask = mask_mod(rule, {.per_batch = per_batch, .per_head = per_head});
      mask->check(n);
      EXPECT_EQ(evaluations, (per_batch ? 3 : 1) * (per_head ? 2 : 1) * 70 * 130);
      check_mask(mask, n, [&](int64_t b, int64_t h, int64_t i, int64_t j) {
        return (i * ((per_batch ? b : 0) + 2) + j * ((per_head ? h : 0) + 3)) % 5 != 0;
      });
    }
}

TEST(MaskMod, IsEvaluatedOncePerShape) {
  std::atomic<int64_t> evaluations = 0;
  const MaskPtr mask = mask_mod(
      [&](auto, auto, int64_t i, int64_t j) {
        ++evaluations;
        return j != i;
      },
      {.per_batch = false, .per_head = false});
  const auto call = [&](int64_t B, int64_t T) {
    const Variable x(random_tensor({B, 2, T, 4}, 1), {.requires_grad = true});
    attention(x, x, x, {.mask = mask}).backward(random_tensor({B, 2, T, 4}, 2));
    return evaluations.exchange(0);
  };
  EXPECT_EQ(call(1, 100), 100 * 100);
  EXPECT_EQ(call(1, 100), 0);
  EXPECT_EQ(call(3, 100), 0) << "the batch size does not matter";
  EXPECT_EQ(call(1, 130), 130 * 130);
  EXPECT_EQ(call(1, 100), 0) << "the previous shape is kept";
  for (const int64_t T : {10, 20, 30, 40}) call(1, T);
  EXPECT_EQ(call(1, 100), 100 * 100) << "but not forever";
}

TEST(MaskMod, MayBeUsedByConcurrentCalls) {
  const MaskPtr mask = mask_mod([](auto, auto, int64_t i, int64_t j) { return (i + 2 * j) % 3 == 0; });
  const auto call = [&](int64_t T) {
    const Tensor x = random_tensor({1, 1, T, 4}, static_cast<uint64_t>(T));
    return attention(x, x, x, {.mask = mask});
  };
  std::vector<Tensor> wanted;
  for (int64_t T = 60; T < 72; ++T) wanted.push_back(call(T));
  std::vector<std::thread> callers;
  std::atomic<int> wrong = 0;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&, caller] {
      for (int64_t n = 0; n < 36; ++n) {
        const int64_t T = 60 + (n * 5 + caller) % 12;
        if (!same_bits(call(T), wanted[T - 60])) ++wrong;
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(MaskMod, HasAName) {
  EXPECT_EQ((mask_mod([](auto, auto, auto, auto) { return true; }, {.name = "everything"}) & causal())->name(),
            "everything & causal()");
  EXPECT_EQ(mask_mod([](auto, auto, auto, auto) { return true; })->name(), "mask_mod(rule)");
}

// A mask class: every query sees the keys of its own chunk. It classifies tiles without a block map.
class Chunks final : public Mask {
 public:
  explicit Chunks(int64_t length) : length_(length) {}

  KeyRange key_range(const QueryBlock& block) const override {
    return {chunk(block, block.query) * length_,
            std::min((chunk(block, block.query + block.queries - 1) + 1) * length_, block.shape->S)};
  }
  Visibility classify(const Tile& tile) const override {
    const int64_t first = chunk(tile, tile.query), last = chunk(tile, tile.query + tile.queries - 1);
    const int64_t first_key = tile.key / length_, last_key = (tile.key + tile.keys - 1) / length_;
    if (last_key < first || last < first_key) return Visibility::masked;
    return first == last && first_key == first && last_key == first ? Visibility::visible : Visibility::partial;
  }
  void fill(const Tile& tile, uint64_t* visible) const override {
    for (int64_t j = 0; j < tile.keys; ++j) {
      const int64_t first = (tile.key + j) / length_ * length_ - tile.shape->position(tile.query);
      visible[j] = first_queries(first + length_) & ~first_queries(first);
    }
  }
  std::string name() const override { return fmt::format("chunks({})", length_); }

 private:
  int64_t chunk(const QueryBlock& block, int64_t query) const { return block.shape->position(query) / length_; }

  int64_t length_;
};

TEST(CustomMask, WorksLikeTheOthers) {
  const MaskPtr chunks = std::make_shared<Chunks>(30);
  for (const auto& [T, S] : {std::pair<int64_t, int64_t>{200, 200}, {70, 260}, {1, 31}}) {
    const AttentionShape n{.B = 1, .H = 2, .G = 1, .T = T, .S = S, .D = 4, .E = 4};
    const VisibleRule sees = [&n](auto, auto, int64_t i, int64_t j) { return n.position(i) / 30 == j / 30; };
    check_mask(chunks, n, sees);
    check_mask(chunks & causal() & !window(3, 0), n,
               [&](auto b, auto h, int64_t i, int64_t j) { return sees(b, h, i, j) && j < n.position(i) - 3; });
    const Tensor q = random_tensor({1, 2, T, 4}, 1), k = random_tensor({1, 1, S, 4}, 2);
    EXPECT_TRUE(same_bits(attention(q, k, k, {.mask = chunks}),
                          attention(q, k, k, {.mask = mask_mod(sees, {.per_batch = false, .per_head = false})})));
  }
  EXPECT_EQ((chunks | causal())->name(), "(chunks(30) | causal())");
}

}  // namespace qkv::mask_mod_test
