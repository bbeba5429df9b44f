#include "qkv/train/sample_indices.h"

#include <gtest/gtest.h>

namespace qkv::sample_indices_test {

using Indices = std::vector<size_t>;

TEST(SampleIndices, AreSpreadOverSentencesOfUsualLength) {
  EXPECT_EQ(sample_indices({4, 90, 12, 7}, 2), (Indices{0, 2}));
  EXPECT_EQ(sample_indices({10, 10, 10, 10, 10, 10}, 3), (Indices{0, 2, 4}));
}

TEST(SampleIndices, AreAnyWhereThereAreTooFew) {
  EXPECT_EQ(sample_indices({90, 12, 1}, 2), (Indices{0, 1}));
  EXPECT_EQ(sample_indices({90}, 2), (Indices{0}));
  EXPECT_EQ(sample_indices({}, 2), Indices{});
  EXPECT_EQ(sample_indices({5, 5}, 0), Indices{});
}

}  // namespace qkv::sample_indices_test
