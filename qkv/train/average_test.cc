#include "qkv/train/average.h"

#include <unistd.h>

#include <gtest/gtest.h>

#include "qkv/base/error.h"

namespace qkv::average_test {

namespace fs = std::filesystem;

class AverageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("average." + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path file(const std::string& name, const NamedTensors& tensors) {
    save_safetensors(folder_ / name, tensors);
    return folder_ / name;
  }
  fs::path folder_;
};

TEST_F(AverageTest, IsTheMeanOfEveryNumber) {
  const std::vector<fs::path> files = {
      file("a", {{"w", Tensor::from({1, 2, 3, 4}, {2, 2})}, {"b", Tensor::from({-1}, {1})}}),
      file("b", {{"w", Tensor::from({3, 2, 1, 0}, {2, 2})}, {"b", Tensor::from({0}, {1})}}),
      file("c", {{"w", Tensor::from({5, 2, 2, 2}, {2, 2})}, {"b", Tensor::from({4}, {1})}})};
  const NamedTensors mean = average_checkpoints(files);
  ASSERT_EQ(mean.size(), 2u);
  EXPECT_EQ(mean[0].first, "w");
  EXPECT_EQ(mean[0].second.at<float>({0, 0}), 3.0f);
  EXPECT_EQ(mean[0].second.at<float>({1, 1}), 2.0f);
  EXPECT_EQ(mean[1].second.at<float>({0}), 1.0f);
}

TEST_F(AverageTest, OneCheckpointIsItsOwnAverage) {
  const std::vector<fs::path> files = {file("a", {{"w", Tensor::from({0.1f, 1e30f}, {2})}})};
  const NamedTensors mean = average_checkpoints(files);
  EXPECT_EQ(mean[0].second.at<float>({0}), 0.1f);
  EXPECT_EQ(mean[0].second.at<float>({1}), 1e30f);
}

TEST_F(AverageTest, RefusesFilesThatDoNotFitTogether) {
  const fs::path a = file("a", {{"w", Tensor::from({1}, {1})}});
  const auto with = [&](const NamedTensors& other) {
    average_checkpoints(std::vector<fs::path>{a, file("other", other)});
  };
  EXPECT_THROW(with({{"x", Tensor::from({1}, {1})}}), InputError);
  EXPECT_THROW(with({{"w", Tensor::from({1, 2}, {2})}}), InputError);
  EXPECT_THROW(with({{"w", Tensor::from({1}, {1})}, {"x", Tensor::from({1}, {1})}}), InputError);
  EXPECT_THROW(with({{"w", Tensor::zeros({1}, DType::i32)}}), InputError);
  EXPECT_THROW(average_checkpoints({}), UsageError);
}

}  // namespace qkv::average_test
