// Trainings that continue from a model (init), and warnings about their data.
#include <algorithm>

#include "qkv/base/error.h"
#include "qkv/base/names.h"
#include "qkv/train/defaults.h"
#include "qkv/train/summary.h"
#include "qkv/train/training_folder_test.h"

namespace qkv::continued_training_test {

class ContinuedTraining : public TrainingFolderTest {};

TEST_F(ContinuedTraining, HasATenthOfTheLearningRateOfANewModel) {
  TrainOptions o = options("m");
  o.learning_rate = 0;
  const double before = o.rate();
  o.init = "first";
  EXPECT_NEAR(o.rate(), before / 10, 1e-12);
  o.learning_rate = 0.5;
  EXPECT_EQ(o.rate(), 0.5);
}

TEST_F(ContinuedTraining, MakesAsManyUpdatesAsTheNewDataNeeds) {
  const auto updates = [](int64_t pairs, bool has_model) {
    return default_options({.pairs = pairs, .sources = pairs, .has_model = has_model, .bytes = 40 * pairs})
        .max_steps;
  };
  EXPECT_EQ(updates(300, true), 100);    // at least
  EXPECT_EQ(updates(5'000, true), 488);  // ten epochs of 50,000 tokens, in batches of 1024
  for (const int64_t pairs : {300, 50'000, 300'000, 5'000'000})
    EXPECT_LE(updates(pairs, true), updates(pairs, false));
}

TEST_F(ContinuedTraining, ShowsTheSettingsOfItsModel) {
  train(options("first"));
  const TrainOptions o = options_for({.model = folder_ / "second",
                                      .train = (folder_ / "pairs.tsv").string(),
                                      .init = (folder_ / "first").string()});
  EXPECT_EQ(o.max_steps, 100);
  const std::string lines = name_list(settings_summary(o, {.last_update = o.max_steps}), "\n");
  EXPECT_NE(lines.find("d-model 16, ffn 32, heads 2"), std::string::npos) << lines;
  EXPECT_NE(lines.find("vocabulary   from " + (folder_ / "first").string()), std::string::npos) << lines;
  EXPECT_EQ(lines.find("vocabulary-size"), std::string::npos) << lines;
}

TEST_F(ContinuedTraining, WarnsWhereItValidatesOnItsTrainingData) {
  TrainOptions o = options("same");
  o.hold_out = 0;
  o.valid = o.train.list[0];
  train(o);
  std::vector<Json> warnings = log("same", "warning");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0]["warning"].get<std::string>(), "validates-on-training-data");
  EXPECT_NE(warnings[0]["text"].get<std::string>().find("300 of the 300"), std::string::npos) << warnings[0];
  write_small_corpus(folder_ / "other.tsv", 50, 2);
  o.model = folder_ / "other";
  o.valid = (folder_ / "other.tsv").string();
  train(o);
  EXPECT_TRUE(log("other", "warning").empty());
}

// Before the tokenizer is trained, which is why the corpus may be missing.
TEST_F(ContinuedTraining, AFolderThatCannotBeMadeIsRefusedBeforeTheDataIsRead) {
  TrainOptions o = options("m");
  o.model = "/proc/no-model";
  o.train = "missing.tsv";
  try {
    train(o);
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("/proc/no-model"), std::string::npos) << e.what();
  }
  train(options("m"));
  for (const auto& entry : std::filesystem::directory_iterator(folder_))
    EXPECT_FALSE(entry.path().filename().string().starts_with(".qkv")) << entry.path();
}

}  // namespace qkv::continued_training_test
