#include "qkv/train/training_loss.h"

#include <unistd.h>

#include <gtest/gtest.h>

#include "qkv/model/make_model.h"
#include "qkv/train/make_training_task.h"
#include "qkv/train/training_test.h"

namespace qkv::training_loss_test {

namespace fs = std::filesystem;

TEST(Twice, RepeatsRowsAfterAllOfThem) {
  const Tensor ids = twice(Tensor::from(std::vector<int32_t>{1, 2, 3, 4}, {2, 2}));
  EXPECT_EQ(ids.shape(), (Shape{4, 2}));
  const std::vector<int32_t> rows = {1, 2, 3, 4, 1, 2, 3, 4};
  EXPECT_TRUE(std::equal(rows.begin(), rows.end(), ids.span<int32_t>().begin()));
  const std::vector<int32_t> lengths = twice(std::vector<int32_t>{3, 2});
  EXPECT_EQ(lengths, (std::vector<int32_t>{3, 2, 3, 2}));
}

class RDrop : public ::testing::TestWithParam<Architecture> {
 protected:
  void SetUp() override {
    path_ = fs::path(::testing::TempDir()) / fmt::format("r_drop.{}.{}.tsv", ::getpid(), name_of(GetParam()));
    write_small_corpus(path_, 100, 1);
  }
  void TearDown() override { fs::remove(path_); }

  std::unique_ptr<TrainingTask> task(double r_drop) {
    TrainOptions o = small_training(path_, "unused");
    if (is_recurrent(GetParam()))
      o.architecture = RecurrentConfig{.architecture = GetParam(), .d_model = 16};
    else
      o.architecture.transformer().architecture = GetParam();
    o.hold_out = 0;
    o.r_drop = r_drop;
    Progress progress({.quiet = true});
    return make_training_task(o, {}, progress);
  }

  fs::path path_;
};

TEST_P(RDrop, OfPassesWithoutDropoutIsTheLossOfOnePass) {
  Pass pass, other;
  const CrossEntropy one = task(0)->next_loss({.label_smoothing = 0.1}, pass);
  const CrossEntropy two = task(5)->next_loss({.label_smoothing = 0.1, .r_drop = 5}, other);
  EXPECT_EQ(one.count, two.count);
  EXPECT_GT(one.count, 0);
  const float loss = one.loss.value().at<float>({0});
  EXPECT_NEAR(two.loss.value().at<float>({0}), loss, 1e-5 * loss);
}

TEST_P(RDrop, GrowsWithTheDifferenceThatDropoutMakes) {
  float last = 0;
  for (const double weight : {0.01, 5.0, 50.0}) {
    Pass pass{.training = true, .seed = 1};
    const float loss = task(weight)->next_loss({.r_drop = weight}, pass).loss.value().at<float>({0});
    EXPECT_GT(loss, last) << weight;
    last = loss;
  }
}

INSTANTIATE_TEST_SUITE_P(OfEveryArchitecture, RDrop,
                         ::testing::Values(Architecture::encoder_decoder, Architecture::causal,
                                           Architecture::masked, Architecture::bahdanau, Architecture::luong),
                         [](const auto& tested) {
                           std::string name(name_of(tested.param));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace qkv::training_loss_test
