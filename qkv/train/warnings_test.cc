#include "qkv/train/warnings.h"

#include <gtest/gtest.h>

namespace qkv::warnings_test {

TrainingWarnings new_warnings() { return TrainingWarnings({.frequency_loss = 6.0}); }

std::vector<std::string> names(const std::vector<TrainingWarning>& warnings) {
  std::vector<std::string> all;
  for (const TrainingWarning& w : warnings) all.push_back(w.name);
  return all;
}

using Names = std::vector<std::string>;
constexpr double used = 1.5, unused = 0.01;

// Reports every 50 updates, of the loss at each; all warnings.
template <class Loss>
Names warned(TrainingWarnings& warnings, int64_t until, Loss loss) {
  Names all;
  for (int64_t step = 50; step <= until; step += 50)
    for (const std::string& name : names(warnings.report({.step = step, .loss = loss(step), .max_norm = 1})))
      all.push_back(name);
  return all;
}

TEST(TrainingWarnings, AreSilentInAGoodTraining) {
  TrainingWarnings w = new_warnings();
  EXPECT_EQ(warned(w, 20'000, [](int64_t step) { return 1 + 8 * std::pow(step, -0.25); }), Names());
  for (int64_t step = 500; step <= 5000; step += 500)
    EXPECT_EQ(
        names(w.validation(
            step, {.loss = 10.0 / static_cast<double>(step), .bleu = 20.0 + 0.001 * static_cast<double>(step)},
            {.gain = used})),
        Names());
}

TEST(TrainingWarnings, SayOnceThatTheSourceIsNotUsed) {
  TrainingWarnings w = new_warnings();
  EXPECT_EQ(names(w.validation(250, {.loss = 6}, {.gain = unused})), Names());  // too early to say
  const auto first = w.validation(500, {.loss = 5}, {.gain = unused, .entropy = {0.991, 0.95}});
  ASSERT_EQ(names(first), Names{"source-unused"});
  EXPECT_NE(first[0].text.find("0.99 0.95"), std::string::npos) << first[0].text;
  EXPECT_NE(first[0].text.find("norm pre"), std::string::npos) << first[0].text;
  EXPECT_EQ(names(w.validation(750, {.loss = 4}, {.gain = unused})), Names());
  EXPECT_EQ(names(w.validation(1000, {.loss = 3}, {.gain = used})), Names());
  EXPECT_EQ(names(w.validation(1250, {.loss = 3}, {.gain = unused})), Names{"source-unused"});
}

TEST(TrainingWarnings, DoNotSuggestWhatTheModelHasAlready) {
  TrainingWarnings w({.suggest_pre_norm = false});
  const auto warnings = w.validation(500, {.loss = 5}, {.gain = unused});
  ASSERT_EQ(names(warnings), Names{"source-unused"});
  EXPECT_NE(warnings[0].text.find("Try a smaller learning-rate or a longer warmup"), std::string::npos);
}

TEST(TrainingWarnings, SayThatBleuFallsWhileTheLossFalls) {
  TrainingWarnings w = new_warnings();
  const auto validated = [&](int64_t step, double loss, double bleu) {
    return names(w.validation(step, {.loss = loss, .bleu = bleu}, {.gain = used}));
  };
  EXPECT_EQ(validated(1800, 3.3, 12.4), Names());
  EXPECT_EQ(validated(2400, 3.1, 11.0), Names());  // one validation may be an accident
  EXPECT_EQ(validated(3000, 3.0, 11.9), Names());  // nearly the best
  EXPECT_EQ(validated(3600, 2.9, 10.5), Names());
  EXPECT_EQ(validated(4200, 2.8, 9.5), Names{"bleu-falls"});
}

TEST(TrainingWarnings, AcceptThatBleuFallsWithARisingLoss) {  // the usual overfitting: early stopping's business
  TrainingWarnings w = new_warnings();
  for (int64_t n = 0; n < 6; ++n)
    EXPECT_EQ(names(w.validation(1000 + n,
                                 {.loss = 2.0 + static_cast<double>(n), .bleu = 30 - static_cast<double>(n) * 2},
                                 {.gain = used})),
              Names());
}

TEST(TrainingWarnings, SayThatTheLossNoLongerFalls) {
  TrainingWarnings w = new_warnings();
  EXPECT_EQ(warned(w, 950, [](int64_t) { return 5.9; }), Names());
  EXPECT_EQ(warned(w, 3000, [](int64_t) { return 5.9; }), Names{"loss-stands"});
  TrainingWarnings low = new_warnings();  // far below token frequencies: it has learned what it can
  EXPECT_EQ(warned(low, 3000, [](int64_t) { return 2.0; }), Names());
}

TEST(TrainingWarnings, SayThatGradientsExplode) {
  TrainingWarnings w = new_warnings();
  EXPECT_EQ(warned(w, 450, [](int64_t step) { return 6 - static_cast<double>(step) / 500; }), Names());
  EXPECT_EQ(names(w.report({.step = 500, .loss = 5.0, .max_norm = 100})), Names());  // a harmless one
  EXPECT_EQ(names(w.report({.step = 550, .loss = 6.5, .max_norm = 100})), Names{"gradients-explode"});
}

}  // namespace qkv::warnings_test
