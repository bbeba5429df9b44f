#include "qkv/model/architecture_settings.h"

#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/base/error.h"

namespace qkv::architecture_settings_test {

template <class T>
void set(ArchitectureSettings& settings, const std::string& name, const T& value) {
  bool found = false;
  settings.visit([&]<class Field>(const Setting& setting, Field& field) {
    if constexpr (std::is_same_v<Field, T>)
      if (name == setting.name) field = value, found = true;
  });
  EXPECT_TRUE(found) << name;
}

// The error of config(), or "".
std::string error_of(const ArchitectureSettings& settings) {
  try {
    settings.config("train");
    return "";
  } catch (const UsageError& e) {
    return e.what();
  }
}

TEST(ArchitectureSettings, GiveBackAConfigurationThatNothingWasChangedIn) {
  TransformerConfig published{.architecture = Architecture::causal, .d_model = 24, .heads = 3};
  published.norm_weight_offset = 1;  // no setting
  published.source_vocabulary = 7;
  const RecurrentConfig recurrent{.architecture = Architecture::luong,
                                  .source_vocabulary = 7,
                                  .target_vocabulary = 8,
                                  .d_model = 24,
                                  .encoder_layers = 2,
                                  .decoder_layers = 3,
                                  .dropout = 0.25f,
                                  .tie = Tie::target,
                                  .cross_attention = Bilinear{}};
  for (const ModelConfig& config : {ModelConfig(published), ModelConfig(recurrent)})
    EXPECT_EQ(to_json(ArchitectureSettings(config).config("train")), to_json(config));
}

TEST(ArchitectureSettings, AreThoseOfEveryArchitecture) {
  std::vector<std::string> of_transformer, of_recurrent;
  ArchitectureSettings(recipe("transformer-tiny")).visit([&](const Setting& setting, const auto&) {
    of_transformer.emplace_back(setting.name);
  });
  ArchitectureSettings(recipe("luong")).visit([&](const Setting& setting, const auto&) {
    of_recurrent.emplace_back(setting.name);
  });
  EXPECT_EQ(of_transformer, of_recurrent);
  EXPECT_EQ(of_transformer.front(), "architecture");
}

TEST(ArchitectureSettings, BecomeTheConfigurationOfTheArchitectureWhateverTheOrder) {
  for (const bool architecture_first : {true, false}) {
    ArchitectureSettings settings;
    if (architecture_first) set(settings, "architecture", Architecture::bahdanau);
    set(settings, "d-model", int64_t{48});
    set(settings, "encoder-layers", int64_t{2});
    if (!architecture_first) set(settings, "architecture", Architecture::bahdanau);
    const RecurrentConfig c = settings.config("train").recurrent();
    EXPECT_EQ(c.architecture, Architecture::bahdanau);
    EXPECT_EQ(c.d_model, 48);
    EXPECT_EQ(c.encoder_layers, 2);
  }
  ArchitectureSettings settings(RecurrentConfig{.d_model = 48});
  set(settings, "architecture", Architecture::causal);
  set(settings, "heads", int64_t{3});
  const TransformerConfig c = settings.config("train").transformer();
  EXPECT_EQ(c.architecture, Architecture::causal);
  EXPECT_EQ(c.d_model, 48);
  EXPECT_EQ(c.heads, 3);
  EXPECT_EQ(c.ffn, TransformerConfig().ffn);
}

TEST(ArchitectureSettings, OfTransformersAreRefusedByARecurrentModel) {
  for (const Architecture architecture : {Architecture::bahdanau, Architecture::luong}) {
    const ArchitectureSettings usual(recipe(name_of(architecture)));
    const auto error = [&](const char* name, const auto& value) {
      ArchitectureSettings settings = usual;
      set(settings, name, value);
      return error_of(settings);
    };
    const std::string none = fmt::format(" is for Transformers: a {} model has none", name_of(architecture));
    EXPECT_EQ(error("heads", int64_t{2}), "train: heads" + none);
    EXPECT_EQ(error("kv-heads", int64_t{2}), "train: kv-heads" + none);
    EXPECT_EQ(error("head-width", int64_t{8}), "train: head-width" + none);
    EXPECT_EQ(error("norm", NormOrder::post), "train: norm" + none);
    EXPECT_EQ(error("activation", Activation::gelu), "train: activation" + none);
    EXPECT_EQ(error("positions", Positions::rotary), "train: positions" + none);
    EXPECT_EQ(error("gated-ffn", true), "train: gated-ffn" + none);
    EXPECT_EQ(error("query-key-norm", true), "train: query-key-norm" + none);
    EXPECT_EQ(error("attention-dropout", 0.1f), "train: attention-dropout" + none);
    EXPECT_EQ(error("ffn-dropout", 0.1f), "train: ffn-dropout" + none);
    EXPECT_EQ(error("self-attention", SelfAttention(SlidingWindow{4})), "train: self-attention" + none);
    EXPECT_EQ(error("max-positions", int64_t{9}), "train: max-positions" + none);
    EXPECT_EQ(error("heads", TransformerConfig().heads), "") << "it says nothing new";
    EXPECT_EQ(error("d-model", int64_t{250}), "") << "no heads, which would have to divide it";
    EXPECT_EQ(error("dropout", 0.2f), "");
    EXPECT_EQ(error("cross-attention", AttentionPattern(Bilinear{})), "");
  }
}

// As when a training of a Transformer is resumed with --architecture luong: its heads were not asked for.
TEST(ArchitectureSettings, ThatWereNotChangedAreNotRefused) {
  ArchitectureSettings settings(recipe("transformer-tiny"));
  set(settings, "architecture", Architecture::luong);
  EXPECT_EQ(error_of(settings), "");
  set(settings, "heads", int64_t{2});
  EXPECT_EQ(error_of(settings), "train: heads is for Transformers: a luong model has none");
}

}  // namespace qkv::architecture_settings_test
