#include "qkv/picture/curves.h"

#include <filesystem>
#include <limits>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/picture/training_curves.h"

namespace qkv::curves_test {

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

class TrainingCurves : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) / fmt::format("curves.{}", ::getpid());
    std::filesystem::create_directories(folder_ / "a" / "training");
    std::filesystem::create_directories(folder_ / "b");
    write_file(
        folder_ / "a/training/log.jsonl",
        "{\"step\":10,\"loss\":4.5,\"learning_rate\":0.001}\n{\"step\":10,\"valid_loss\":4.25,\"valid_bleu\":1.5}\n"
        "{\"step\":20,\"loss\":3.5,\"learning_rate\":0.002}\n{\"step\":20,\"valid_loss\":3.25,\"averaged\":2}\n"
        "{\"step\":30,\"lo");
    write_file(folder_ / "b/log.jsonl",
               "{\"step\":15,\"loss\":4.0}\n{\"step\":15,\"warning\":\"x\",\"text\":\"y\"}\n");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

TEST(Curves, TicksAreRoundNumbers) {
  EXPECT_EQ(round_ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(round_ticks(0, 1000, 4), (std::vector<double>{0, 250, 500, 750, 1000}));
  EXPECT_EQ(round_ticks(3, 3, 4), (std::vector<double>{3}));
}

TEST(Curves, LogarithmicTicksArePowers) {
  EXPECT_EQ(logarithmic_ticks(1, 8, 2, 5), (std::vector<double>{1, 2, 4, 8}));
  EXPECT_EQ(logarithmic_ticks(256, 1 << 16, 2, 5), (std::vector<double>{256, 1024, 4096, 16384, 65536}));
  EXPECT_EQ(logarithmic_ticks(1.5, 30, 10, 4), (std::vector<double>{2, 5, 10, 20}));
  EXPECT_EQ(logarithmic_ticks(0.5, 2e4, 10, 4), (std::vector<double>{1, 10, 100, 1000, 10000}));
  EXPECT_EQ(logarithmic_ticks(3, 3, 2, 4), (std::vector<double>{3}));
}

TEST(Curves, OfLogarithmicAxesDoublingIsTheSameDistance) {
  const Curves curves({.runs = {"a"},
                       .panels = {{.title = "FLOPs", .curves = {{{1, 1}, {2, 4}, {4, 16}, {8, 0}}}}},
                       .logarithmic = true});
  const std::string svg = curves.svg();
  EXPECT_EQ(count(svg, "<circle "), 3u);  // none for zero
  std::vector<double> x, y;
  for (size_t at = svg.find("cx=\""); at != std::string::npos; at = svg.find("cx=\"", at + 1)) {
    x.push_back(std::stod(svg.substr(at + 4)));
    y.push_back(std::stod(svg.substr(svg.find("cy=\"", at) + 4)));
  }
  ASSERT_EQ(x.size(), 3u);
  EXPECT_NEAR(x[1] - x[0], x[2] - x[1], 0.2);
  EXPECT_NEAR(y[1] - y[0], y[2] - y[1], 0.2);
}

TEST(Curves, HaveALineForEachRunAndADotForEachPointOfShortOnes) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Curves curves({.title = "A & B",
                       .runs = {"a", "b"},
                       .panels = {{.title = "loss", .curves = {{{1, 2}, {2, nan}, {3, 1}}, {{1, 3}}}},
                                  {.title = "BLEU", .curves = {{}, {}}}}});
  const std::string svg = curves.svg();
  EXPECT_EQ(count(svg, "<path "), 2u);
  EXPECT_EQ(count(svg, "<circle "), 3u);
  EXPECT_EQ(count(svg, "nan"), 0u);
  EXPECT_EQ(count(svg, "BLEU"), 0u);  // a panel without points is left out
  EXPECT_EQ(count(svg, "A &amp; B"), 2u);
  EXPECT_NE(svg.find("prefers-color-scheme: dark"), std::string::npos);
  EXPECT_NE(curves.html().find(svg), std::string::npos);
  EXPECT_THROW(Curves({.runs = {}, .panels = {{.title = "loss", .curves = {{{1, 2}}}}}}), Error);
  EXPECT_THROW(curves.save("curves.pdf"), UsageError);
}

TEST_F(TrainingCurves, AreThoseOfTheLogs) {
  const Curves curves = training_curves({folder_ / "a", folder_ / "b" / "log.jsonl"});
  const CurvesContent& c = curves.content();
  EXPECT_EQ(c.runs, (std::vector<std::string>{"a", "log.jsonl"}));
  ASSERT_EQ(c.panels.size(), 5u);
  ASSERT_EQ(c.panels[0].curves[0].size(), 2u);  // the half line is left out
  EXPECT_EQ(c.panels[0].curves[0][1].y, 3.5);
  EXPECT_EQ(c.panels[0].curves[1][0].x, 15);
  ASSERT_EQ(c.panels[1].curves[0].size(), 1u);  // without the mean of checkpoints
  EXPECT_EQ(c.panels[2].curves[0][0].y, 1.5);
  EXPECT_EQ(training_curves({folder_ / "b", folder_ / "b"}).content().runs[0], (folder_ / "b").string());
}

TEST_F(TrainingCurves, NeedALogWithNumbers) {
  EXPECT_THROW(training_curves({}), UsageError);
  EXPECT_THROW(training_curves({folder_ / "missing"}), InputError);
  EXPECT_THROW(training_curves({folder_}), InputError);
  write_file(folder_ / "text.jsonl", "hello\n");
  EXPECT_THROW(training_curves({folder_ / "text.jsonl"}), InputError);
}

}  // namespace qkv::curves_test
