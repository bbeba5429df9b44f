#include "qkv/model/config.h"

#include <set>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/model/architecture_table.h"

namespace qkv::config_test {

TransformerConfig unusual() {
  TransformerConfig c;
  c.source_vocabulary = 11, c.target_vocabulary = 12;
  c.d_model = 24, c.heads = 6, c.kv_heads = 2, c.ffn = 40;
  c.encoder_layers = 3, c.decoder_layers = 1;
  c.dropout = 0.25f, c.attention_dropout = 0.1f, c.ffn_dropout = 0.05f;
  c.norm_order = NormOrder::pre, c.activation = Activation::gelu, c.positions = Positions::learned;
  c.tie = Tie::target, c.attention_bias = false, c.max_positions = 77;
  c.head_width = 10, c.norm_kind = NormKind::rms, c.norm_eps = 1e-6f, c.gated_ffn = true, c.ffn_bias = false;
  c.query_key_norm = true;
  c.self_attention = {SlidingWindow{5} + SoftmaxWithSink{}, Dilated{6, 2}};
  c.cross_attention = Additive{};
  return c;
}

// The error of config_from_json, or "".
std::string error_of(const std::string& text) {
  try {
    config_from_json(text, "folder/config.json");
    return "";
  } catch (const InputError& e) {
    return e.what();
  }
}

// A good config.json in which `from` is replaced.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = to_json(unusual());
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Config, SurvivesARoundTripThroughJson) {
  const std::string text = to_json(unusual());
  const TransformerConfig back = config_from_json(text, "here").transformer();
  EXPECT_EQ(to_json(back), text);
  EXPECT_EQ(back.kv_heads, 2);
  EXPECT_EQ(back.dropout, 0.25f);
  EXPECT_EQ(back.attention_dropout, 0.1f);
  EXPECT_EQ(back.tie, Tie::target);
  EXPECT_EQ(back.norm_order, NormOrder::pre);
  EXPECT_EQ(back.activation, Activation::gelu);
  EXPECT_EQ(back.positions, Positions::learned);
  EXPECT_FALSE(back.attention_bias);
  EXPECT_EQ(back.head_width, 10);
  EXPECT_EQ(back.norm_kind, NormKind::rms);
  EXPECT_EQ(back.norm_eps, 1e-6f);
  EXPECT_TRUE(back.gated_ffn && !back.ffn_bias && back.query_key_norm);
  EXPECT_NE(text.find(R"("encoder_self_attention": "window=5+softmax-with-sink")"), std::string::npos);
  EXPECT_EQ(to_string(back.self_attention),
            "window=5+softmax-with-sink in the encoder, dilated=6:2 in the decoder");
  EXPECT_EQ(to_string(back.cross_attention), "additive");
  EXPECT_NE(text.find("\"attention_dropout\": 0.1,"), std::string::npos) << "0.1, not 0.10000000149";
}

TEST(Config, LayersMayHaveVariantsOfTheirOwn) {
  TransformerConfig c = unusual();
  c.encoder_layers = 5;
  c.self_attention = {AttentionPattern{{Full{}, 1}, {SlidingWindow{5}, 2}}, Alibi{}};
  c.cross_attention = {{Additive{}, 1}, {Bilinear{}, 1}};
  const std::string text = to_json(c);
  EXPECT_NE(text.find(R"("encoder_self_attention": "full,window=5*2")"), std::string::npos);
  EXPECT_NE(text.find(R"("cross_attention": "additive,bilinear")"), std::string::npos);
  const TransformerConfig back = config_from_json(text, "here").transformer();
  for (int64_t n = 0; n < 5; ++n) {
    const AttentionVariant variant = back.encoder_block(n).self_attention;
    EXPECT_EQ(variant, n % 3 == 0 ? AttentionVariant() : SlidingWindow{5}) << n;
  }
  EXPECT_EQ(back.decoder_block(7).self_attention, Alibi{});
  EXPECT_EQ(back.decoder_block(0).cross_attention, Additive{});
  EXPECT_EQ(back.decoder_block(3).cross_attention, Bilinear{});
  c.positions = Positions::rotary, c.self_attention = AttentionPattern{{Full{}, 1}, {SlidingWindow{5}, 2}};
  EXPECT_EQ(c.encoder_block(1).self_attention, SlidingWindow{5} + Rotary{});
  EXPECT_EQ(c.encoder_block(3).self_attention, Rotary{});
}

TEST(Config, EveryVariantOfAPatternIsChecked) {
  const std::string own = R"("encoder_self_attention": "window=5+softmax-with-sink")";
  EXPECT_NE(error_of(changed(own, R"("encoder_self_attention": "full,local-p")"))
                .find("encoder-self-attention: 'local-p' is for cross attention only"),
            std::string::npos);
  EXPECT_NE(error_of(changed(own, R"("encoder_self_attention": "full,window=5*0")"))
                .find("'encoder_self_attention': group 2: 'window=5*0': the number of layers after * must be"),
            std::string::npos);
}

