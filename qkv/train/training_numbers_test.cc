// Numbers that a training computes in, and that its model will be held in.
#include "qkv/base/threads.h"
#include "qkv/train/train_test.h"

namespace qkv::training_numbers_test {

class TrainingNumbers : public train_test::TrainTest {};

TEST_F(TrainingNumbers, WithBf16ProductsItLearnsAndResumesBitForBit) {
  const auto in_bf16 = [&](const char* model) {
    TrainOptions o = options(model);
    o.precision = TrainingPrecision::bf16;
    return o;
  };
  const TrainResult f32 = train(options("f32")), whole = train(in_bf16("whole"));
  TrainOptions o = in_bf16("parts");
  o.valid_every = 0;
  o.max_steps = 13;
  o.threads = 1;
  const int before = threads();
  train(o);
  set_threads(before);
  o = in_bf16("parts");
  o.resume = true;
  train(o);
  expect_same_weights("whole", "parts");
  EXPECT_GT(distance(parameters("whole"), parameters("f32")), 1e-5);
  EXPECT_NEAR(whole.loss, f32.loss, 0.05 * f32.loss);
  o.precision = TrainingPrecision::f32;
  EXPECT_THROW(train(o), UsageError);
}

TEST_F(TrainingNumbers, WithRecomputedBlocksItLearnsTheSameAndResumesBitForBit) {
  const auto recomputed = [&](const char* model) {
    TrainOptions o = options(model);
    o.recompute = true;
    return o;
  };
  const TrainResult kept = train(options("kept")), whole = train(recomputed("whole"));
  EXPECT_NEAR(whole.loss, kept.loss, 1e-4 * kept.loss);
  train_in_parts(recomputed("parts"));
  expect_same_weights("whole", "parts");
  TrainOptions o = options("recurrent");
  o.architecture = RecurrentConfig{.d_model = 16};
  o.recompute = true;
  EXPECT_THROW(train(o), UsageError);
}

TEST_F(TrainingNumbers, WithOtherOptimizersItLearnsAndResumesBitForBit) {
  for (const OptimizerKind kind : {OptimizerKind::muon, OptimizerKind::adafactor}) {
    const std::string name(name_of(kind));
    const auto with = [&](const std::string& model) {
      TrainOptions o = options(model);
      o.optimizer = kind;
      return o;
    };
    TrainOptions one_update = with(name + "_one");
    one_update.max_steps = 1;
    const TrainResult first = train(one_update), whole = train(with(name + "_whole"));
    EXPECT_LT(whole.loss, 0.9 * first.loss) << name;
    TrainOptions o = train_in_parts(with(name + "_parts"));
    expect_same_weights(name + "_whole", name + "_parts");
    o.optimizer = OptimizerKind::adam;
    EXPECT_THROW(train(o), UsageError);
  }
}

TEST_F(TrainingNumbers, TrainedForAFormatItIsBetterInItAndResumesBitForBit) {
  train(options("f32"));
  const auto in_q4 = [&](const char* model) {
    TrainOptions o = options(model);
    o.init = (folder_ / "f32").string();
    o.weights = WeightFormat::q4_0;
    o.learning_rate = 1e-3;
    return o;
  };
  TrainOptions o = in_q4("rounded");
  o.learning_rate = 1e-9;
  o.max_steps = 1;
  const TrainResult rounded = train(o);
  o.model = folder_ / "not_rounded";
  o.weights = WeightFormat::f32;
  EXPECT_GT(std::abs(train(o).validation->loss - rounded.validation->loss), 1e-5);
  EXPECT_LT(train(in_q4("whole")).validation->loss, rounded.validation->loss);

  o = train_in_parts(in_q4("parts"));
  expect_same_weights("whole", "parts");
  o.weights = WeightFormat::f32;
  EXPECT_THROW(train(o), UsageError);
}

}  // namespace qkv::training_numbers_test
