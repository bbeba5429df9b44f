#include "qkv/train/early_stopping.h"

#include <limits>

#include <gtest/gtest.h>

namespace qkv::early_stopping_test {

TEST(EarlyStopping, CountsValidationsWithoutImprovement) {
  EarlyStopping loss({.patience = 2});
  EXPECT_TRUE(loss.offer(3.0, 10));
  EXPECT_FALSE(loss.offer(3.0, 20));  // an equal score is not an improvement
  EXPECT_TRUE(loss.offer(2.5, 30));
  EXPECT_FALSE(loss.offer(2.6, 40));
  EXPECT_FALSE(loss.exhausted());
  EXPECT_FALSE(loss.offer(std::numeric_limits<double>::quiet_NaN(), 50));
  EXPECT_TRUE(loss.exhausted());
  EXPECT_EQ(loss.state(), (EarlyStopping::State{.best = 2.5, .best_step = 30, .since = 2}));
}

TEST(EarlyStopping, LargerCanBeBetter) {
  EarlyStopping bleu({.patience = 1, .larger_is_better = true});
  EXPECT_TRUE(bleu.offer(0.0, 1));
  EXPECT_TRUE(bleu.offer(20.0, 2));
  EXPECT_FALSE(bleu.offer(19.0, 3));
  EXPECT_TRUE(bleu.exhausted());
}

TEST(EarlyStopping, WithoutPatienceNeverStops) {
  EarlyStopping loss({});
  for (int i = 0; i < 100; ++i) loss.offer(i, i);
  EXPECT_FALSE(loss.exhausted());
}

TEST(EarlyStopping, ContinuesFromItsState) {
  EarlyStopping first({.patience = 2});
  first.offer(1.0, 1);
  first.offer(2.0, 2);
  EarlyStopping second({.patience = 2}, first.state());
  EXPECT_FALSE(second.exhausted());
  second.offer(1.5, 3);
  EXPECT_TRUE(second.exhausted());
}

}  // namespace qkv::early_stopping_test
