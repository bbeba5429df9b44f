#include "qkv/model/transformer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/op/position.h"
#include "qkv/test_support/tensors.h"

namespace qkv::transformer_test {

using namespace test;

constexpr int64_t vocabulary = 11;

TransformerConfig small() {
  TransformerConfig c;
  c.source_vocabulary = c.target_vocabulary = vocabulary;
  c.d_model = 16, c.heads = 4, c.ffn = 24;
  c.encoder_layers = 2, c.decoder_layers = 2;
  c.dropout = 0;
  c.max_positions = 40;
  return c;
}

std::vector<std::string> names_of(Transformer& model) {
  std::vector<std::string> names;
  model.visit([&](const std::string& name, Variable&) { names.push_back(name); });
  return names;
}

TEST(Transformer, NamesEveryParameterOnceInAFixedOrder) {
  TransformerConfig c = small();
  c.tie = Tie::none, c.positions = Positions::learned, c.norm_order = NormOrder::pre;
  Transformer model(c, 1);
  const std::vector<std::string> names = names_of(model);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  const std::vector<std::string> first(names.begin(), names.begin() + 6);
  EXPECT_EQ(first, (std::vector<std::string>{"source_embedding", "target_embedding", "output", "source_positions",
                                             "target_positions", "encoder.layers.0.self_attention.query.weight"}));
  for (const char* name : {"encoder.norm.weight", "decoder.layers.1.cross_attention.out.bias",
                           "decoder.layers.0.norm3.weight", "decoder.norm.bias"})
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  EXPECT_EQ(names, names_of(model));
}

// The gradient of a shared table is the sum of the gradients of separate tables with the same values.
TEST(Transformer, LayersMayShareTheTableOfTheirRelativeBias) {
  TransformerConfig c = small();
  c.positions = Positions::none;
  c.self_attention = RelativeBias{.buckets = 8, .max_distance = 9, .shared = true};
  Transformer shared(c, 1);
  c.self_attention = RelativeBias{.buckets = 8, .max_distance = 9};
  Transformer separate(c, 1);
  const std::string first = "encoder.layers.0.self_attention.relative-bias.table",
                    second = "encoder.layers.1.self_attention.relative-bias.table";
  const std::vector<std::string> names = names_of(shared);
  EXPECT_EQ(std::count(names.begin(), names.end(), first), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), second), 0);
  std::map<std::string, Tensor> values, sums;
  shared.visit([&](const std::string& name, Variable& p) { values[name] = p.value(); });
  separate.visit([&](const std::string& name, Variable& p) {
    const std::string table = name.substr(0, name.find('.')) + ".layers.0.self_attention.relative-bias.table";
    p.mutable_value().copy_from(values.at(values.contains(name) ? name : table));
  });
  const Tensor ids = Tensor::from(std::vector<int32_t>{3, 4, 5, 6, 4, 3}, {2, 3});
  for (Transformer* model : {&shared, &separate}) {
    Pass pass;
    model->loss(ids, {3, 2}, ids, ids, {}, pass).loss.backward();
  }
  separate.visit([&](const std::string& name, Variable& p) {
    if (!name.ends_with("relative-bias.table")) return;
    Tensor& sum = sums[name.substr(0, name.find('.'))];
    if (!sum.defined()) sum = Tensor::zeros(p.shape());
    for (int64_t i = 0; i < sum.numel(); ++i) sum.data<float>()[i] += std::as_const(p).grad().data<float>()[i];
  });
  shared.visit([&](const std::string& name, Variable& p) {
    if (!name.ends_with("relative-bias.table")) return;
    EXPECT_LT(largest_difference(std::as_const(p).grad(), sums.at(name.substr(0, name.find('.')))), 1e-6) << name;
  });
}

