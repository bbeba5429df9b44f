#include "qkv/model/describe.h"

#include <array>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/layer/parameter_groups.h"
#include "qkv/model/describe_tables.h"
#include "qkv/model/make_model.h"
#include "qkv/model/token_flops.h"
#include "qkv/model/transformer.h"

namespace qkv::describe_test {

TransformerConfig small() {
  TransformerConfig c;
  c.source_vocabulary = c.target_vocabulary = 11;
  c.d_model = 16;
  c.heads = 4;
  c.ffn = 24;
  c.encoder_layers = 2;
  c.decoder_layers = 3;
  c.max_positions = 30;
  return c;
}

TEST(ParameterGroups, CountWhatTheModelHas) {
  for (const Tie tie : {Tie::all, Tie::target, Tie::none})
    for (const Positions positions : {Positions::sinusoidal, Positions::learned})
      for (const NormOrder order : {NormOrder::post, NormOrder::pre})
        for (const int64_t kv_heads : {0, 1, 2, 4})
          for (const bool bias : {true, false}) {
            TransformerConfig c = small();
            c.tie = tie, c.positions = positions, c.norm_order = order, c.kv_heads = kv_heads;
            c.attention_bias = bias;
            if (tie != Tie::all) c.target_vocabulary = 13;
            const Transformer model(c, 1);
            int64_t grouped = 0, allocated = 0;
            for (const ParameterGroup& group : parameter_groups(model)) grouped += group.times * group.parameters;
            model.visit([&](const std::string&, Variable& p) { allocated += p.value().numel(); });
            EXPECT_EQ(grouped, allocated) << to_json(c);
            EXPECT_EQ(model.parameter_count(), allocated) << to_json(c);
          }
}

TEST(ParameterGroups, OfTheRecipes) {
  // Vaswani et al., 2017, table 3: 65 million of the base model, a vocabulary of about 37000 tokens; 213 of the
  // big.
  TransformerConfig base = recipe("transformer-base").transformer(), big = recipe("transformer-big").transformer();
  base.source_vocabulary = base.target_vocabulary = big.source_vocabulary = big.target_vocabulary = 37000;
  EXPECT_NEAR(static_cast<double>(Transformer(base).parameter_count()), 65e6, 3e6);
  EXPECT_NEAR(static_cast<double>(Transformer(big).parameter_count()), 213e6, 5e6);
}

// The groups name what visit() visits: the tensors of a group are those whose names begin with it.
TEST(ParameterGroups, AreNamedLikeTheParameters) {
  for (const NormOrder order : {NormOrder::post, NormOrder::pre}) {
    TransformerConfig c = small();
    c.norm_order = order;
    c.positions = Positions::learned;
    Transformer model(c, 1);
    for (const ParameterGroup& group : parameter_groups(Transformer(c))) {
      std::set<std::string> names;
      for (int64_t n = 0; n < group.times; ++n) {
        std::string name = group.name;
        if (const size_t star = name.find('*'); star != std::string::npos) name.replace(star, 1, std::to_string(n));
        names.insert(name);
      }
      int64_t count = 0;
      model.visit([&](const std::string& name, Variable& parameter) {
        for (const std::string& prefix : names)
          if (name == prefix || name.starts_with(prefix + ".")) count += parameter.value().numel();
      });
      EXPECT_EQ(count, group.times * group.parameters) << group.name;
    }
  }
}

TEST(Describe, SaysTheNumbers) {
  TransformerConfig c = recipe("transformer-base").transformer();
  c.source_vocabulary = c.target_vocabulary = 32000;
  c.norm_order = NormOrder::post;  // as published
  const std::string text = describe(c);
  for (const char* expected :
       {"encoder.layers.*.self_attention", "query, key, value, out (512, 512) + (512)", "4 C^2 + 4 C", "1,050,624",
        "2 C F + F + C", "60,522,496", "C V", "sinusoidal", "242 MB", "968 MB", "24.6 kB",
        "encoder: self-attention, 25 of 25 keys", "decoder: self-attention, 13 of 25 keys", "6 * 4 C keys"})
    EXPECT_NE(text.find(expected), std::string::npos) << expected << " is not in\n" << text;
}

TEST(Describe, CountsTheArithmeticOfALayer) {
  TransformerConfig c = small();
  c.kv_heads = 2;
  int64_t source = 0, target = 0;
  for (const FlopCount& part : flops_per_source_token(c, {.source_length = 7})) source += part.flops;
  for (const FlopCount& part : flops_per_target_token(c, {.source_length = 7, .target_length = 5}))
    target += part.flops;
  // Every matrix of a layer is used once a token, two FLOPs a weight; scores and sums of values cost as much each.
  const int64_t matrices = 16 * 16 * 2 + 16 * 8 * 2, feed_forward = 2 * 16 * 24;
  EXPECT_EQ(source, 2 * (2 * (matrices + feed_forward) + 2 * 2 * 7 * 16) + 3 * 2 * 2 * 16 * 8);
  const int64_t pairs = 1 + 2 + 3 + 4 + 5;
  EXPECT_EQ(5 * target, 5 * (3 * 2 * (matrices + 2 * 16 * 16 + feed_forward) + 3 * 2 * 2 * 7 * 16 + 2 * 16 * 11) +
                            3 * 2 * 2 * pairs * 16);
}

TEST(Describe, SaysWhatIsTiedAndGrouped) {
  TransformerConfig c = small();
  c.kv_heads = 2;
  c.tie = Tie::none;
  c.attention_bias = false;
  const std::string text = describe(c, {.source_length = 3, .target_length = 3});
  EXPECT_NE(text.find("query, out (16, 16), key, value (8, 16)"), std::string::npos) << text;
  EXPECT_NE(text.find("2 C^2 + 2 C K"), std::string::npos);
  EXPECT_EQ(text.find(" is also "), std::string::npos);
  c.tie = Tie::all;
  EXPECT_NE(describe(c).find("is also the target embedding and the output projection."), std::string::npos);
}

TEST(Describe, NamesTheAttentionVariantsAndCountsTheirParameters) {
  TransformerConfig c = small();
  EXPECT_EQ(describe(c).find("cross-attention full"), std::string::npos);
  c.self_attention = SlidingWindow{8} + SoftmaxWithSink{};
  c.cross_attention = Additive{10};
  c.positions = Positions::rotary;
  const std::string text = describe(c);
  for (const char* expected : {"self-attention window=8+softmax-with-sink, cross-attention additive=10",
                               "rotary positions, any length", "softmax-with-sink.scores (4)", "4 C^2 + 4 C + H",
                               "additive.key (10, 4)", "4 C^2 + 2 D width + 4 C + width"})
    EXPECT_NE(text.find(expected), std::string::npos) << expected << " is not in\n" << text;
  c.positions = Positions::none;
  EXPECT_NE(describe(c).find("no position encoding, any length"), std::string::npos) << describe(c);
}

// Of a published model with rotary positions, which are a mechanism of its attention.
TEST(Describe, SaysWhatLengthAModelIsMadeFor) {
  TransformerConfig c = small();
  c.positions = Positions::none;
  c.self_attention = Rotary{};
  EXPECT_NE(describe(c).find(" tokens, positions by attention, any length\n"), std::string::npos) << describe(c);
  c.context_length = 2048;
  EXPECT_NE(describe(c).find(" tokens, positions by attention, any length, made for 2048 tokens\n"),
            std::string::npos)
      << describe(c);
}

TEST(Describe, CountsTheVisiblePairsOfAVariant) {
  TransformerConfig c = small();
  const auto attention = [&](const AttentionVariant& self, const AttentionVariant& cross) {
    c.self_attention = self, c.cross_attention = cross;
    const DescribeOptions lengths = {.source_length = 10, .target_length = 10};
    const auto source = flops_per_source_token(c, lengths), target = flops_per_target_token(c, lengths);
    return std::array{source[1].flops, target[1].flops, target[2].flops};
  };
  const int64_t layer = 4 * 16;  // FLOPs of a key in all heads of a layer
  using Flops = std::array<int64_t, 3>;
  EXPECT_EQ(attention(Full{}, Full{}), (Flops{2 * layer * 10, 3 * layer * 11 / 2, 3 * layer * 10}));
  // A window of 1: three keys, at the ends two; causal: two, at the beginning one.
  EXPECT_EQ(attention(SlidingWindow{1}, LocalM{1}),
            (Flops{2 * layer * 28 / 10, 3 * layer * 19 / 10 + 1, 3 * layer * 28 / 10 + 1}));
  // Additive scores of width 5 cost 4 * 5 and the values 2 * 4 in each of 4 heads.
  EXPECT_EQ(attention(Full{}, Additive{5})[2], 3 * 10 * 4 * (4 * 5 + 2 * 4));
  // The convolution of 3 queries by 5 keys and the mixing of 2 heads.
  EXPECT_EQ(attention(MultiToken{3, 5, 2}, Full{})[0], 2 * 10 * 4 * (4 * 4 + 2 * 3 * 5 + 2 * 2));
}

// Layers 0 and 3 of the encoder are full, layers 1 and 2 have a window and a sink; of the decoder 0 and 2, and 1.
TEST(Describe, CountsLayersThatDifferApart) {
  TransformerConfig c = small();
  c.encoder_layers = 4;
  c.self_attention = {{{Full{}, 1}, {SlidingWindow{1} + SoftmaxWithSink{}, 2}}, {{Full{}, 1}, {Location{7}, 1}}};
  const std::string text = describe(c, {.source_length = 10, .target_length = 10});
  for (const char* expected :
       {"self-attention full,window=1+softmax-with-sink*2 in the encoder, full,location=7 in the decoder",
        "encoder.layers.0,3.self_attention", "encoder.layers.1-2.self_attention",
        "decoder.layers.0,2.self_attention", "decoder.layers.1.self_attention", "encoder.layers.*.norm1",
        "location.rows (7, 4)", "encoder: self-attention (layers 0,3), 10 of 10 keys",
        "encoder: self-attention (layers 1-2), 2.8 of 10 keys", "decoder: projections (layers 1)"})
    EXPECT_NE(text.find(expected), std::string::npos) << expected << " is not in\n" << text;
  EXPECT_EQ(text.find("encoder: projections ("), std::string::npos) << "they are equal in all layers";
  int64_t pairs = 0, grouped = 0;
  const auto rows = flops_per_source_token(c, {.source_length = 10});
  for (const FlopCount& row : rows)
    if (row.part.starts_with("encoder: self-attention")) pairs += row.flops;
  EXPECT_EQ(pairs, 2 * 4 * 16 * 10 + 2 * 4 * 16 * 28 / 10);
  for (const ParameterGroup& group : parameter_groups(Transformer(c))) grouped += group.times * group.parameters;
  EXPECT_EQ(grouped, Transformer(c).parameter_count());
}

TEST(Describe, FitsAHundredColumns) {
  TransformerConfig c = recipe("transformer-big").transformer();
  c.source_vocabulary = c.target_vocabulary = 32000;
  c.kv_heads = 4;
  c.self_attention = LongformerSeparate{256, 16} + Additive{128} + SoftmaxWithSink{};
  c.cross_attention = LocalP{20} + Additive{128} + SoftmaxWithSink{};
  c.positions = Positions::relative_bias;
  std::string line;
  for (const char x : describe(c)) {
    if (x != '\n') {
      line += x;
      continue;
    }
    EXPECT_LE(line.size(), 100u) << line;
    line.clear();
  }
}

TEST(Describe, ErrorsSayWhatIsWrong) {
  EXPECT_THROW(describe(recipe("transformer-base")), UsageError);  // no vocabulary yet
  EXPECT_THROW(describe(small(), {.source_length = 31}), UsageError);
  EXPECT_THROW(describe(small(), {.target_length = 0}), UsageError);
}

TEST(Describe, ModelsOfOneStackHaveThePartsOfTheirSide) {
  TransformerConfig c = small();
  c.architecture = Architecture::causal;
  EXPECT_TRUE(flops_per_source_token(c, {}).empty());
  const int64_t matrices = 4 * 16 * 16, feed_forward = 2 * 16 * 24, pairs = 1 + 2 + 3 + 4 + 5;
  EXPECT_EQ(5 * sum_of(flops_per_target_token(c, {.target_length = 5})).flops,
            5 * (3 * 2 * (matrices + feed_forward) + 2 * 16 * 11) + 3 * 2 * 2 * pairs * 16);
  const std::string causal = describe(c, {.target_length = 5});
  for (const char* part : {"Causal Transformer, 3 layers", "V 11 tokens", "Per token, T 5", "A step of decoding",
                           "The embedding is also the output projection."})
    EXPECT_NE(causal.find(part), std::string::npos) << part << " is not in\n" << causal;
  EXPECT_EQ(causal.find("source"), std::string::npos) << causal;
  EXPECT_EQ(causal.find("      : "), std::string::npos) << "sinusoidal positions have no parameters\n" << causal;

  c.architecture = Architecture::masked;
  EXPECT_EQ(sum_of(flops_per_source_token(c, {.source_length = 7})).flops,
            2 * (2 * (matrices + feed_forward) + 2 * 2 * 7 * 16));
  EXPECT_EQ(sum_of(flops_per_target_token(c, {})).flops, 2 * 16 * 16 + 2 * 16 * 11);
  const std::string masked = describe(c);
  for (const char* part : {"Masked Transformer, 2 layers", "Per masked token", "head.transform"})
    EXPECT_NE(masked.find(part), std::string::npos) << part << " is not in\n" << masked;
  EXPECT_EQ(masked.find("KV cache"), std::string::npos) << masked;
}

TEST(Describe, BytesAreThoseOfTheFormatOfTheWeights) {
  const TransformerConfig c = small();
  int64_t weights = 0, others = 0;
  make_model(c)->for_each_parameter(
      [&](const std::string&, const Parameter& p) { (p.is_matrix() ? weights : others) += p.shape().numel(); });
  const std::string text = describe(c, {.source_length = 7, .target_length = 7, .weights = WeightFormat::bf16});
  const std::string bytes = bytes_text(static_cast<double>(2 * weights + 4 * others));
  for (const std::string& part : {std::string("Bytes (weights bf16, all else f32)"), bytes})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  FlopCount count = sum_of(flops_per_target_token(c, {}));
  EXPECT_EQ(count.weight_bytes(), 4 * count.weights);
  count.format = WeightFormat::bf16;
  EXPECT_EQ(count.weight_bytes(), 2 * count.weights);
}

TEST(Describe, RecurrentModelsCountEveryMatrixOncePerToken) {
  RecurrentConfig c{
      .architecture = Architecture::bahdanau, .source_vocabulary = 11, .target_vocabulary = 11, .d_model = 16};
  constexpr int64_t W = 16, S = 7;
  // Two Gru of 3 W (W + W); keys (W, 2 W); a Gru of [y; c], query W W, readout (2 W, W + W + 2 W).
  EXPECT_EQ(sum_of(flops_per_source_token(c, {})).flops, 2 * (2 * 3 * W * 2 * W + 2 * W * W));
  const int64_t decoder = 3 * W * (3 * W) + 3 * W * W + W * W + 2 * W * 4 * W;
  EXPECT_EQ(sum_of(flops_per_target_token(c, {.source_length = S})).flops,
            2 * decoder + (4 * W + 2 * 2 * W) * S + 2 * W * 11);
  EXPECT_NE(describe(c).find("Bahdanau"), std::string::npos);
  c.architecture = Architecture::luong;
  EXPECT_EQ(sum_of(flops_per_source_token(c, {})).flops, 2 * (4 * W * 2 * W));
  c.cross_attention = Bilinear{};  // projects the keys
  EXPECT_EQ(sum_of(flops_per_source_token(c, {})).flops, 2 * (4 * W * 2 * W + W * W));
  EXPECT_EQ(sum_of(flops_per_target_token(c, {.source_length = S})).flops,
            2 * (4 * W * 2 * W + 4 * W * W + W * 2 * W) + 2 * 2 * W * S + 2 * W * 11);
  EXPECT_NE(describe(c).find("Luong"), std::string::npos);
  c.cross_attention = LocalM{2};  // with the score of the paper
  EXPECT_NE(describe(c).find("5 of 25 keys"), std::string::npos);
}

TEST(Describe, FitsIntoAHundredColumns) {
  for (const std::string_view name : recipe_names()) {
    ModelConfig c = recipe(name);
    c.set_vocabularies(32000, 32000);
    std::istringstream lines(describe(c, {.source_length = 1000, .target_length = 1000}));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  }
}

}  // namespace qkv::describe_test
