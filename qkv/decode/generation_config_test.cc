#include "qkv/decode/generation_config.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/test_support/scratch_folder.h"

namespace qkv {
namespace {

using test::ScratchFolder;

class GenerationConfig : public testing::Test {
 public:
  GenerationConfig() { write("config.json", R"({"model_type": "bart", "num_beams": 7})"); }
  void write(const char* name, const std::string& text) { write_file(folder.path() / name, text); }

  ScratchFolder folder;
};

TEST_F(GenerationConfig, OfATranslatorAreTheSettingsOfItsFile) {
  write("generation_config.json",
        R"({"num_beams": 5, "length_penalty": 2.0, "early_stopping": true, "max_length": 142,
        "min_length": 56, "no_repeat_ngram_size": 3, "forced_eos_token_id": 2})");
  const TranslateOptions o = translate_defaults(folder.path());
  EXPECT_EQ(o.beam, 5);
  EXPECT_EQ(o.length_penalty, 2.0);
  EXPECT_EQ(o.length_normalization, LengthNormalization::power);
  EXPECT_TRUE(o.early_stopping);
  EXPECT_EQ(o.max_length, 140) << "without the first token and the end";
  EXPECT_EQ(o.min_length, 55);
  EXPECT_EQ(o.no_repeat_ngram, 3);
}

TEST_F(GenerationConfig, OlderFoldersHaveThemInConfigJson) {
  EXPECT_EQ(translate_defaults(folder.path()).beam, 7);
  EXPECT_FALSE(translate_defaults(folder.path()).early_stopping) << "as in transformers";
}

TEST_F(GenerationConfig, OfAGeneratorAreHowItSamples) {
  write("generation_config.json", R"({"do_sample": true, "temperature": 0.6, "top_p": 0.9, "max_new_tokens": 12})");
  const GenerateTextOptions o = generate_defaults(folder.path());
  EXPECT_EQ(o.sampling.temperature, 0.6);
  EXPECT_EQ(o.sampling.top_p, 0.9);
  EXPECT_EQ(o.max_tokens, 12);
  write("generation_config.json", R"({"do_sample": false, "temperature": 0.6, "repetition_penalty": 1.2})");
  EXPECT_EQ(generate_defaults(folder.path()).sampling.temperature, 0);
  EXPECT_EQ(generate_defaults(folder.path()).sampling.repetition_penalty, 1.2);
}

TEST_F(GenerationConfig, AFolderOfOursHasTheDefaultsOfTheOptions) {
  const ScratchFolder ours;
  write_file(ours.path() / "config.json", R"({"d_model": 32})");
  EXPECT_EQ(translate_defaults(ours.path()).length_normalization, LengthNormalization::wu);
  EXPECT_EQ(generate_defaults(ours.path()).sampling.temperature, 1);
}

TEST_F(GenerationConfig, BadSettingsAreErrorsThatNameTheFile) {
  for (const char* bad : {R"({"num_beams": 100000})", R"({"num_beams": "four"})", R"({"no_repeat_ngram_size": -1})",
                          R"({"length_penalty": []})", R"({"early_stopping": "maybe"})", "[]"}) {
    write("generation_config.json", bad);
    try {
      translate_defaults(folder.path());
      ADD_FAILURE() << bad;
    } catch (const InputError& e) {
      EXPECT_NE(std::string(e.what()).find("generation_config.json"), std::string::npos) << e.what();
    }
  }
  write("generation_config.json", R"({"top_p": 3})");
  EXPECT_THROW(generate_defaults(folder.path()), InputError);
}

}  // namespace
}  // namespace qkv
