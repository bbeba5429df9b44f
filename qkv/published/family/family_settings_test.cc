// Settings of config.json that change what a model computes, read as transformers reads them, missing ones included.
#include <gtest/gtest.h>

#include "qkv/layer/mechanism/rotary.h"
#include "qkv/model/masked.h"
#include "qkv/published/published_folder_test.h"

namespace qkv::family_settings_test {

using test::PublishedFolder;

TransformerConfig config_of(const PublishedFolder& folder) { return load_config(folder.path()).transformer(); }
AttentionVariant layer(const PublishedFolder& folder, int64_t n) {
  return config_of(folder).self_attention.decoder.of_layer(n);
}

TEST(FamilySettings, MissingSettingsHaveTheDefaultsOfTheFamily) {
  const PublishedFolder gemma("gemma2");
  for (const char* key : {"final_logit_softcapping", "attn_logit_softcapping", "head_dim"}) gemma.erase(key);
  EXPECT_EQ(config_of(gemma).logit_softcap, 30);
  EXPECT_EQ(config_of(gemma).head_width, 256);
  ASSERT_TRUE(layer(gemma, 0).get<Softcap>());
  EXPECT_EQ(layer(gemma, 0).get<Softcap>()->cap, 50);
  for (const char* key : {"final_logit_softcapping", "attn_logit_softcapping"}) gemma.change(key, nullptr);
  EXPECT_EQ(config_of(gemma).logit_softcap, 0) << "null: none";
  EXPECT_FALSE(layer(gemma, 0).get<Softcap>());

  const PublishedFolder neox("gpt_neox");
  neox.change("rope_parameters", {{"rope_theta", 10000.0}, {"rope_type", "default"}});
  EXPECT_EQ(layer(neox, 0).get<Rotary>()->width, config_of(neox).d_model / config_of(neox).heads / 4);

  const PublishedFolder m2m100("m2m100");
  for (const char* key : {"scale_embedding", "activation_function"}) m2m100.erase(key);
  EXPECT_EQ(config_of(m2m100).embedding_scale, 0) << "sqrt(C)";
  EXPECT_EQ(config_of(m2m100).activation, Activation::relu);

  const PublishedFolder mistral("mistral");
  mistral.erase("sliding_window");
  EXPECT_EQ(layer(mistral, 0).get<SlidingWindow>()->radius, 4095);
  mistral.change("sliding_window", nullptr);
  EXPECT_FALSE(layer(mistral, 0).get<SlidingWindow>());

  const PublishedFolder mt5("mt5");
  for (const char* key : {"feed_forward_proj", "dense_act_fn", "is_gated_act"}) mt5.erase(key);
  EXPECT_TRUE(config_of(mt5).gated_ffn);
  EXPECT_EQ(config_of(mt5).activation, Activation::gelu_tanh);
}

TEST(FamilySettings, SettingsThatTransformersIgnoresAreIgnored) {
  for (const char* name : {"llama", "mistral", "qwen2", "gemma2", "falcon"}) {
    const PublishedFolder folder(name);
    const AttentionPattern before = config_of(folder).self_attention.decoder;
    folder.change("partial_rotary_factor", 0.5);
    folder.change("rotary_pct", 0.5);
    EXPECT_EQ(config_of(folder).self_attention.decoder, before) << name;
  }
  const PublishedFolder mpnet("mpnet");
  const TransformerConfig before = config_of(mpnet);
  mpnet.change("pad_token_id", 4);
  EXPECT_EQ(config_of(mpnet).position_offset, 2);
  EXPECT_EQ(config_of(mpnet).max_positions, before.max_positions);
}

TEST(FamilySettings, AMistralWithLayerTypesIsAMinistral) {
  const PublishedFolder folder("mistral");
  folder.change("layer_types", {"full_attention", "sliding_attention"});
  EXPECT_FALSE(layer(folder, 0).get<SlidingWindow>());
  EXPECT_EQ(layer(folder, 1).get<SlidingWindow>()->radius, 5);
  const PublishedFolder phi3("phi3");
  const AttentionPattern before = config_of(phi3).self_attention.decoder;
  phi3.change("layer_types", {"full_attention", "sliding_attention"});
  EXPECT_EQ(config_of(phi3).self_attention.decoder, before) << "which does not have them";
}

TEST(FamilySettings, DenseActFnDecidesTheFeedForwardNetwork) {
  const PublishedFolder folder("t5");
  folder.change("dense_act_fn", "silu");
  folder.change("feed_forward_proj", "relu");
  EXPECT_EQ(config_of(folder).activation, Activation::silu);
}

// is_causal: false
TEST(FamilySettings, ADecoderThatIsNotCausalIsAnEncoder) {
  const PublishedFolder folder("qwen2");
  folder.change("is_causal", false);
  ASSERT_EQ(folder.error(), "");
  const SavedModel saved = read_model(folder.path());
  const auto* model = dynamic_cast<const MaskedTransformer*>(saved.model.get());
  ASSERT_TRUE(model);
  EXPECT_FALSE(model->config().has_head());
  const auto first_state = [&](std::vector<int32_t> ids) {
    Pass pass;
    const int64_t T = std::ssize(ids);
    return model->encode(Tensor::from(ids, {1, T}), {static_cast<int32_t>(T)}, pass).value().at<float>({0, 0, 0});
  };
  EXPECT_NE(first_state({5, 9, 13}), first_state({5, 9, 14})) << "it sees the last token";
  const PublishedFolder mistral("mistral"), bloom("bloom");
  for (const PublishedFolder* refused : {&mistral, &bloom}) {
    refused->change("is_causal", false);
    EXPECT_EQ(
        refused->error(),
        "config.json: 'is_causal' is false: attention to later tokens is not supported with windows or ALiBi");
  }
}

TEST(FamilySettings, SettingsThatWereRejectedForNoReasonAreRead) {
  const PublishedFolder bloom("bloom");
  bloom.change("apply_residual_connection_post_layernorm", true);
  EXPECT_EQ(bloom.error(), "");
  EXPECT_EQ(config_of(bloom).norm_order, NormOrder::pre_residual);
  const PublishedFolder t5("t5");
  t5.change("relative_attention_num_buckets", 6);
  EXPECT_EQ(t5.error_of([&] { config_of(t5); }), "");
}

// Python writes these values, in settings that other programs read.
TEST(FamilySettings, InfinityIsAnErrorWhereItIsRead) {
  const PublishedFolder folder("llama");
  const std::string before = folder.config().dump();
  folder.write("config.json", "{\"a\": Infinity, \"b\": [-Infinity, NaN, \"\\\"NaN\"], " + before.substr(1));
  EXPECT_EQ(folder.error(), "");
  PublishedFolder::Json config = PublishedFolder::Json::parse(before);
  config["rms_norm_eps"] = "EPS";
  std::string text = config.dump();
  text.replace(text.find("\"EPS\""), 5, "Infinity");
  folder.write("config.json", text);
  EXPECT_EQ(folder.error(), "config.json: 'rms_norm_eps' must be a number, got \"Infinity\"");
}

}  // namespace qkv::family_settings_test
