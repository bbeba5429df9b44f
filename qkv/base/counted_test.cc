#include "qkv/base/counted.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace qkv::counted_test {

template <class... Args>
std::string text(const Args&... args) {
  return fmt::format("{}", counted(args...));
}

TEST(Counted, OnlyOneIsSingular) {
  EXPECT_EQ(text(1, "line"), "1 line");
  EXPECT_EQ(text(0, "line"), "0 lines");
  EXPECT_EQ(text(size_t{12}, "line"), "12 lines");
  EXPECT_EQ(text(int64_t{-1}, "line"), "-1 lines");
}

TEST(Counted, APluralMayBeGiven) {
  EXPECT_EQ(text(1, "vocabulary", "vocabularies"), "1 vocabulary");
  EXPECT_EQ(text(2, "tensor is", "tensors are"), "2 tensors are");
}

}  // namespace qkv::counted_test