TEST(Transformer, TiedMatricesAreOneParameter) {
  TransformerConfig c = small();
  c.tie = Tie::all;
  Transformer all(c, 1);
  c.tie = Tie::target;
  Transformer target(c, 1);
  c.tie = Tie::embeddings;
  EXPECT_EQ(Transformer(c, 1).parameter_count(), all.parameter_count() + vocabulary * 16);
  c.tie = Tie::none;
  Transformer none(c, 1);
  EXPECT_EQ(target.parameter_count(), all.parameter_count() + vocabulary * 16);
  EXPECT_EQ(none.parameter_count(), all.parameter_count() + 2 * vocabulary * 16);

  // The gradient of a shared matrix is the sum of the gradients of three separate ones with the same values.
  const auto gradients = [&](Transformer& model) {
    Pass pass;
    model
        .loss(random_ids({3, 5}, vocabulary, 1), {5, 4, 2}, random_ids({3, 6}, vocabulary, 2),
              random_ids({3, 6}, vocabulary, 3), {}, pass)
        .loss.backward();
    std::vector<Tensor> out;
    model.visit([&](const std::string& name, Variable& p) {
      if (name.find('.') == std::string::npos) out.push_back(p.grad());
    });
    return out;
  };
  Tensor table;
  all.visit([&](const std::string& name, Variable& p) {
    if (name == "source_embedding") table = p.value();
  });
  none.visit([&](const std::string& name, Variable& p) {
    if (name.find('.') == std::string::npos) p.mutable_value().copy_from(table);
  });
  const std::vector<Tensor> shared = gradients(all), apart = gradients(none);
  ASSERT_EQ(shared.size(), 1u);
  ASSERT_EQ(apart.size(), 3u);
  for (size_t i = 0; i < vocabulary * 16; ++i) {
    const float sum = apart[0].span<float>()[i] + apart[1].span<float>()[i] + apart[2].span<float>()[i];
    EXPECT_NEAR(shared[0].span<float>()[i], sum, 1e-5);
  }
}

TEST(Transformer, IsAFunctionOfItsSeed) {
  Transformer a(small(), 1), b(small(), 1), c(small(), 2);
  Pass pass;
  const Tensor source = random_ids({1, 5}, vocabulary, 1);
  EXPECT_TRUE(same_bits(a.encode(source, {5}, pass).memory.value(), b.encode(source, {5}, pass).memory.value()));
  EXPECT_FALSE(same_bits(a.encode(source, {5}, pass).memory.value(), c.encode(source, {5}, pass).memory.value()));
}

TEST(Transformer, MatricesAreUniformByTheirInputsAndTablesNormal) {
  TransformerConfig c = small();
  c.d_model = 128, c.ffn = 256, c.source_vocabulary = c.target_vocabulary = 500;
  Transformer model(c, 1);
  model.visit([&](const std::string& name, Variable& p) {
    double square = 0, largest = 0;
    for (const float x : p.value().span<float>()) {
      square += static_cast<double>(x) * x;
      largest = std::max(largest, std::abs(static_cast<double>(x)));
    }
    const double deviation = std::sqrt(square / static_cast<double>(p.value().numel()));
    if (name == "source_embedding") {
      EXPECT_NEAR(deviation, 1 / std::sqrt(128.0), 0.002);
    } else if (p.value().rank() == 2) {
      const double bound = 1 / std::sqrt(static_cast<double>(p.dim(1)));
      EXPECT_LE(largest, bound) << name;
      EXPECT_NEAR(deviation, bound / std::sqrt(3.0), 0.02 * bound) << name;
    } else {
      EXPECT_EQ(deviation, name.find("norm") != std::string::npos && name.ends_with("weight") ? 1.0 : 0.0) << name;
    }
  });
}

// The embedding is scaled by sqrt(C), then the position is added: seen through an encoder without effect.
TEST(Transformer, EmbedsWithScaleAndPositions) {
  TransformerConfig c = small();
  c.norm_order = NormOrder::pre;
  c.encoder_layers = 1;
  Transformer model(c, 1);
  Tensor table;
  model.visit([&](const std::string& name, Variable& p) {
    if (name == "source_embedding") table = p.value();
    // Sublayers that give zero leave x as it is, and the last norm is undone below.
    if (name.ends_with("self_attention.out.weight") || name.ends_with("down.weight")) p.mutable_value().fill(0);
  });
  const Tensor ids = random_ids({2, 7}, vocabulary, 4), positions = sinusoidal(7, 16);
  Pass pass;
  const Tensor y = model.encode(ids, {7, 7}, pass).memory.value();
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t t = 0; t < 7; ++t) {
      double x[16], mean = 0, variance = 0;
      for (int64_t i = 0; i < 16; ++i) {
        x[i] = 4.0 * table.at<float>({ids.at<int32_t>({b, t}), i}) + positions.at<float>({t, i});
        mean += x[i] / 16;
      }
      for (const double v : x) variance += (v - mean) * (v - mean) / 16;
      for (int64_t i = 0; i < 16; ++i)
        EXPECT_NEAR(y.at<float>({b, t, i}), (x[i] - mean) / std::sqrt(variance + 1e-5), 2e-5);
    }
}

