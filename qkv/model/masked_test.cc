#include "qkv/model/masked.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/random.h"
#include "qkv/layer/layer_test.h"

namespace qkv::masked_test {

using namespace test;
using Ids = std::vector<int32_t>;

constexpr int64_t vocabulary = 11;

TransformerConfig small() {
  TransformerConfig c;
  c.architecture = Architecture::masked;
  c.source_vocabulary = c.target_vocabulary = vocabulary;
  c.d_model = 16, c.heads = 4, c.ffn = 24, c.encoder_layers = 2;
  c.norm_order = NormOrder::post, c.activation = Activation::gelu, c.positions = Positions::learned;
  c.max_positions = 40;
  return c;
}

Tensor random_ids(const Shape& shape, uint64_t stream) {
  Random random(5, stream);
  Tensor ids = Tensor::empty(shape, DType::i32);
  for (int32_t& id : ids.span<int32_t>()) id = static_cast<int32_t>(random.below(vocabulary));
  return ids;
}

TEST(MaskedTransformer, ARowDoesNotDependOnItsPaddingOrTheOthers) {
  const NoGrad guard;
  MaskedTransformer model(small(), 1);
  randomise(model, 1);
  const Tensor ids = random_ids({3, 9}, 1);
  const std::vector<int32_t> lengths = {4, 9, 6};
  Pass pass;
  const Tensor hidden = model.encode(ids, lengths, pass).value();
  for (int64_t b = 0; b < 3; ++b) {
    const int32_t n = lengths[static_cast<size_t>(b)];
    const Tensor alone = ids.slice(0, b, b + 1).slice(1, 0, n).contiguous_copy();
    EXPECT_TRUE(same_bits(model.encode(alone, {n}, pass).value(), hidden.slice(0, b, b + 1).slice(1, 0, n)));
  }
}

TEST(MaskedTransformer, SeesBothSidesOfAToken) {
  const NoGrad guard;
  MaskedTransformer model(small(), 1);
  randomise(model, 1);
  Tensor ids = random_ids({1, 9}, 1);
  Pass pass;
  const Tensor before = model.logits(model.encode(ids, {9}, pass)).value();
  ids.data<int32_t>()[8] = (ids.data<int32_t>()[8] + 1) % vocabulary;
  const Tensor after = model.logits(model.encode(ids, {9}, pass)).value();
  EXPECT_GT(largest_difference(before.slice(1, 0, 1), after.slice(1, 0, 1)), 1e-4);
}

TEST(MaskedTransformer, GradientsReachEveryParameter) {
  MaskedTransformer model(small(), 1);
  randomise(model, 1);
  Tensor targets = random_ids({3, 9}, 2);
  for (int64_t i = 0; i < targets.numel(); i += 2) targets.data<int32_t>()[i] = -1;
  Pass pass;
  const CrossEntropy e = model.loss(random_ids({3, 9}, 1), {9, 9, 9}, targets, {}, pass);
  EXPECT_EQ(e.count, 13);
  e.loss.backward();
  std::vector<std::string> names;
  model.visit("", [&](const std::string& name, Variable& p) {
    names.push_back(name);
    ASSERT_TRUE(p.grad().defined()) << name;
    // A bias of the keys moves all scores of a query alike: softmax does not see it.
    const bool reaches = largest_difference(p.grad(), Tensor::zeros(p.shape())) > 1e-6;
    EXPECT_TRUE(reaches || name.ends_with("key.bias")) << name;
  });
  EXPECT_EQ(names[1], "embedding.positions");
  EXPECT_EQ(std::vector<std::string>(names.end() - 5, names.end()),
            (std::vector<std::string>{"head.transform.weight", "head.transform.bias", "head.norm.weight",
                                      "head.norm.bias", "head.bias"}));
}

TEST(MaskedTransformer, RefusesAnotherArchitecture) {
  TransformerConfig c = small();
  c.architecture = Architecture::causal;
  EXPECT_THROW(MaskedTransformer{c}, UsageError);
}

}  // namespace qkv::masked_test