TEST(Config, WhatIsNotInTheFileHasItsDefault) {
  const TransformerConfig c =
      config_from_json(
          R"({"architecture": "transformer", "format": 1, "source_vocabulary": 9, "target_vocabulary": 9})", "here")
          .transformer();
  EXPECT_EQ(c.d_model, TransformerConfig().d_model);
  EXPECT_EQ(c.tie, Tie::all);
  EXPECT_EQ(to_string(c.self_attention), "full");
}

TEST(Config, EveryKindOfBadFileIsAnInputErrorThatNamesTheFile) {
  EXPECT_EQ(error_of(to_json(unusual())), "");
  struct Case {
    std::string text, expected;
  };
  const std::string huge(100'000, '[');
  for (const Case& bad : {
           Case{"", "not a JSON object"},
           Case{"[1, 2]", "not a JSON object"},
           Case{"{\"architecture\": ", "not a JSON object"},
           Case{huge, "not a JSON object"},
           Case{changed("24", huge + std::string(100'000, ']')), "nested more than 32 levels deep"},
           Case{changed("\"heads\"", "\"d_model\""), "'d_model' occurs twice"},
           Case{changed("24", "\"" + huge + "\""), "'d_model' must be an integer, got \"[[["},
           Case{"{}", "'architecture' must be"},
           Case{"{\"architecture\": 7}", "'architecture' must be"},
           Case{changed("\"transformer\"", "\"bert\""), "'architecture' must be"},
           Case{changed("\"format\": 1", "\"format\": 2"), "'format' must be 1"},
           Case{changed("\"heads\": 6", "\"heads\": \"6\""), "'heads' must be an integer, got \"6\""},
           Case{changed("\"heads\": 6", "\"heads\": 6.5"), "'heads' must be an integer"},
           Case{changed("\"heads\": 6", "\"heads\": 18446744073709551615"), "'heads' must be an integer"},
           Case{changed("\"heads\": 6", "\"heads\": null"), "'heads' must be an integer"},
           Case{changed("\"heads\": 6", "\"heads\": 5"), "kv-heads 2 must divide heads 5"},
           Case{changed("\"heads\": 6", "\"heads\": 0"), "heads must be 1 to"},
           Case{changed("\"heads\": 6", "\"heads\": -6"), "heads must be 1 to"},
           Case{changed("\"head_width\": 10", "\"head_width\": -1"), "head-width must be 0 to 65536, got -1"},
           Case{changed("\"norm_eps\": 1e-06", "\"norm_eps\": 0"),
                "norm-eps must be above 0 and less than 1, got 0"},
           Case{changed("\"kv_heads\": 2", "\"kv_heads\": 4"), "kv-heads 4 must divide heads 6"},
           Case{changed("\"kv_heads\": 2", "\"kv_heads\": -1"), "kv-heads must be 0 to 16777216, got -1"},
           Case{changed("\"dropout\": 0.25", "\"dropout\": 1.0"), "dropout must be at least 0 and less than 1"},
           Case{changed("\"dropout\": 0.25", "\"dropout\": \"a\""), "'dropout' must be a number"},
           Case{changed("\"dropout\": 0.25", "\"dropout\": 1e300"), "dropout must be at least 0 and less than 1"},
           Case{changed("\"target\"", "\"some\""),
                "'tie' must be one of all, embeddings, target, none, got 'some'; did you mean none?"},
           Case{changed("\"target\"", "\"all\""), "tie all needs one vocabulary"},
           Case{
               changed("\"pre\"", "3"),
               "'norm_order' must be one of post, pre, pre-residual, sandwich, parallel, parallel-shared, got '3'"},
           Case{changed("\"gelu\"", "\"tanh\""), "'activation' must be one of relu, gelu"},
           Case{changed("\"learned\"", "\"rotory\""), "'positions' must be one of"},
           Case{changed("window=5", "widow=5"), "'encoder_self_attention': unknown mechanism 'widow'"},
           Case{changed("window=5", "window"), "'window': radius is missing"},
           Case{changed("window=5", "local-p"), "encoder-self-attention: 'local-p' is for cross attention only"},
           Case{changed("\"additive\"", "3"), "'cross_attention' must be a string, got 3"},
           Case{changed("\"attention_bias\": false", "\"attention_bias\": 0"),
                "'attention_bias' must be true or false"},
           Case{changed("\"attention_bias\"", "\"bias\""), "unknown key 'bias'"},
           Case{changed("\"encoder_layers\": 3", "\"encoder_layers\": 1001"),
                "encoder-layers must be 1 to 1000, got 1001"},
           Case{changed("\"max_positions\": 77", "\"max_positions\": 0"), "max-positions must be 1 to"},
           Case{changed("\"max_positions\": 77", "\"max_positions\": 16777216"),
                "max-positions 16777216 times d-model 24"},
           Case{changed("\"tie\"", "\"max_length\": 5, \"tie\""),
                "'max_length' and 'max_positions' cannot be used"},
           Case{changed("\"tie\"", "\"self_attention\": \"full\", \"tie\""),
                "'self_attention' and 'encoder_self_attention' cannot be used together"},
           Case{changed("\"source_vocabulary\": 11", "\"source_vocabulary\": 0"), "source-vocabulary must be 1 to"},
       }) {
    const std::string got = error_of(bad.text);
    EXPECT_TRUE(got.starts_with("folder/config.json: ")) << got;
    EXPECT_NE(got.find(bad.expected), std::string::npos) << got << "\ndoes not contain: " << bad.expected;
    EXPECT_EQ(got.find('\n'), std::string::npos) << "one line";
  }
}

TEST(Config, ReadsTheKeysOfVersion01) {
  const TransformerConfig c =
      config_from_json(
          R"({"architecture": "transformer", "format": 1, "source_vocabulary": 9, "target_vocabulary": 9,
              "self_attention": "window=3", "max_length": 32})",
          "here")
          .transformer();
  EXPECT_EQ(to_string(c.self_attention.encoder), "window=3");
  EXPECT_EQ(to_string(c.self_attention.decoder), "window=3");
  EXPECT_EQ(c.max_positions, 32);
  EXPECT_EQ(to_json(c).find("max_length"), std::string::npos);
}

TEST(Config, OnlySinusoidalAndLearnedPositionsHaveALimit) {
  TransformerConfig c = unusual();
  for (const auto& [positions, name] : names_of(Positions{})) {
    c.positions = positions;
    const bool limited = positions == Positions::sinusoidal || positions == Positions::learned;
    EXPECT_EQ(c.position_limit(), limited ? 77 : int64_t{1} << 24) << name;
  }
}

// The error of check(), or "".
std::string error_of(const ModelConfig& config) {
  try {
    config.check();
    return "";
  } catch (const UsageError& e) {
    return e.what();
  }
}

TEST(Config, IsThatOfATransformerOrOfARecurrentModel) {
  ModelConfig c;
  EXPECT_EQ(c.architecture(), Architecture::encoder_decoder);
  EXPECT_FALSE(c.is_recurrent());
  EXPECT_THROW(c.recurrent(), UsageError);
  c.transformer().heads = 2, c.transformer().head = false;
  c.set_vocabularies(7, 8);
  EXPECT_EQ(c.source_vocabulary(), 7);
  EXPECT_EQ(c.target_vocabulary(), 8);
  EXPECT_EQ(c.transformer().target_vocabulary, 8);
  EXPECT_EQ(c.position_limit(), 1024);
  EXPECT_FALSE(c.has_head());
  c = RecurrentConfig{.architecture = Architecture::luong, .d_model = 24, .tie = Tie::target};
  EXPECT_TRUE(c.is_recurrent());
  EXPECT_THROW(c.transformer(), UsageError);
  EXPECT_EQ(c.architecture(), Architecture::luong);
  EXPECT_EQ(c.d_model(), 24);
  EXPECT_EQ(c.tie(), Tie::target);
  EXPECT_EQ(c.position_limit(), int64_t{1} << 24);
  EXPECT_EQ(c.default_context(), 4096);
  EXPECT_TRUE(c.has_head());
  EXPECT_FALSE(c.depends_on_length());
}

TEST(Config, ATransformerIsNotRecurrentAndARecurrentModelNoTransformer) {
  for (const auto& [architecture, name] : names_of(Architecture{})) {
    TransformerConfig transformer{.architecture = architecture, .source_vocabulary = 9, .target_vocabulary = 9};
    RecurrentConfig recurrent{.architecture = architecture, .source_vocabulary = 9, .target_vocabulary = 9};
    if (is_recurrent(architecture)) {
      EXPECT_THROW(transformer.check(), UsageError) << name;
      EXPECT_THROW(ModelConfig{transformer}, UsageError) << name;
      EXPECT_NO_THROW(ModelConfig(recurrent).check()) << name;
    } else {
      EXPECT_THROW(recurrent.check(), UsageError) << name;
      EXPECT_THROW(ModelConfig{recurrent}, UsageError) << name;
      EXPECT_NO_THROW(ModelConfig(transformer).check()) << name;
    }
  }
}

TEST(Config, OfARecurrentModelHasNoKeysOfTransformers) {
  const RecurrentConfig c{.architecture = Architecture::luong,
                          .source_vocabulary = 9,
                          .target_vocabulary = 9,
                          .cross_attention = Dot{} + LocalP{3}};
  std::string text = to_json(c);
  EXPECT_EQ(text, R"({
  "architecture": "luong",
  "format": 1,
  "source_vocabulary": 9,
  "target_vocabulary": 9,
  "d_model": 256,
  "encoder_layers": 1,
  "decoder_layers": 1,
  "dropout": 0.1,
  "tie": "all",
  "cross_attention": "dot+local-p=3"
}
)");
  EXPECT_EQ(to_json(config_from_json(text, "here")), text);
  const std::string tie = "\"tie\"";
  for (const char* key : {"heads", "norm_order", "positions", "self_attention", "max_length", "decoder_ffn"}) {
    std::string with_key = text;
    with_key.insert(with_key.find(tie), fmt::format("\"{}\": 4, ", key));
    EXPECT_NE(error_of(with_key).find(fmt::format("unknown key '{}'", key)), std::string::npos)
        << error_of(with_key);
  }
  EXPECT_NE(error_of(text.replace(text.find("local-p"), 7, "window")).find("cross-attention"), std::string::npos);
}

// Another value than the default.
void change(int64_t& value) { value += 3; }
void change(float& value) { value = value * 0.5f + 0.25f; }
void change(bool& value) { value = !value; }
void change(AttentionPattern& value) { value = SlidingWindow{9}; }
void change(SelfAttention& value) { value = SlidingWindow{9}; }
template <WithNames Enum>
void change(Enum& value) {
  const auto names = names_of(Enum{});
  value = names.front().value == value ? names.back().value : names.front().value;
}
template <class T>
void change(std::optional<T>& value) {
  value.emplace();
}

template <class Config>
void check_every_field(const Config& usual) {
  std::set<std::string> names;
  visit_fields(usual, [&](const Setting& setting, const auto&, const FieldUse& use) {
    EXPECT_TRUE(names.insert(setting.name).second) << setting.name << " has two rows";
    if (setting.name == std::string("architecture")) return;
    Config config = usual;
    visit_fields(config, [&](const Setting& other, auto& field, const FieldUse&) {
      if (other.name == std::string(setting.name)) change(field);
    });
    const std::string of_others = fmt::format(" is for {}: a ", name_of(use.models));
    const bool is_refused = error_of(config).find(of_others) != std::string::npos;
    EXPECT_EQ(is_refused, !has_field(use.models, usual.architecture)) << setting.name << ": " << error_of(config);
    EXPECT_TRUE(is_refused || to_json(config) != to_json(usual)) << setting.name << " is not written";
  });
}

TEST(Config, EveryFieldIsWrittenAndRefusedByModelsWithoutIt) {
  for (const Architecture architecture : {Architecture::encoder_decoder, Architecture::causal})
    check_every_field(
        TransformerConfig{.architecture = architecture, .source_vocabulary = 9, .target_vocabulary = 9});
  check_every_field(RecurrentConfig{.source_vocabulary = 9, .target_vocabulary = 9});
}

TEST(Config, TheFileHasOneOrderAndRareKeysOnlyWhenTheyAreChanged) {
  TransformerConfig c = unusual();
  c.head_activation = Activation::gelu, c.logit_softcap = 30;
  EXPECT_EQ(to_json(c), R"({
  "architecture": "transformer",
  "format": 1,
  "source_vocabulary": 11,
  "target_vocabulary": 12,
  "d_model": 24,
  "heads": 6,
  "kv_heads": 2,
  "head_width": 10,
  "ffn": 40,
  "encoder_layers": 3,
  "decoder_layers": 1,
  "dropout": 0.25,
  "attention_dropout": 0.1,
  "ffn_dropout": 0.05,
  "norm_order": "pre",
  "norm_kind": "rms",
  "norm_eps": 1e-06,
  "activation": "gelu",
  "gated_ffn": true,
  "positions": "learned",
  "tie": "target",
  "attention_bias": false,
  "ffn_bias": false,
  "query_key_norm": true,
  "encoder_self_attention": "window=5+softmax-with-sink",
  "decoder_self_attention": "dilated=6:2",
  "cross_attention": "additive",
  "max_positions": 77,
  "head_activation": "gelu",
  "logit_softcap": 30.0
}
)");
}

TEST(Config, RecipesAreThoseOfTheirNames) {
  for (const std::string_view name : recipe_names()) {
    ModelConfig c = recipe(name);
    c.set_vocabularies(100, 100);
    EXPECT_NO_THROW(c.check()) << name;
  }
  EXPECT_EQ(recipe("transformer-big").d_model(), 1024);
  try {
    recipe("transformer-huge");
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find("transformer-tiny"), std::string::npos) << "it lists the recipes";
  }
}

}  // namespace qkv::config_test
