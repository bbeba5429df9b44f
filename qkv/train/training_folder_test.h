// For tests: a folder with a small corpus, and what trainings leave in it.
#pragma once

#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/base/json.h"
#include "qkv/train/training_test.h"

namespace qkv {

class TrainingFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(::testing::TempDir()) /
              fmt::format("{}.{}.{}", info->test_suite_name(), info->name(), ::getpid());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    write_small_corpus(folder_ / "pairs.tsv", 300, 1);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  TrainOptions options(const std::string& model) { return small_training(folder_ / "pairs.tsv", folder_ / model); }
  std::string bytes(const std::string& path) { return read_file(folder_ / path); }

  // The lines of log.jsonl, all or those with a member of that name.
  std::vector<Json> log(const std::string& model, const std::string& member = "step") {
    std::ifstream file(folder_ / model / "training" / "log.jsonl");
    std::vector<Json> lines;
    for (std::string line; std::getline(file, line);)
      if (const Json json = Json::parse(line); json.contains(member)) lines.push_back(json);
    return lines;
  }

  std::filesystem::path folder_;
};

}  // namespace qkv
