// Trainings of a small corpus in a folder of their own: for tests of train().
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/published/load_model.h"
#include "qkv/tensor/safetensors.h"
#include "qkv/train/train.h"
#include "qkv/train/training_test.h"

namespace qkv::train_test {

namespace fs = std::filesystem;

class TrainTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(::testing::TempDir()) / fmt::format("train.{}.{}", info->name(), ::getpid());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    write_small_corpus(folder_ / "pairs.tsv", 300, 1);
  }
  void TearDown() override { fs::remove_all(folder_); }

  TrainOptions options(const std::string& model) { return small_training(folder_ / "pairs.tsv", folder_ / model); }
  std::string bytes(const std::string& path) { return read_file(folder_ / path); }
  NamedTensors parameters(const std::string& model) {
    Transformer t = load_model(folder_ / model);
    return parameters_of(t);
  }
  double distance(const NamedTensors& a, const NamedTensors& b) {
    double largest = 0;
    EXPECT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i)
      for (size_t j = 0; j < a[i].second.span<float>().size(); ++j)
        largest = std::max(largest, std::abs(static_cast<double>(a[i].second.span<float>()[j]) -
                                             static_cast<double>(b[i].second.span<float>()[j])));
    return largest;
  }
  void expect_same_weights(const std::string& a, const std::string& b) {
    expect_same_training(folder_ / a, folder_ / b);
  }
  // A training that ends after 13 updates, before its first validation, and is resumed. Returns the options of its second part.
  TrainOptions train_in_parts(const TrainOptions& whole) {
    TrainOptions o = whole;
    o.valid_every = 0;
    o.max_steps = 13;
    train(o);
    o = whole;
    o.resume = true;
    train(o);
    return o;
  }
  void expect_error(const TrainOptions& o, const std::string& word) {
    try {
      train(o);
      FAIL() << "expected an error about " << word;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << e.what();
    }
  }

  fs::path folder_;
};

}  // namespace qkv::train_test
