// Normal forms as the published tokenizers compute them, by tables of Unicode 9.
#include "qkv/text/tokenizer/normalizer.h"

#include <gtest/gtest.h>

#include "qkv/text/tokenizer/json_fields.h"

namespace qkv {
namespace {

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

// U+1AC0 (of Unicode 13), U+0D3C (10): marks below, which would stand before U+0301 and U+035D.
TEST(Normalizer, LeavesMarksThatAreNewerThanItsTables) {
  for (const std::string text : {"a\u0301\u1ac0", "a\u035d\u0d3c", "\u1ac0\u0d3c"})
    EXPECT_EQ(normalised("NFD", text), text);
  EXPECT_EQ(normalised("NFKC", "\u32ff"), "\u32ff") << "the name of an era, of Unicode 12.1";
  EXPECT_EQ(normalised("NFC", "\u1ac0\u0301\u0334"), "\u1ac0\u0334\u0301") << "others are ordered behind it";
}

}  // namespace
}  // namespace qkv
