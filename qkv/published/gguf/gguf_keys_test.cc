#include "qkv/published/gguf/gguf_keys.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"

namespace qkv::gguf_keys_test {
namespace {

TEST(GgufKeys, AReaderSeesTheValues) {
  GgufKeys keys;
  keys.count("count", 4'000'000'000);
  keys.real("real", 0.5);
  keys.flag("flag", true);
  keys.text("text", "\u2581a");
  keys.texts("texts", {"", "b c"});
  keys.integers("integers", {-1, 7});
  keys.reals("reals", {0.25f, -3});
  keys.flags("flags", {true, false});
  keys.data("data", std::string("\0\xff", 2));
  const GgufMetadata metadata = keys.metadata("test");
  EXPECT_EQ(keys.size(), 9u);
  EXPECT_EQ(metadata.values().size(), 9u);
  EXPECT_EQ(metadata.integer("count"), 4'000'000'000);
  EXPECT_EQ(metadata.number("real"), 0.5);
  EXPECT_TRUE(metadata.flag("flag", false));
  EXPECT_EQ(metadata.text("text"), "\u2581a");
  EXPECT_EQ(metadata.texts("texts"), (std::vector<std::string>{"", "b c"}));
  EXPECT_EQ(metadata.integers("integers"), (std::vector<int64_t>{-1, 7}));
  EXPECT_EQ(metadata.numbers("reals"), (std::vector<double>{0.25, -3}));
  EXPECT_EQ(metadata.integers("flags"), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(metadata.bytes("data"), std::string("\0\xff", 2));
}

TEST(GgufKeys, CountsAre32Bits) {
  GgufKeys keys;
  EXPECT_THROW(keys.count("x", -1), Error);
  EXPECT_THROW(keys.count("x", int64_t{1} << 32), Error);
}

}  // namespace
}  // namespace qkv::gguf_keys_test
