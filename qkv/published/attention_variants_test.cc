// Every attention variant and every position encoding in the whole model.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/layer/attention_mechanisms_test.h"
#include "qkv/published/load_model.h"
#include "qkv/test_support/tensors.h"

namespace qkv::attention_variants_test {

using namespace test;

constexpr int64_t vocabulary = 11;

namespace fs = std::filesystem;

struct Variant {
  std::string self, cross;
  Positions positions = Positions::sinusoidal;
};
void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.self << " " << variant.cross; }

std::vector<Variant> all_variants() {
  std::vector<Variant> variants;
  for (const std::string& self : sample_variants(AttentionUse::encoder)) variants.push_back({self, "full"});
  for (const std::string& cross : sample_variants(AttentionUse::cross))
    if (cross != "full") variants.push_back({"full", cross});
  for (const Positions positions : {Positions::rotary, Positions::alibi, Positions::relative_bias, Positions::none})
    variants.push_back({"window=3", "local-p=2", positions});
  variants.push_back({"full,window=3+softmax-with-sink", "local-p=2,location=20"});
  variants.push_back({"multi-token=3:3:2,longformer-separate=2:2", "additive,constant"});
  return variants;
}

TransformerConfig config_of(const Variant& variant) {
  TransformerConfig c;
  c.source_vocabulary = c.target_vocabulary = vocabulary;
  c.d_model = 16, c.heads = 4, c.kv_heads = 2, c.ffn = 24;
  c.encoder_layers = 2, c.decoder_layers = 2;
  c.dropout = 0;
  c.max_positions = 40;
  c.self_attention = attention_pattern(variant.self);
  c.cross_attention = attention_pattern(variant.cross);
  c.positions = variant.positions;
  return c;
}

class ModelOf : public testing::TestWithParam<Variant> {};

TEST_P(ModelOf, ResultsDoNotDependOnTheBatchPaddingOrThreads) {
  const int before = threads();
  const Transformer model(config_of(GetParam()), 3);
  const std::vector<int32_t> lengths = {3, 9, 1, 6, 9, 2, 8};
  const int64_t B = 7, S = 9, T = 12;
  const Tensor source = random_ids({B, S}, vocabulary, 5), target = random_ids({B, T}, vocabulary, 6);
  Pass pass;
  set_threads(2);
  const Encoded encoded = model.encode(source, lengths, pass);
  const Tensor hidden = model.decode(target, encoded, pass).value();
  set_threads(1);
  for (int64_t b = 0; b < B; ++b) {
    const int32_t length = lengths[static_cast<size_t>(b)];
    const Tensor alone = source.slice(0, b, b + 1).slice(1, 0, length).contiguous_copy();
    Tensor padded = random_ids({1, 20}, vocabulary, 7);
    padded.slice(1, 0, length).copy_from(alone);
    for (const Tensor& row : {alone, padded}) {
      const Encoded one = model.encode(row, {length}, pass);
      EXPECT_TRUE(same_bits(one.memory.value().slice(1, 0, length),
                            encoded.memory.value().slice(0, b, b + 1).slice(1, 0, length)));
      const Tensor begin = target.slice(0, b, b + 1).slice(1, 0, 5).contiguous_copy();
      EXPECT_TRUE(same_bits(model.decode(begin, one, pass).value(), hidden.slice(0, b, b + 1).slice(1, 0, 5)));
    }
  }
  set_threads(before);
}

TEST_P(ModelOf, GradientsDoNotDependOnThreads) {
  const int before = threads();
  const auto gradients = [&](int count) {
    set_threads(count);
    Transformer model(config_of(GetParam()), 3);
    Pass pass{.training = true, .seed = 7, .step = 3};
    model
        .loss(random_ids({4, 9}, vocabulary, 1), {9, 1, 4, 6}, random_ids({4, 8}, vocabulary, 2),
              random_ids({4, 8}, vocabulary, 3), {}, pass)
        .loss.backward();
    std::vector<Tensor> out;
    model.visit([&](const std::string&, Variable& p) { out.push_back(p.grad()); });
    return out;
  };
  const std::vector<Tensor> one = gradients(1), two = gradients(2);
  for (size_t i = 0; i < one.size(); ++i) {
    ASSERT_EQ(one[i].defined(), two[i].defined());
    EXPECT_TRUE(!one[i].defined() || same_bits(one[i], two[i]));
  }
  set_threads(before);
}

