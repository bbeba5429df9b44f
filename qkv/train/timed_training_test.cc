// Trainings that end by time (max_time), and their early validations.
#include <chrono>

#include "qkv/base/error.h"
#include "qkv/train/checkpoint.h"
#include "qkv/train/defaults.h"
#include "qkv/train/training_folder_test.h"

namespace qkv::timed_training_test {

class TimedTraining : public TrainingFolderTest {
 protected:
  TrainOptions timed(const std::string& model, double seconds) {
    TrainOptions o = options(model);
    o.schedule = ScheduleKind::linear;
    o.warmup = 0;
    o.max_steps = 0;
    o.max_time = Seconds(seconds);
    o.report_every = 1;
    o.valid_every = o.save_every = 0;
    return o;
  }
  double last_rate(const std::string& model) {
    return log(model, "learning_rate").back()["learning_rate"].get<double>();
  }
};

TEST_F(TimedTraining, EndsAtTheTimeWithTheRateNearZero) {
  const auto begin = std::chrono::steady_clock::now();
  const TrainResult r = train(timed("m", 1.5));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_EQ(r.stop_reason, StopReason::max_time);
  EXPECT_GT(seconds, 1.2);
  EXPECT_LT(seconds, 4);
  EXPECT_GT(r.steps, 20);
  double largest = 0;
  for (const Json& line : log("m", "learning_rate"))
    largest = std::max(largest, line["learning_rate"].get<double>());
  EXPECT_GT(largest, 4e-3);  // the peak is 5e-3
  EXPECT_LT(last_rate("m"), 0.1 * largest);
}

TEST_F(TimedTraining, EndsWithTheUpdatesIfThoseAreReachedFirst) {
  TrainOptions o = timed("m", 1000);
  o.max_steps = 30;
  const TrainResult r = train(o);
  EXPECT_EQ(r.stop_reason, StopReason::max_steps);
  EXPECT_EQ(last_rate("m"), 0);
}

TEST_F(TimedTraining, ContinuesWithAnotherLimitWhereItsScheduleWas) {
  TrainOptions o = timed("m", 0.8);
  const TrainResult first = train(o);
  o.resume = true;
  EXPECT_EQ(train(o).steps, first.steps);  // the time is over
  const TimeLimitState before = Checkpoint(folder_ / "m/training/state.safetensors").state().time;
  EXPECT_EQ(before.reached, 0.8);
  o.max_time = Seconds(1.6);
  const TrainResult second = train(o);
  EXPECT_EQ(second.stop_reason, StopReason::max_time);
  EXPECT_GT(second.steps, first.steps);
  const Checkpoint after(folder_ / "m/training/state.safetensors");
  EXPECT_EQ(after.state().time.fit.warmup, before.fit.warmup);  // no second warm-up
  EXPECT_GE(after.state().elapsed, 1.2);
  for (const Json& line : log("m", "learning_rate"))
    if (line["step"].get<int64_t>() > first.steps) {
      EXPECT_LT(line["learning_rate"].get<double>(), 1e-3);
    }
}

TEST_F(TimedTraining, MayBeginAsOneWithoutALimit) {
  TrainOptions o = timed("m", 0);
  o.max_steps = 40;
  train(o);
  o.max_steps = 0;
  o.resume = true;
  o.max_time = Seconds(Checkpoint(folder_ / "m/training/state.safetensors").state().elapsed + 0.5);
  const TrainResult r = train(o);
  EXPECT_EQ(r.stop_reason, StopReason::max_time);
  EXPECT_GT(r.steps, 40);
}

TEST_F(TimedTraining, MakesAnUpdateHoweverShortTheTimeIs) {
  const TrainResult r = train(timed("m", 1e-6));
  EXPECT_EQ(r.steps, 1);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "m/model.safetensors"));
}

TEST_F(TimedTraining, HasNoLimitOfUpdatesByDefault) {
  const BaseOptions base = {
      .model = folder_ / "m", .train = (folder_ / "pairs.tsv").string(), .max_time = std::chrono::minutes(30)};
  EXPECT_EQ(options_for(base).max_steps, 0);
  EXPECT_EQ(train_options_from_json(to_json(timed("m", 90)), "test").max_time, Seconds(90));
}

TEST_F(TimedTraining, ARefusedTimeSaysWhatIsExpected) {
  TrainOptions o = timed("m", -1);
  EXPECT_THROW(train(o), UsageError);
  std::string json = to_json(timed("m", 90));
  json.replace(json.find("\"1m30s\""), 7, "\"soon\"");
  EXPECT_THROW(train_options_from_json(json, "test"), InputError);
}

TEST_F(TimedTraining, EarlyValidationsAreLoggedAndChangeNothing) {
  TrainOptions o = options("with");
  o.early_validations = {1e-6, 1e-2};
  train(o);
  o = options("without");
  o.early_validations = {};
  train(o);
  const std::vector<Json> early = log("with", "early");
  ASSERT_FALSE(early.empty());
  EXPECT_EQ(early[0]["step"].get<int64_t>(), 1);
  EXPECT_TRUE(early[0].contains("valid_loss") && early[0].contains("valid_bleu") && early[0].contains("samples"));
  EXPECT_TRUE(log("without", "early").empty());
  EXPECT_EQ(bytes("with/model.safetensors"), bytes("without/model.safetensors"));
  EXPECT_EQ(bytes("with/training/step-000000030.safetensors"),
            bytes("without/training/step-000000030.safetensors"));
}

}  // namespace qkv::timed_training_test
