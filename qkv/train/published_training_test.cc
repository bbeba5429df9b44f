// Trainings that continue from a published model.
#include <gtest/gtest.h>

#include "qkv/base/file.h"
#include "qkv/pipeline/generator.h"
#include "qkv/pipeline/mask_filler.h"
#include "qkv/pipeline/translator.h"
#include "qkv/test_support/scratch_folder.h"
#include "qkv/train/defaults.h"
#include "qkv/train/train.h"

namespace qkv::published_training_test {

namespace fs = std::filesystem;

class PublishedTrainingTest : public ::testing::Test {
 protected:
  fs::path published(const std::string& name) const {
    return fs::path(QKV_SOURCE_DIR) / "test" / "checkpoints" / name;
  }
  fs::path file(const std::string& name, const std::string& text) {
    write_file(scratch_.path() / name, text);
    return scratch_.path() / name;
  }
  // Updates so small that they have no visible effect.
  fs::path train_from(const std::string& name, const fs::path& corpus) {
    return train_from(name, published(name), corpus);
  }
  fs::path train_from(const std::string& name, const fs::path& init, const fs::path& corpus) {
    const fs::path model = scratch_.path() / ("trained-" + name);
    train(options_for({.model = model, .train = corpus.string(), .init = init.string()}, [&](TrainOptions& o) {
      o.init = init.string();
      o.max_steps = 2;
      o.max_length = 24;
      o.batch_tokens = 64;
      o.hold_out = 0;
      o.quiet = true;
      o.learning_rate = 1e-12;
    }));
    return model;
  }

  test::ScratchFolder scratch_;
};

std::string lines(const std::string& text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text + std::string(1, static_cast<char>('a' + i)) + "\n";
  return out;
}

TEST_F(PublishedTrainingTest, ACausalModelGivesTheSameTextsAsBefore) {
  const fs::path corpus = file("text", lines("the man is here ", 8));
  for (const char* name : {"gpt2", "llama", "qwen2", "bloom"}) {
    const Generator before(published(name)), after(train_from(name, corpus));
    for (const char* prompt : {"the man", "a", "is here"}) {
      const GeneratedText a = before.generate(prompt, {.max_tokens = 8, .sampling = {.temperature = 0}}).answers[0];
      const GeneratedText b = after.generate(prompt, {.max_tokens = 8, .sampling = {.temperature = 0}}).answers[0];
      EXPECT_EQ(a.text, b.text) << name;
      EXPECT_NEAR(a.log_probability, b.log_probability, 1e-4) << name;
    }
  }
}

TEST_F(PublishedTrainingTest, AMaskedModelFillsTheSameTokensAsBefore) {
  const fs::path corpus = file("text", lines("the man is here ", 8));
  for (const char* name : {"bert", "roberta", "distilbert"}) {
    const MaskFiller before(published(name)), after(train_from(name, corpus));
    const FilledText a = before.fill("the [MASK] is here"), b = after.fill("the [MASK] is here");
    EXPECT_EQ(a.texts[0].text, b.texts[0].text) << name;
  }
}

TEST_F(PublishedTrainingTest, AnEncoderDecoderTranslatesAsBefore) {
  const fs::path corpus = file("pairs.tsv", lines("the man is here\tder mann ist hier ", 8));
  for (const char* name : {"marian", "t5", "bart", "m2m100", "ctranslate2-float32", "marian-npz"}) {
    const Translator before(published(name)), after(train_from(name, corpus));
    const Translation a = before.translate("the man"), b = after.translate("the man");
    EXPECT_EQ(a.text, b.text) << name;
    EXPECT_NEAR(a.log_probability, b.log_probability, 1e-3) << name;
  }
}

TEST_F(PublishedTrainingTest, KeepsHowTheModelSearchesAndSamples) {
  const fs::path pairs = file("pairs.tsv", lines("the man is here\tder mann ist hier ", 8)),
                 text = file("text", lines("the man is here ", 8));
  const fs::path bart = scratch_.path() / "bart";
  fs::copy(published("bart"), bart, fs::copy_options::recursive);
  write_file(bart / "generation_config.json",
             R"({"num_beams": 3, "length_penalty": 2.0, "no_repeat_ngram_size": 2})");
  const fs::path trained = train_from("bart", bart, pairs);
  EXPECT_EQ(read_file(trained / "generation_config.json"), read_file(bart / "generation_config.json"));
  EXPECT_EQ(Translator(trained).defaults().search.beam, 3);
  EXPECT_EQ(Translator(trained).defaults().search.length_normalization, LengthNormalization::power);
  EXPECT_EQ(Generator(train_from("gpt2", text)).defaults().sampling.temperature, 0) << "as in transformers";
  EXPECT_FALSE(fs::exists(train_from("bert", text) / "generation_config.json"))
      << "it neither searches nor samples";
  // Another model in its place has other settings.
  train(options_for({.model = trained, .train = pairs.string()}, [](TrainOptions& o) {
    o.overwrite = o.quiet = true;
    o.architecture.transformer().d_model = o.architecture.transformer().ffn = 16,
    o.architecture.transformer().heads = 2;
    o.vocabulary_size = 40, o.max_steps = 1, o.hold_out = 0;
  }));
  EXPECT_FALSE(fs::exists(trained / "generation_config.json"));
  EXPECT_EQ(Translator(trained).defaults().search.length_normalization, LengthNormalization::wu);
}

TEST_F(PublishedTrainingTest, LearnsWithTheIdsOfItsVocabulary) {
  const fs::path corpus = file("text", "the man is here\nthe man is here\nthe man is here\nthe man is here\n");
  const fs::path model = scratch_.path() / "learned";
  train(options_for({.model = model, .train = corpus.string(), .init = published("gpt2").string()},
                    [&](TrainOptions& o) {
                      o.init = published("gpt2").string();
                      o.max_steps = 60;
                      o.max_length = 24;
                      o.batch_tokens = 96;
                      o.hold_out = 0;
                      o.quiet = true;
                      o.learning_rate = 0.02;
                      o.warmup = 5;
                      o.architecture.transformer().dropout = 0;
                    }));
  const Generator generator(model);
  const GeneratedText text =
      generator.generate("the man is", {.max_tokens = 12, .sampling = {.temperature = 0}}).answers[0];
  EXPECT_EQ(text.text, " here");
  EXPECT_EQ(text.end, Generated::End::eos) << "the token that ends a text was learned";
}

}  // namespace qkv::published_training_test
