#include "qkv/model/causal.h"

#include <cmath>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/random.h"
#include "qkv/layer/layer_test.h"

namespace qkv::causal_test {

using namespace test;
using Ids = std::vector<int32_t>;

constexpr int64_t vocabulary = 11;

TransformerConfig small() {
  TransformerConfig c;
  c.architecture = Architecture::causal;
  c.source_vocabulary = c.target_vocabulary = vocabulary;
  c.d_model = 16, c.heads = 4, c.kv_heads = 2, c.ffn = 24, c.decoder_layers = 2;
  c.max_positions = 40;
  return c;
}

TransformerConfig llama() {
  TransformerConfig c = small();
  c.positions = Positions::rotary, c.norm_kind = NormKind::rms, c.activation = Activation::silu;
  c.gated_ffn = true, c.attention_bias = c.ffn_bias = false, c.tie = Tie::none;
  return c;
}

CausalTransformer random_model(const TransformerConfig& config) {
  CausalTransformer model(config, 1);
  randomise(model, 1);
  return model;
}

Ids random_ids(size_t length, uint64_t stream) {
  Random random(5, stream);
  Ids ids(length);
  for (int32_t& id : ids) id = static_cast<int32_t>(random.below(vocabulary));
  return ids;
}

// The logits after every token.
Tensor whole(const CausalTransformer& model, const Ids& ids) {
  Pass pass;
  return model.logits(model.forward(Tensor::from(ids, {1, static_cast<int64_t>(ids.size())}), pass)).value();
}

TEST(CausalTransformer, PromptsOfUnequalLengthContinueAsTheWholePass) {
  const NoGrad guard;
  for (const TransformerConfig& config : {small(), llama()}) {
    const CausalTransformer model = random_model(config);
    const std::unique_ptr<Decoding> rows = model.start(4);
    std::vector<Ids> all = {random_ids(3, 1), random_ids(7, 2), random_ids(3, 3), random_ids(1, 4)};
    Pass pass;
    Tensor logits = rows->extend(all, pass);
    for (int step = 0; step < 12; ++step) {
      for (size_t r = 0; r < all.size(); ++r) {
        const auto last = static_cast<int64_t>(all[r].size()) - 1;
        EXPECT_LT(largest_difference(logits.slice(0, static_cast<int64_t>(r), static_cast<int64_t>(r) + 1),
                                     whole(model, all[r]).slice(1, last, last + 1).reshape({1, vocabulary})),
                  2e-5)
            << "step " << step << " row " << r;
      }
      if (step == 5) {
        rows->reorder(std::vector<int64_t>{3, 1, 1});
        all = {all[3], all[1], all[1]};
        rows->join(*model.start(1));
        all.push_back({});
      }
      std::vector<Ids> next;
      for (size_t r = 0; r < all.size(); ++r) {
        next.push_back(random_ids(all[r].empty() ? 6 : 1, 100 + r + 10 * static_cast<uint64_t>(step)));
        all[r].insert(all[r].end(), next[r].begin(), next[r].end());
      }
      logits = rows->extend(next, pass);
    }
  }
}

// A document in a row with another one gives the same results as alone, with its own positions or with relative ones.
TEST(CausalTransformer, DocumentsOfARowDoNotSeeEachOther) {
  const NoGrad guard;
  const Ids a = random_ids(5, 1), b = random_ids(7, 2);
  Ids both = a, numbers(12, 0), positions(12);
  both.insert(both.end(), b.begin(), b.end());
  std::fill(numbers.begin() + 5, numbers.end(), 1);
  for (int32_t i = 0; i < 12; ++i) positions[static_cast<size_t>(i)] = i < 5 ? i : i - 5;
  const Tensor documents = Tensor::from(numbers, {1, 12});
  const auto expect_equal = [&](const TransformerConfig& config, const Packing& packing) {
    const CausalTransformer model = random_model(config);
    Pass pass;
    const Tensor y = model.logits(model.forward(Tensor::from(both, {1, 12}), pass, packing)).value();
    EXPECT_LT(largest_difference(y.slice(1, 0, 5), whole(model, a)), 1e-5);
    EXPECT_LT(largest_difference(y.slice(1, 5, 12), whole(model, b)), 1e-5);
  };
  expect_equal(llama(), {.documents = documents});
  TransformerConfig learned = small();
  learned.positions = Positions::learned;
  for (const TransformerConfig& config : {llama(), small(), learned})
    expect_equal(config, {.documents = documents, .positions = Tensor::from(positions, {1, 12})});
}

TEST(CausalTransformer, GradientsReachEveryParameter) {
  CausalTransformer model = random_model(llama());
  Pass pass;
  model.loss(Tensor::from(random_ids(30, 1), {3, 10}), Tensor::from(random_ids(30, 2), {3, 10}), {}, pass)
      .loss.backward();
  std::vector<std::string> names;
  model.visit("", [&](const std::string& name, Variable& p) {
    names.push_back(name);
    ASSERT_TRUE(p.grad().defined()) << name;
    EXPECT_GT(largest_difference(p.grad(), Tensor::zeros(p.shape())), 1e-5) << name;
  });
  EXPECT_EQ(names[0], "embedding.tokens");
  EXPECT_EQ(names[1], "output");
  EXPECT_EQ(names[2], "layers.0.self_attention.query.weight");
  EXPECT_EQ(names.back(), "norm.weight");
}

TEST(CausalTransformer, ErrorsSayWhatIsWrong) {
  TransformerConfig c = small();
  c.architecture = Architecture::masked;
  EXPECT_THROW(CausalTransformer{c}, UsageError);
  c = small();
  c.source_vocabulary = 12;
  EXPECT_THROW(CausalTransformer{c}, UsageError) << "two vocabularies";
  const CausalTransformer model(small(), 1);
  Pass pass;
  EXPECT_THROW(model.forward(Tensor::zeros({2, 3}), pass), Error) << "not ids";
  const Tensor ids = Tensor::zeros({2, 41}, DType::i32);
  EXPECT_THROW(model.forward(ids, pass), Error) << "more than 40 positions";
  EXPECT_THROW(model.forward(ids, pass, {.positions = Tensor::full({2, 41}, 40)}), Error) << "position 40";
}

}  // namespace qkv::causal_test