// Three hypotheses of each of two sentences, reordered halfway.
TEST_P(ModelOf, StepsEqualTheWholeThroughAReordering) {
  const NoGrad guard;
  const Transformer model(config_of(GetParam()), 4);
  const Tensor source = random_ids({2, 9}, vocabulary, 8);
  Tensor target = random_ids({6, 20}, vocabulary, 9);
  const std::vector<int64_t> parents = {2, 2, 0, 3, 5, 4};
  Tensor past = target.clone();  // the prefixes of the second half
  for (int64_t row = 0; row < 6; ++row)
    past.slice(0, row, row + 1)
        .slice(1, 0, 10)
        .copy_from(target.slice(0, parents[static_cast<size_t>(row)], parents[static_cast<size_t>(row)] + 1)
                       .slice(1, 0, 10));
  Pass pass;
  const std::unique_ptr<Decoding> rows = model.start(model.encode(source, {9, 5}, pass));
  rows->reorder(std::vector<int64_t>{0, 0, 0, 1, 1, 1});
  const auto whole_of = [&](const Tensor& ids) {
    Tensor sources = Tensor::empty({6, 9}, DType::i32);
    for (int64_t row = 0; row < 6; ++row)
      sources.slice(0, row, row + 1).copy_from(source.slice(0, row / 3, row / 3 + 1));
    const Encoded encoded = model.encode(sources, {9, 9, 9, 5, 5, 5}, pass);
    return model.logits(model.decode(ids, encoded, pass)).value();
  };
  const Tensor first = whole_of(target), second = whole_of(past);
  for (int64_t t = 0; t < 20; ++t) {
    if (t == 10) rows->reorder(parents);
    const Tensor& whole = t < 10 ? first : second;
    const Tensor step = rows->extend(target.slice(1, t, t + 1).contiguous_copy().span<int32_t>(), pass);
    for (int64_t row = 0; row < 6; ++row)
      for (int64_t v = 0; v < 11; ++v)
        ASSERT_NEAR(step.at<float>({row, v}), whole.at<float>({row, t, v}), 2e-5) << "position " << t;
  }
}

TEST_P(ModelOf, IsSavedAndReadBack) {
  std::string folder = (fs::temp_directory_path() / "qkv-variants-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  Transformer model(config_of(GetParam()), 5);
  save_model(folder, model);
  const Transformer back = load_model(folder);
  fs::remove_all(folder);
  EXPECT_EQ(to_json(back.config()), to_json(model.config()));
  Pass pass;
  const Tensor source = random_ids({2, 7}, vocabulary, 10), target = random_ids({2, 6}, vocabulary, 11);
  const auto run = [&](const Transformer& of) {
    return of.decode(target, of.encode(source, {7, 4}, pass), pass).value();
  };
  EXPECT_TRUE(same_bits(run(back), run(model)));
}

TEST_P(ModelOf, IsCountedWithoutBeingMade) {
  for (const bool bias : {false, true}) {
    TransformerConfig c = config_of(GetParam());
    c.attention_bias = bias;
    const Transformer model(c);
    int64_t allocated = 0;
    const int64_t count = model.parameter_count();
    model.visit([&](const std::string&, Variable& p) { allocated += p.value().numel(); });
    EXPECT_EQ(count, allocated);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ModelOf, testing::ValuesIn(all_variants()),
                         [](const testing::TestParamInfo<Variant>& variant) {
                           return as_name(fmt::format("{}_{}_{}", variant.param.self, variant.param.cross,
                                                      name_of(variant.param.positions)));
                         });

TEST(Positions, WithNoneTheOrderOfTheTokensIsLost) {
  const auto memory = [&](Positions positions, const std::vector<int32_t>& ids) {
    const Transformer model(config_of({"full", "full", positions}), 6);
    Pass pass;
    return model.encode(Tensor::from(ids, {1, 3}), {3}, pass).memory.value().select(1, 2).clone();
  };
  for (const auto& [value, name] : names_of(Positions{})) {
    const Tensor a = memory(value, {3, 7, 5}), b = memory(value, {7, 3, 5});
    double difference = 0;
    for (int64_t i = 0; i < 16; ++i)
      difference = std::max(difference, std::abs(static_cast<double>(a.data<float>()[i]) - b.data<float>()[i]));
    if (value == Positions::none) {
      EXPECT_LT(difference, 1e-5);
    } else if (value != Positions::relative_bias) {  // whose table is initialised with zeros
      EXPECT_GT(difference, 1e-3) << name;
    }
  }
}

TEST(Positions, ExcludeOtherMechanismsOfPositions) {
  TransformerConfig c = config_of({"alibi", "full", Positions::rotary});
  EXPECT_THROW(c.check(), UsageError);
  c.positions = Positions::sinusoidal;
  EXPECT_NO_THROW(c.check());
  c.d_model = 12, c.positions = Positions::rotary, c.self_attention = {};
  EXPECT_THROW(c.check(), UsageError) << "heads of width 3";
}

}  // namespace qkv::attention_variants_test
