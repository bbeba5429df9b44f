#include "qkv/attention/modify/relative_buckets.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"

namespace qkv::relative_buckets_test {

TEST(RelativeBucket, GivesSmallDistancesABucketEach) {
  for (int64_t n = 0; n < 8; ++n) {
    EXPECT_EQ(relative_bucket(-n), n);
    EXPECT_EQ(relative_bucket(n), n == 0 ? 0 : 16 + n);
  }
  for (int64_t n = 0; n < 16; ++n) EXPECT_EQ(relative_bucket(-n, {.bidirectional = false}), n);
}

TEST(RelativeBucket, StepsExactlyWhereTheLogarithmIsAnInteger) {
  // N = 16, m = 8: bucket 8 + k begins at n = 8 * 16^(k / 8) = 8 * 2^(k / 2).
  for (const auto& [n, bucket] : {std::pair<int64_t, int64_t>{8, 8},
                                  {11, 8},
                                  {12, 9},
                                  {15, 9},
                                  {16, 10},
                                  {31, 11},
                                  {32, 12},
                                  {63, 13},
                                  {64, 14},
                                  {90, 14},
                                  {91, 15},
                                  {128, 15},
                                  {1000000, 15}})
    EXPECT_EQ(relative_bucket(-n), bucket) << n;
}

TEST(RelativeBucket, PutsAllKeysAfterTheQueryInBucketZeroWhenCausal) {
  for (const int64_t distance : {0, 1, 50, 1000}) EXPECT_EQ(relative_bucket(distance, {.bidirectional = false}), 0);
  EXPECT_EQ(relative_bucket(-1000, {.bidirectional = false}), 31);
}

TEST(RelativeBucket, StaysWithinItsBuckets) {
  for (const bool bidirectional : {false, true})
    for (const int64_t buckets : {4, 6, 8, 32, 33})
      for (const int64_t max_distance : {20, 128, 129})
        for (int64_t distance = -300; distance <= 300; ++distance) {
          const int64_t bucket = relative_bucket(distance, {bidirectional, buckets, max_distance});
          EXPECT_GE(bucket, 0);
          EXPECT_LT(bucket, buckets);
        }
}

TEST(RelativeBucket, RejectsBadOptions) {
  EXPECT_THROW(relative_bucket(1, {.num_buckets = 3}), Error);
  EXPECT_THROW(relative_bucket(1, {.bidirectional = false, .num_buckets = 1}), Error);
  EXPECT_THROW(relative_bucket(1, {.num_buckets = 32, .max_distance = 8}), Error);
}

}  // namespace qkv::relative_buckets_test
