#include "qkv/train/defaults.h"

#include <algorithm>
#include <fstream>
#include <unistd.h>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/train/training_test.h"

namespace qkv::defaults_test {

namespace fs = std::filesystem;

TEST(DefaultOptions, SuitCorporaOfEverySize) {
  int64_t width = 0, vocabulary = 0, updates = 0;
  double dropout = 1;
  for (const int64_t pairs : {0, 1, 100, 5'000, 29'000, 165'000, 1'000'000, 30'000'000}) {
    TrainOptions o = default_options({.pairs = pairs, .sources = pairs});
    o.train = "pairs.tsv";
    o.model = "m";
    EXPECT_NO_THROW(o.check()) << pairs;
    EXPECT_GE(o.architecture.d_model(), width);
    EXPECT_GE(o.vocabulary_size, vocabulary);
    EXPECT_GE(o.max_steps, updates);
    EXPECT_LE(o.architecture.transformer().dropout, dropout);
    EXPECT_LE(o.hold_out, pairs / 50);
    EXPECT_GE(o.max_steps / o.valid_every, 10);
    width = o.architecture.d_model();
    vocabulary = o.vocabulary_size;
    updates = o.max_steps;
    dropout = o.architecture.transformer().dropout;
  }
}

TEST(DefaultOptions, HoldOutPairsIfThereIsNoValidationData) {
  EXPECT_EQ(default_options({.pairs = 29'000, .sources = 29'000}).hold_out, 580);
  EXPECT_EQ(default_options({.pairs = 29'000, .sources = 29'000, .has_validation = true}).hold_out, 0);
}

TEST(OptionsByCorpus, AreThoseThatDiffer) {
  const std::vector<std::string> names = options_by_corpus();
  const auto has = [&](const char* name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  EXPECT_TRUE(has("vocabulary-size"));
  EXPECT_TRUE(has("d-model"));
  EXPECT_TRUE(has("max-steps"));
  EXPECT_FALSE(has("schedule"));
}

class OptionsForTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / fmt::format("options-for.{}", ::getpid());
    fs::create_directories(folder_);
    write_small_corpus(folder_ / "pairs.tsv", 300, 1);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(OptionsForTest, CountTheCorpusAndTakeTheSizesOfARecipe) {
  const std::string corpus = (folder_ / "pairs.tsv").string();
  const TrainOptions o = options_for({.model = folder_ / "m", .train = corpus});
  const TrainOptions expected = default_options({.pairs = 300});
  EXPECT_EQ(o.hold_out, 6);
  EXPECT_EQ(o.architecture.d_model(), expected.architecture.d_model());
  EXPECT_TRUE(o.corpus);
  const TrainOptions base = options_for({.model = folder_ / "m", .train = corpus, .recipe = "transformer-base"});
  EXPECT_EQ(base.architecture.d_model(), 512);
  EXPECT_EQ(base.architecture.transformer().dropout, expected.architecture.transformer().dropout);  // by the corpus
  EXPECT_THROW(options_for({.model = folder_ / "m", .train = (folder_ / "none.tsv").string()}), InputError);
}

TEST_F(OptionsForTest, OfATextWithoutTranslationsNameTheArchitecturesForIt) {
  write_file(folder_ / "text.txt", "one\ntwo\n");
  try {
    options_for({.model = folder_ / "m", .train = (folder_ / "text.txt").string()});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(
        std::string(error.what()),
        (folder_ / "text.txt").string() +
            ":1: no tab, expected 'source TAB target'; of a model of text without translations the architecture "
            "is causal or masked");
  }
}

TEST_F(OptionsForTest, HoldNothingOutOfACorpusOfOneSentence) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "one\ttwo\n";
  write_file(folder_ / "same.tsv", text);
  EXPECT_EQ(options_for({.model = folder_ / "m", .train = (folder_ / "same.tsv").string()}).hold_out, 0);
}

TEST_F(OptionsForTest, AreCheckedBeforeTheCorpusIsRead) {
  const auto apply = [](TrainOptions& o) { o.batch_tokens = 0; };
  EXPECT_THROW(options_for({.model = folder_ / "m", .train = (folder_ / "none.tsv").string()}, apply), UsageError);
}

TEST_F(OptionsForTest, AreThoseOfTheTrainingToResume) {
  TrainOptions started = small_training(folder_ / "pairs.tsv", folder_ / "m");
  started.max_steps = 2;
  train(started);
  const TrainOptions again = options_for({.model = folder_ / "m", .resume = true});
  EXPECT_EQ(again.batch_tokens, started.batch_tokens);
  EXPECT_EQ(again.architecture.d_model(), 16);
  EXPECT_TRUE(again.resume);
}

}  // namespace qkv::defaults_test
