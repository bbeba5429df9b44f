// Models and trainings of earlier versions, kept in test/compat/VERSION: this version loads them, gives the same
// translations, and resumes their training with the same results.
//
//     build/test/compat_test --write test/compat/1.0      keeps those of this version

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/json.h"
#include "qkv/pipeline/translator.h"
#include "qkv/train/train.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kept_steps = 1500, more_steps = 30;

const std::vector<std::string>& sentences() {
  static const std::vector<std::string> all = {"one two", "nine", "seven seven three", "caf\xc3\xa9 four", "zero"};
  return all;
}

std::string corpus() {
  const std::vector<std::string> digits = {"zero", "one", "two",   "three", "four",
                                           "five", "six", "seven", "eight", "nine"};
  std::string text;
  for (size_t i = 0; i < 100; ++i)
    text += fmt::format("{} {}\t{} {}\n", digits[i % 10], digits[i * 7 / 10 % 10], i % 10, i * 7 / 10 % 10);
  return text;
}

TrainOptions options_of(const fs::path& folder) {
  TrainOptions o;
  o.train = (folder / "corpus.tsv").string();
  o.model = folder / "model";
  o.hold_out = 10;
  o.max_length = 24;
  o.lossless = true;  // a vocabulary of a few kilobytes: it has no table of normal forms
  o.vocabulary_size = 300;
  o.architecture = TransformerConfig{.d_model = 16,
                                     .heads = 2,
                                     .ffn = 32,
                                     .encoder_layers = 1,
                                     .decoder_layers = 1,
                                     .dropout = 0.1f,
                                     .max_positions = 32};
  o.schedule = ScheduleKind::inverse_sqrt;
  o.learning_rate = 0.01;
  o.warmup = 100;
  o.clip = 1;
  o.batch_tokens = 200;
  o.max_steps = kept_steps;
  o.save_every = o.valid_every = 500;
  o.report_every = 100;
  o.keep = 1;
  o.valid_sentences = 5;
  o.quiet = true;
  return o;
}

// One JSON object a line.
std::vector<Json> lines_of(const fs::path& path) {
  std::ifstream file(path);
  std::vector<Json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
  return lines;
}

void resume(const fs::path& folder) {
  TrainOptions o = stored_options(folder / "model");
  o.train = (folder / "corpus.tsv").string();
  o.resume = o.quiet = true;
  o.max_steps = kept_steps + more_steps;
  o.report_every = 5;
  train(o);
}

void write(const fs::path& folder) {
  fs::create_directories(folder);
  write_file(folder / "corpus.tsv", corpus());
  train(options_of(folder));
  std::string translations;
  for (const Translation& t : Translator(folder / "model").translate(sentences()))
    translations += Json{{"text", t.text}, {"score", t.score}}.dump() + "\n";
  write_file(folder / "translations.jsonl", translations);
  const fs::path copy = fs::temp_directory_path() / fmt::format("qkv-compat-{}", ::getpid());
  fs::copy(folder, copy, fs::copy_options::recursive);
  resume(copy);
  fs::copy_file(copy / "model/training/log.jsonl", folder / "log-resumed.jsonl");
  fs::remove_all(copy);
  fs::remove(folder / "model/training/lock");
}

class Compat : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    kept_ = fs::path(QKV_SOURCE_DIR) / "test/compat" / GetParam();
    folder_ = fs::path(::testing::TempDir()) / fmt::format("compat.{}.{}", GetParam(), ::getpid());
    fs::remove_all(folder_);
    fs::copy(kept_, folder_, fs::copy_options::recursive);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path kept_, folder_;
};

TEST_P(Compat, ItsModelTranslatesAlike) {
  const std::vector<Translation> got = Translator(folder_ / "model").translate(sentences());
  const std::vector<Json> expected = lines_of(kept_ / "translations.jsonl");
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].text, expected[i].at("text").get<std::string>());
    EXPECT_NEAR(got[i].score, expected[i].at("score").get<double>(), 1e-4);
  }
}

TEST_P(Compat, ItsTrainingResumes) {
  resume(folder_);
  const std::vector<Json> got = lines_of(folder_ / "model/training/log.jsonl");
  const std::vector<Json> expected = lines_of(kept_ / "log-resumed.jsonl");
  ASSERT_EQ(got.size(), expected.size());
  int compared = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].at("step"), expected[i].at("step"));
    for (const char* key : {"loss", "valid_loss"}) {
      if (!expected[i].contains(key)) continue;
      EXPECT_NEAR(got[i].at(key).get<double>(), expected[i].at(key).get<double>(), 1e-4) << key << " of line " << i;
      compared += expected[i].at("step").get<int64_t>() > kept_steps;
    }
  }
  EXPECT_GE(compared, 5) << "number of compared losses after the kept steps";
}

std::vector<std::string> versions() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(fs::path(QKV_SOURCE_DIR) / "test/compat"))
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Versions, Compat, ::testing::ValuesIn(versions()), [](const auto& version) {
  std::string name = "v" + version.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

}  // namespace
}  // namespace qkv

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--write") {
    qkv::write(argv[2]);
    return 0;
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