struct Variant {
  const char* name;
  void (*change)(TransformerConfig&);
};
void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }
class TransformerOf : public testing::TestWithParam<Variant> {};

// Row b of a batch with padding, alone, with other padding, on one thread or two.
TEST_P(TransformerOf, ResultsDoNotDependOnTheBatchPaddingOrThreads) {
  const int before = threads();
  TransformerConfig c = small();
  GetParam().change(c);
  const Transformer model(c, 3);
  const std::vector<int32_t> lengths = {3, 9, 1, 6, 9, 2, 8};
  const int64_t B = 7, S = 9, T = 8;
  const Tensor source = random_ids({B, S}, vocabulary, 5), target = random_ids({B, T}, vocabulary, 6);
  Pass pass;
  set_threads(2);
  const Encoded encoded = model.encode(source, lengths, pass);
  const Tensor hidden = model.decode(target, encoded, pass).value();
  const Tensor logits = model.logits(hidden).value();
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
      // A shorter target: what comes later is not seen.
      const Tensor begin = target.slice(0, b, b + 1).slice(1, 0, 5).contiguous_copy();
      const Tensor y = model.decode(begin, one, pass).value();
      EXPECT_TRUE(same_bits(y, hidden.slice(0, b, b + 1).slice(1, 0, 5)));
      EXPECT_TRUE(same_bits(model.logits(y).value(), logits.slice(0, b, b + 1).slice(1, 0, 5)));
    }
  }
  set_threads(before);
}

TEST_P(TransformerOf, GradientsDoNotDependOnThreads) {
  const int before = threads();
  TransformerConfig c = small();
  c.dropout = 0.1f, c.attention_dropout = 0.1f, c.ffn_dropout = 0.1f;
  GetParam().change(c);
  const auto gradients = [&](int count) {
    set_threads(count);
    Transformer model(c, 3);
    Pass pass{.training = true, .seed = 7, .step = 3};
    model
        .loss(random_ids({4, 9}, vocabulary, 1), {9, 1, 4, 6}, random_ids({4, 8}, vocabulary, 2),
              random_ids({4, 8}, vocabulary, 3), {.label_smoothing = 0.1f}, pass)
        .loss.backward();
    std::vector<Tensor> out;
    model.visit([&](const std::string&, Variable& p) { out.push_back(p.grad()); });
    return out;
  };
  const std::vector<Tensor> one = gradients(1), two = gradients(2);
  for (size_t i = 0; i < one.size(); ++i) {
    ASSERT_TRUE(one[i].defined());
    EXPECT_TRUE(same_bits(one[i], two[i]));
  }
  set_threads(before);
}

TEST_P(TransformerOf, GradientsOfRecomputedBlocksAreThoseOfKeptOnes) {
  TransformerConfig c = small();
  c.dropout = 0.1f, c.attention_dropout = 0.1f, c.ffn_dropout = 0.1f;
  GetParam().change(c);
  const auto gradients = [&](bool recompute) {
    Transformer model(c, 3);
    AttentionLog log;
    Pass pass{.training = true, .seed = 7, .step = 3, .log = &log, .recompute = recompute};
    const CrossEntropy loss =
        model.loss(random_ids({4, 9}, vocabulary, 1), {9, 1, 4, 6}, random_ids({4, 8}, vocabulary, 2),
                   random_ids({4, 8}, vocabulary, 3), {.label_smoothing = 0.1f}, pass);
    loss.loss.backward();
    std::vector<Tensor> out = {loss.loss.value(), Tensor::full({1}, static_cast<float>(log.entries.size()))};
    model.visit([&](const std::string&, Variable& p) { out.push_back(p.grad()); });
    return out;
  };
  const std::vector<Tensor> kept = gradients(false), recomputed = gradients(true);
  ASSERT_EQ(kept.size(), recomputed.size());
  EXPECT_TRUE(same_bits(kept[0], recomputed[0]));
  EXPECT_TRUE(same_bits(kept[1], recomputed[1]));
  for (size_t i = 2; i < kept.size(); ++i)
    EXPECT_LT(largest_difference(kept[i], recomputed[i]), 1e-5) << i;  // sums over blocks in another order
}

