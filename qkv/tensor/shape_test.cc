#include "qkv/tensor/shape.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"

namespace qkv::shape_test {

TEST(Shape, CountsAxesFromBothEnds) {
  const Shape shape{2, 8, 128, 64};
  EXPECT_EQ(shape.rank(), 4);
  EXPECT_EQ(shape.dim(1), 8);
  EXPECT_EQ(shape.dim(-1), 64);
  EXPECT_EQ(shape.numel(), 2 * 8 * 128 * 64);
  EXPECT_EQ(Shape{}.numel(), 1);
  EXPECT_EQ((Shape{3, 0}).numel(), 0);
  EXPECT_THROW(shape.dim(4), Error);
  EXPECT_THROW(shape.dim(-5), Error);
}

TEST(Shape, EqualMeansTheSameAxes) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{2, 3}), (Shape{2, 3, 1}));
}

TEST(Shape, RejectsInvalidShapes) {
  EXPECT_THROW((Shape{2, -1}), Error);
  EXPECT_THROW((Shape{1, 1, 1, 1, 1, 1, 1}), Error);
  Shape full{1, 1, 1, 1, 1, 1};
  EXPECT_THROW(full.push_back(1), Error);
  // More elements than bytes can be counted.
  EXPECT_THROW((Shape{int64_t{1} << 62}).numel(), Error);
  EXPECT_THROW((Shape{int64_t{1} << 32, int64_t{1} << 32}).numel(), Error);
}

TEST(Shape, IsNamedByItsAxes) {
  const Shape shape{2, 8, 128, 64};
  EXPECT_EQ(to_string(shape), "(2, 8, 128, 64)");
  EXPECT_EQ(to_string(describe("BHTD", shape)), "(B 2, H 8, T 128, D 64)");
  EXPECT_EQ(to_string(describe("TS", shape)), "(2, 8, 128, 64)") << "letters for another rank";
  EXPECT_EQ(to_string(Shape{}), "()");
}

}  // namespace qkv::shape_test
