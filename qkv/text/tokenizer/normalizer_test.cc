// Normal forms as the published tokenizers compute them, by tables of Unicode 9.
#include "qkv/text/tokenizer/normalizer.h"

#include <cstring>

#include <gtest/gtest.h>

#include "qkv/base/json_fields.h"
#include "qkv/text/tokenizer/precompiled_map.h"

namespace qkv::normalizer_test {

std::string normalised(const char* type, const std::string& text) {
  const Json json = {{"type", type}};
  AlignedText aligned(text, 0);
  read_normalizer(JsonFields(json, "test"))->apply(aligned);
  return aligned.bytes();
}

TEST(Normalizer, ComposesAndOrdersMarks) {
  EXPECT_EQ(normalised("NFC", "e\u0301"), "\u00e9");
  EXPECT_EQ(normalised("NFD", "\u00e9"), "e\u0301");
  EXPECT_EQ(normalised("NFC", "a\u0301\u0334"), "\u00e1\u0334") << "by combining class";
  EXPECT_EQ(normalised("NFKC", "\ufb01"), "fi");
}

TEST(Normalizer, ComposesAndOrdersWhatIsCompatible) {
  EXPECT_EQ(normalised("NFKC", "\u3147\u3155"), "\uc5ec") << "letters of Hangul";
  EXPECT_EQ(normalised("NFKC", "\uffa1\uffdc"), "\uae30") << "halfwidth ones";
  EXPECT_EQ(normalised("NFKD", "a\u0323\uff9f"), "a\u309a\u0323");
  EXPECT_EQ(normalised("NFKC", "\uff76\uff9e"), "\u30ac") << "halfwidth kana with its mark";
  EXPECT_EQ(normalised("NFC", "\u3147\u3155"), "\u3147\u3155");
}

TEST(Normalizer, OrdersAnyNumberOfMarks) {
  std::string above, below;
  for (int i = 0; i < 20'000; ++i) above += "\u0301", below += "\u0316";
  EXPECT_EQ(normalised("NFD", "a" + above + below), "a" + below + above);
  EXPECT_EQ(normalised("NFC", "a" + above + below), "\u00e1" + below + above.substr(2));
}

TEST(Normalizer, AGrowingTextIsRefused) {
  Json parts = Json::array();
  for (int i = 0; i < 30; ++i)
    parts.push_back({{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}});
  const Json json = {{"type", "Sequence"}, {"normalizers", parts}};
  AlignedText text("aaa", 0);
  EXPECT_THROW(read_normalizer(JsonFields(json, "test"))->apply(text), TextError);
  std::string longest;  // of all characters the one with the longest normal form
  for (int i = 0; i < 20'000; ++i) longest += "\ufdfa";
  EXPECT_EQ(normalised("NFKD", longest).size(), 11 * longest.size());
}

// A map of "a" to bytes that are not UTF-8, or to the second byte of a character.
TEST(Normalizer, ACharacterMapGivesText) {
  const auto map_to = [](const std::string& text, uint32_t at) {
    std::vector<uint32_t> units(512);
    units[0] = 0;  // children are at their labels
    units['a'] = 256u << 10 | 1u << 8 | 'a';
    units['a' ^ 256] = 1u << 31 | at;
    std::string bytes(4 + 4 * units.size(), '\0');
    const auto size = static_cast<uint32_t>(4 * units.size());
    std::memcpy(bytes.data(), &size, 4);
    std::memcpy(bytes.data() + 4, units.data(), size);
    return PrecompiledMap(bytes + text + '\0', "test");
  };
  EXPECT_EQ(map_to("bc", 1).find("a"), "c");
  EXPECT_THROW(map_to("\xff", 0), InputError);
  EXPECT_EQ(map_to("\u00e9", 1).find("a"), std::nullopt);
}

// U+1AC0 (of Unicode 13), U+0D3C (10): marks below, which would stand before U+0301 and U+035D.
TEST(Normalizer, LeavesMarksThatAreNewerThanItsTables) {
  for (const std::string text : {"a\u0301\u1ac0", "a\u035d\u0d3c", "\u1ac0\u0d3c"})
    EXPECT_EQ(normalised("NFD", text), text);
  EXPECT_EQ(normalised("NFKC", "\u32ff"), "\u32ff") << "the name of an era, of Unicode 12.1";
  EXPECT_EQ(normalised("NFC", "\u1ac0\u0301\u0334"), "\u1ac0\u0334\u0301") << "others are ordered after it";
}

}  // namespace qkv::normalizer_test