INSTANTIATE_TEST_SUITE_P(
    Variants, TransformerOf,
    testing::Values(Variant{"PostNorm", [](TransformerConfig& c) { c.norm_order = NormOrder::post; }},
                    Variant{"PreNorm", [](TransformerConfig& c) { c.norm_order = NormOrder::pre; }},
                    Variant{"GroupedHeads", [](TransformerConfig& c) { c.kv_heads = 1; }},
                    Variant{"LearnedPositions", [](TransformerConfig& c) { c.positions = Positions::learned; }},
                    Variant{"GeluNothingTiedNoBias",
                            [](TransformerConfig& c) {
                              c.activation = Activation::gelu, c.tie = Tie::none, c.attention_bias = false;
                            }}),
    [](const testing::TestParamInfo<Variant>& variant) { return std::string(variant.param.name); });

TEST(Transformer, ASourceOfLengthZeroGivesNoNaN) {
  const Transformer model(small(), 5);
  Pass pass;
  const Tensor y = model
                       .decode(random_ids({2, 4}, vocabulary, 1),
                               model.encode(random_ids({2, 3}, vocabulary, 2), {0, 3}, pass), pass)
                       .value();
  for (const float x : y.span<float>()) EXPECT_TRUE(std::isfinite(x));
}

TEST(Transformer, ErrorsSayWhatIsWrong) {
  const Transformer model(small(), 6);
  Pass pass;
  EXPECT_THROW(model.encode(Tensor::zeros({2, 3}), {3, 3}, pass), Error) << "not ids";
  EXPECT_THROW(model.encode(random_ids({2, 41}, vocabulary, 1), {41, 41}, pass), Error)
      << "more tokens than positions";
  EXPECT_THROW(model.encode(random_ids({2, 3}, vocabulary, 1), {3}, pass), Error) << "a length is missing";
  EXPECT_THROW(model.encode(random_ids({2, 3}, vocabulary, 1), {3, 4}, pass), Error) << "longer than the row";
  EXPECT_THROW(model.encode(Tensor::from(std::vector<int32_t>{11}, {1, 1}), {1}, pass), Error)
      << "not in the table";
  const Encoded encoded = model.encode(random_ids({2, 3}, vocabulary, 1), {3, 2}, pass);
  EXPECT_THROW(model.decode(random_ids({3, 4}, vocabulary, 1), encoded, pass), Error) << "another batch";
  EXPECT_THROW(model.loss(random_ids({2, 3}, vocabulary, 1), {3, 3}, random_ids({2, 4}, vocabulary, 1),
                          random_ids({2, 5}, vocabulary, 1), {}, pass),
               Error);
  EXPECT_THROW(model.start(encoded)->extend(std::vector<int32_t>{1, 1, 1}, pass), Error) << "3 rows of 2 sentences";
}

// The same model with sinusoidal positions in the table of learned ones.
Transformer with_table_of_positions(TransformerConfig c, uint64_t seed) {
  c.positions = Positions::learned;
  Transformer model(c, seed);
  model.visit([&](const std::string& name, Variable& parameter) {
    if (name.ends_with("_positions")) parameter.mutable_value().copy_from(sinusoidal(c.max_positions, c.d_model));
  });
  return model;
}

TEST(Transformer, SinusoidalPositionsDoNotDependOnMaxPositions) {
  TransformerConfig c = small();
  c.encoder_layers = c.decoder_layers = 1;
  c.max_positions = 4200;
  const Transformer table = with_table_of_positions(c, 5);
  c.max_positions = int64_t{1} << 24;  // as a table: 1 GB
  const Transformer formula(c, 5);
  const NoGrad guard;
  Pass pass;
  for (const int64_t S : {7, 256, 257, 1025, 4096, 4099}) {
    const Tensor source = random_ids({1, S}, vocabulary, 3);
    const Encoded by_formula = formula.encode(source, {static_cast<int32_t>(S)}, pass);
    EXPECT_TRUE(
        same_bits(by_formula.memory.value(), table.encode(source, {static_cast<int32_t>(S)}, pass).memory.value()))
        << S;
  }
}

}  // namespace qkv::transformer_test
