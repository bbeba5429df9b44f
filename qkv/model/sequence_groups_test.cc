#include "qkv/model/sequence_groups.h"

#include <gtest/gtest.h>

#include "qkv/autograd/variable.h"
#include "qkv/base/error.h"
#include "qkv/base/random.h"
#include "qkv/base/threads.h"
#include "qkv/layer/layer_test.h"
#include "qkv/model/causal.h"
#include "qkv/model/transformer.h"

namespace qkv::sequence_groups_test {

using namespace test;

std::vector<int32_t> lengths_of(int64_t count, int32_t length) {
  return std::vector<int32_t>(static_cast<size_t>(count), length);
}

TransformerConfig small(Architecture architecture) {
  TransformerConfig c;
  c.architecture = architecture;
  c.source_vocabulary = c.target_vocabulary = 30;
  c.d_model = 32, c.heads = 4, c.ffn = 48, c.encoder_layers = 2, c.decoder_layers = 2;
  return c;
}

TEST(SequenceGroups, AreTheSequencesInOrderInEqualShares) {
  Random random(3, 1);
  std::vector<int32_t> lengths;
  for (int i = 0; i < 200; ++i) lengths.push_back(static_cast<int32_t>(1 + random.below(60)));
  const std::vector<SequenceGroup> groups = sequence_groups(lengths, 4);
  ASSERT_GE(groups.size(), 4u);
  int64_t end = 0;
  for (const SequenceGroup& g : groups) {
    EXPECT_EQ(g.begin, end);
    EXPECT_LT(g.begin, g.end);
    int64_t tokens = 0;
    int32_t longest = 0;
    for (end = g.begin; end < g.end; ++end) {
      tokens += lengths[static_cast<size_t>(end)];
      longest = std::max(longest, lengths[static_cast<size_t>(end)]);
    }
    EXPECT_EQ(g.longest, longest);
    EXPECT_NEAR(static_cast<double>(tokens), 300, 150);
  }
  EXPECT_EQ(end, 200);
}

TEST(SequenceGroups, AreAsManyAsThreadsAtLeast) {
  EXPECT_EQ(sequence_groups(lengths_of(16, 128), 2).size(), 8u);
  EXPECT_EQ(sequence_groups(lengths_of(16, 128), 16).size(), 16u);
  EXPECT_EQ(sequence_groups(lengths_of(2, 500), 2).size(), 2u);
}

TEST(SequenceGroups, AreNoneWhereThreadsWouldWait) {
  EXPECT_TRUE(sequence_groups(lengths_of(16, 128), 1).empty());
  EXPECT_TRUE(sequence_groups(lengths_of(1, 500), 2).empty());
  EXPECT_TRUE(sequence_groups(lengths_of(3, 500), 2).empty());                 // one thread would have two of three
  EXPECT_TRUE(sequence_groups(lengths_of(20, 10), 2).empty());                 // 100 tokens for each
  EXPECT_TRUE(sequence_groups(std::vector<int32_t>{500, 20, 20}, 2).empty());  // one is most of them
  EXPECT_TRUE(sequence_groups(std::vector<int32_t>{0, 0, 0, 0}, 2).empty());
}

TEST(SequenceGroups, GiveEachSequenceTheBitsThatItHasAlone) {
  const NoGrad guard;
  const int before = threads();
  const Transformer model(small(Architecture::encoder_decoder), 3);
  Random random(3, 2);
  std::vector<int32_t> lengths;
  for (int i = 0; i < 60; ++i) lengths.push_back(static_cast<int32_t>(1 + random.below(17)));
  lengths[7] = 0;
  ASSERT_FALSE(sequence_groups(lengths, 2).empty());
  Tensor source = Tensor::empty({60, 20}, DType::i32);
  for (int32_t& id : source.span<int32_t>()) id = static_cast<int32_t>(random.below(30));
  Pass pass;
  set_threads(2);
  const Tensor together = model.encode(source, lengths, pass).memory.value();
  AttentionLog log;
  Pass whole{.log = &log};  // weights are recorded of whole batches
  const Tensor recorded = model.encode(source, lengths, whole).memory.value();
  set_threads(before);
  EXPECT_EQ(together.shape(), Shape({60, 20, 32}));
  EXPECT_EQ(log.weights(AttentionUse::encoder, 1).dim(0), 60);
  for (int64_t b = 0; b < 60; ++b) {
    const int64_t length = lengths[static_cast<size_t>(b)];
    const auto tokens = [&](const Tensor& t) { return t.slice(0, b, b + 1).slice(1, 0, length).contiguous_copy(); };
    EXPECT_TRUE(same_bits(tokens(together), tokens(recorded))) << b;
    if (length < 2) continue;
    EXPECT_TRUE(same_bits(tokens(together),
                          model.encode(tokens(source), {static_cast<int32_t>(length)}, pass).memory.value()))
        << b;
    for (const float x : together.slice(0, b, b + 1).span<float>()) ASSERT_TRUE(std::isfinite(x));
  }
}

TEST(SequenceGroups, LeaveErrorsAsTheyAre) {
  const NoGrad guard;
  const int before = threads();
  const Transformer model(small(Architecture::encoder_decoder), 3);
  Pass pass;
  const auto message = [&](int threads, const Tensor& ids, const std::vector<int32_t>& lengths) -> std::string {
    set_threads(threads);
    try {
      model.encode(ids, lengths, pass);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  Tensor ids = Tensor::zeros({40, 16}, DType::i32);
  std::vector<int32_t> too_long = lengths_of(40, 16);
  too_long[33] = 17;
  for (const std::vector<int32_t>& lengths : {lengths_of(39, 16), too_long}) {
    EXPECT_NE(message(1, ids, lengths), "");
    EXPECT_EQ(message(2, ids, lengths), message(1, ids, lengths));
  }
  ids.data<int32_t>()[500] = 30;
  EXPECT_NE(message(1, ids, lengths_of(40, 16)), "");
  EXPECT_EQ(message(2, ids, lengths_of(40, 16)), message(1, ids, lengths_of(40, 16)));
  set_threads(before);
}

TEST(SequenceGroups, GiveCausalSequencesTheBitsThatTheyHaveAlone) {
  const NoGrad guard;
  const int before = threads();
  const CausalTransformer model(small(Architecture::causal), 3);
  Random random(3, 4);
  Tensor ids = Tensor::empty({24, 16}, DType::i32);
  for (int32_t& id : ids.span<int32_t>()) id = static_cast<int32_t>(random.below(30));
  ASSERT_FALSE(sequence_groups(lengths_of(24, 16), 2).empty());
  Pass pass;
  set_threads(2);
  const Tensor together = model.forward(ids, pass).value();
  set_threads(before);
  for (int64_t b = 0; b < 24; ++b)
    EXPECT_TRUE(same_bits(together.slice(0, b, b + 1).contiguous_copy(),
                          model.forward(ids.slice(0, b, b + 1).contiguous_copy(), pass).value()))
        << b;
}

}  // namespace qkv::sequence_groups_test
