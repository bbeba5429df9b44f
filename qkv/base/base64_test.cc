#include "qkv/base/base64.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"

namespace qkv::base64_test {

// RFC 4648, section 10.
TEST(Base64, GivesTheTextsOfTheStandard) {
  const std::pair<const char*, const char*> cases[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(base64_encoded(bytes), text);
    EXPECT_EQ(base64_decoded(text, "test"), bytes);
  }
}

TEST(Base64, EveryByteSurvives) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  EXPECT_EQ(base64_decoded(base64_encoded(bytes), "test"), bytes);
}

TEST(Base64, OtherCharactersAreErrors) {
  for (const char* text : {"Zm9v Zg==", "Zm9\n", "-_-_", "Zg==Zg=="})
    EXPECT_THROW(base64_decoded(text, "x"), InputError);
}

}  // namespace qkv::base64_test
