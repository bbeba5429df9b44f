#include "qkv/pipeline/generation_config.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/test_support/scratch_folder.h"

namespace qkv::generation_config_test {

using test::ScratchFolder;

class GenerationConfig : public testing::Test {
 public:
  GenerationConfig() { write("config.json", R"({"model_type": "bart", "num_beams": 7})"); }
  void write(const char* name, const std::string& text) { write_file(folder.path() / name, text); }

  ScratchFolder folder;
};

TEST_F(GenerationConfig, SetsTheOptionsOfATranslator) {
  write("generation_config.json",
        R"({"num_beams": 5, "length_penalty": 2.0, "early_stopping": true, "max_length": 142,
        "min_length": 56, "no_repeat_ngram_size": 3, "forced_eos_token_id": 2})");
  const TranslateOptions o = translate_defaults(folder.path());
  EXPECT_EQ(o.search.beam, 5);
  EXPECT_EQ(o.search.length_penalty, 2.0);
  EXPECT_EQ(o.search.length_normalization, LengthNormalization::power);
  EXPECT_TRUE(o.search.early_stopping);
  EXPECT_EQ(o.search.max_length, 140) << "without the first token and the end";
  EXPECT_EQ(o.search.min_length, 55);
  EXPECT_EQ(o.search.no_repeat_ngram, 3);
}

TEST_F(GenerationConfig, OlderFoldersHaveThemInConfigJson) {
  EXPECT_EQ(translate_defaults(folder.path()).search.beam, 7);
  EXPECT_FALSE(translate_defaults(folder.path()).search.early_stopping) << "as in transformers";
}

TEST_F(GenerationConfig, SetsHowAGeneratorSamples) {
  write("generation_config.json", R"({"do_sample": true, "temperature": 0.6, "top_p": 0.9, "max_new_tokens": 12})");
  const GenerateTextOptions o = generate_defaults(folder.path());
  EXPECT_EQ(o.sampling.temperature, 0.6);
  EXPECT_EQ(o.sampling.top_p, 0.9);
  EXPECT_EQ(o.max_tokens, 12);
  EXPECT_EQ(o.sampling.top_k, 50) << "as in transformers";
  for (const char* greedy : {R"({"do_sample": false, "temperature": 0.6, "repetition_penalty": 1.2})",
                             R"({"temperature": 0.6, "repetition_penalty": 1.2})"}) {
    write("generation_config.json", greedy);
    EXPECT_EQ(generate_defaults(folder.path()).sampling.temperature, 0);
    EXPECT_EQ(generate_defaults(folder.path()).sampling.repetition_penalty, 1.2);
  }
  write("generation_config.json", R"({"num_beams": 3, "max_new_tokens": 9, "forced_eos_token_id": 2})");
  EXPECT_EQ(generate_defaults(folder.path()).beam, 3);
  EXPECT_EQ(generate_defaults(folder.path()).max_tokens, 8) << "without the end";
}

TEST(DefaultsFor, KeepWhatTheGivenOptionsDoNotExclude) {
  GenerateTextOptions searches, greedy;
  searches.beam = 4, searches.length_penalty = 2;
  greedy.sampling.temperature = 0, greedy.sampling.repetition_penalty = 1.2;

  EXPECT_EQ(defaults_for({}, {}, searches).beam, 4);
  EXPECT_EQ(defaults_for({}, {"max-tokens"}, searches).beam, 4);
  for (const char* name : {"temperature", "no-repeat-ngram", "stop"})
    EXPECT_EQ(defaults_for({}, {name}, searches).beam, 1) << name;
  EXPECT_EQ(defaults_for({.beam = 8}, {"beam", "top-k"}, searches).beam, 8) << "which check_options() refuses";

  EXPECT_EQ(defaults_for({}, {}, greedy).sampling, greedy.sampling);
  EXPECT_EQ(defaults_for({.beam = 3}, {"beam"}, greedy).sampling, SamplingOptions())
      << "a beam search does not sample";
  EXPECT_EQ(defaults_for({.sampling = {.top_k = 5}}, {"top-k"}, greedy).sampling.temperature, 1);
  EXPECT_EQ(defaults_for({.sampling = {.top_k = 0}}, {"top-k"}, greedy).sampling.temperature, 0) << "no limit";
  EXPECT_EQ(defaults_for({.sampling = {.temperature = 0.5}}, {"temperature"}, greedy).sampling.repetition_penalty,
            1.2);
}

TEST_F(GenerationConfig, IgnoredSettingsAreNamed) {
  const std::string file = (folder.path() / "generation_config.json").string();
  write("generation_config.json",
        R"({"early_stopping": "never", "repetition_penalty": 1.2, "num_beams": 4,
        "exponential_decay_length_penalty": [4, 1.1]})");
  EXPECT_FALSE(translate_defaults(folder.path()).search.early_stopping);
  EXPECT_EQ(ignored_by_translate(folder.path()),
            (std::vector<std::string>{file + ": 'exponential_decay_length_penalty' is ignored in translations",
                                      file + ": 'early_stopping' is ignored in translations",
                                      file + ": 'repetition_penalty' is ignored in translations"}));
  EXPECT_EQ(ignored_by_generate(folder.path()).size(), 3u) << "a beam search does not penalise repetition";
  write("generation_config.json", R"({"do_sample": true, "num_beams": 4, "typical_p": 0.9})");
  EXPECT_EQ(ignored_by_generate(folder.path()),
            (std::vector<std::string>{file + ": 'num_beams' is ignored in generated texts",
                                      file + ": 'typical_p' is ignored in generated texts"}));
  write("generation_config.json", R"({"num_beams": 4, "length_penalty": 2.0, "early_stopping": true})");
  EXPECT_TRUE(ignored_by_translate(folder.path()).empty());
}

TEST_F(GenerationConfig, IsTheDefaultOfTranslatorAndGenerator) {
  const auto published = [](const char* name) {
    return std::filesystem::path(QKV_SOURCE_DIR) / "test" / "checkpoints" / name;
  };
  const Translator translator(published("bart"));
  EXPECT_EQ(translator.defaults().search.beam, translate_defaults(published("bart")).search.beam);
  EXPECT_EQ(translator.translate("the cat").log_probability,
            translator.translate("the cat", translate_defaults(published("bart"))).log_probability);
  const Generator generator(published("gpt2"));
  EXPECT_EQ(generator.defaults().sampling.temperature, 0);
  EXPECT_EQ(generator.generate("the cat").answers[0].tokens,
            generator.generate("the cat", generate_defaults(published("gpt2"))).answers[0].tokens);
}

TEST_F(GenerationConfig, AFolderOfOursHasTheDefaultsOfTheOptions) {
  const ScratchFolder ours;
  write_file(ours.path() / "config.json", R"({"d_model": 32})");
  EXPECT_EQ(translate_defaults(ours.path()).search.length_normalization, LengthNormalization::wu);
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
  write("generation_config.json", R"({"do_sample": true, "top_p": 3})");
  EXPECT_THROW(generate_defaults(folder.path()), InputError);
}

}  // namespace qkv::generation_config_test
