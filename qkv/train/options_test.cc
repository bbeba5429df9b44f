#include "qkv/train/options.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"

namespace qkv::options_test {

TrainOptions some_options() {
  TrainOptions o;
  o.train = "pairs.tsv";
  o.model = "model";
  o.architecture = recipe("transformer-tiny");
  return o;
}

void expect_refused(const TrainOptions& options, const std::string& word) {
  try {
    options.check();
    FAIL() << word;
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << e.what();
  }
}

TEST(TrainOptions, AreTheSameAfterJson) {
  TrainOptions o = some_options();
  o.seed = 0xffffffffffffffff;
  o.learning_rate = 0.1 + 0.2;
  o.schedule = ScheduleKind::inverse_sqrt;
  o.optimizer = OptimizerKind::adamw;
  o.patience_on = Goal::bleu;
  o.tokenizer = TokenizerType::bpe;
  o.architecture.transformer().self_attention = BigBird{.block = 8};
  const TrainOptions back = train_options_from_json(to_json(o), "options.json");
  EXPECT_EQ(to_json(back), to_json(o));
  EXPECT_EQ(back.seed, o.seed);
  EXPECT_EQ(back.learning_rate, o.learning_rate);
  EXPECT_EQ(back.architecture.d_model(), 128);
}

TEST(TrainOptions, RefuseAFileThatIsNotOptions) {
  for (const char* text :
       {"", "[]", "{}", R"({"surprise": 1})", R"({"max-steps": "many"})", R"({"threads": 1e99})",
        R"({"threads": 99999999999})", R"({"seed": -1})", R"({"schedule": "step"})", R"({"architecture": 7})"})
    EXPECT_THROW(train_options_from_json(text, "options.json"), InputError) << text;
}

TEST(TrainOptions, RefuseAFileThatIsNestedTooDeep) {
  for (const char* key : {"schedule", "architecture", "max-steps"}) {
    const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
    try {
      train_options_from_json(fmt::format("{{\"{}\": {}}}", key, deep), "options.json");
      FAIL() << key;
    } catch (const InputError& e) {
      EXPECT_NE(std::string(e.what()).find("options.json: "), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find("nested more than 32 levels deep"), std::string::npos) << e.what();
    }
  }
}

TEST(TrainOptions, NameTheOptionThatIsOutOfRange) {
  EXPECT_NO_THROW(some_options().check());
  const auto refused = [](const std::string& word, auto change) {
    TrainOptions o = some_options();
    change(o);
    expect_refused(o, word);
  };
  refused("train", [](TrainOptions& o) { o.train = ""; });
  refused("model", [](TrainOptions& o) { o.model = ""; });
  refused("accumulate", [](TrainOptions& o) { o.accumulate = 0; });
  refused("batch-tokens", [](TrainOptions& o) { o.batch_tokens = 0; });
  refused("label-smoothing", [](TrainOptions& o) { o.label_smoothing = 1; });
  refused("r-drop", [](TrainOptions& o) { o.r_drop = -1; });
  refused("r-drop", [](TrainOptions& o) { o.r_drop = 5, o.architecture.transformer().dropout = 0; });
  refused("max-length", [](TrainOptions& o) { o.max_length = 2000; });
  refused("bpe-dropout", [](TrainOptions& o) { o.bpe_dropout = 1.5; });
  refused("bpe-dropout", [](TrainOptions& o) {
    o.bpe_dropout = 0.1;
    o.tokenizer = TokenizerType::unigram;
  });
  refused("never end", [](TrainOptions& o) { o.max_steps = 0; });  // without validation, patience does not end it
  refused("linear", [](TrainOptions& o) {
    o.schedule = ScheduleKind::linear;
    o.max_steps = 0;
    o.patience = o.hold_out = 10;
  });
  refused("overwrite", [](TrainOptions& o) { o.resume = o.overwrite = true; });
}

TEST(TrainOptions, KnowWhatAResumedTrainingMayChange) {
  const std::string before = to_json(some_options());
  TrainOptions now = some_options();
  now.max_steps = 7;
  now.threads = 3;
  now.save_every = 1;
  now.train = "elsewhere/pairs.tsv";
  EXPECT_EQ(difference(before, now, "state"), std::nullopt);
  now.batch_tokens = 100;
  EXPECT_EQ(difference(before, now, "state"), "'batch-tokens' was 4096 and is now 100");
  now = some_options();
  now.learning_rate = 0.01;
  EXPECT_EQ(difference(before, now, "state"), "'learning-rate' was automatic (0.005) and is now 0.01");
  now = some_options();
  now.architecture.transformer().heads = 2;
  EXPECT_EQ(difference(before, now, "state"), "'heads' was 4 and is now 2");
  now = some_options();
  now.architecture.transformer().self_attention = SlidingWindow{64};
  EXPECT_EQ(difference(before, now, "state"), R"('self-attention' was "full" and is now "window=64")");
}

TEST(TrainOptions, StoreOneCorpusAsATextAndSeveralAsAList) {
  TrainOptions o = some_options();
  EXPECT_NE(to_json(o).find(R"("train": "pairs.tsv")"), std::string::npos);
  o.train = {"a.en,a.fr", "b.tsv"};
  EXPECT_EQ(train_options_from_json(to_json(o), "options.json").train, o.train);
  std::string text = to_json(o);
  text.replace(text.find("\"b.tsv\""), 7, "17");
  try {
    train_options_from_json(text, "options.json");
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("'train' must be a string or a list of strings"), std::string::npos);
  }
}

TEST(TrainOptions, HaveALearningRateForEverySchedule) {
  TrainOptions o = some_options();
  o.schedule = ScheduleKind::noam;
  EXPECT_EQ(o.rate(), 1.0);
  o.schedule = ScheduleKind::cosine;
  o.architecture.transformer().d_model = 128;
  EXPECT_EQ(o.rate(), 5e-3);
  o.batch_tokens = 512;
  o.accumulate = 2;
  EXPECT_EQ(o.rate(), 2.5e-3);
  o.learning_rate = 0.25;
  EXPECT_EQ(o.rate(), 0.25);
}

}  // namespace qkv::options_test
