#include "qkv/base/checksum.h"

#include <string>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/random.h"

namespace qkv::checksum_test {

TEST(Checksum, IsTheCrcOfTheStandard) {
  EXPECT_EQ(crc32("123456789"), 0xcbf43926u);
  EXPECT_EQ(crc32("6789", crc32("12345")), 0xcbf43926u);
  EXPECT_EQ(crc32_joined(crc32("12345"), crc32("6789"), 4), 0xcbf43926u);
  EXPECT_EQ(crc32(""), 0u);
  EXPECT_EQ(checksum_text(0xbeef), "crc32:0000beef");
}

TEST(Checksum, OnAllThreadsIsTheSame) {
  Random random(1);
  std::string bytes;
  for (int i = 0; i < 2'500'001; ++i) bytes += static_cast<char>(random.below(256));
  EXPECT_EQ(crc32_parallel(bytes), crc32(bytes));
  EXPECT_EQ(crc32_parallel(""), 0u);
}

const std::string json = "{\n  \"width\": 8,\n  \"more\": {\n    \"checksum\": 1\n  }\n}\n";

TEST(Checksum, OfAJsonFileIsInItsFirstLine) {
  const std::string text = with_checksum(json);
  EXPECT_EQ(text.find("{\n  \"checksum\": \"crc32:"), 0u);
  EXPECT_EQ(without_checksum(text, "x.json"), json);
  EXPECT_EQ(without_checksum(json, "x.json"), json) << "written by hand";
  std::string deleted = text;
  deleted.erase(1, deleted.find('\n', 2) - 1);
  EXPECT_EQ(deleted, json);
}

// A changed key is not a key that a reader knows, or the text is not JSON.
TEST(Checksum, EveryWrongBitOfAJsonFileIsFound) {
  const std::string good = with_checksum(json);
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string text = good;
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ 1 << bit % 8);
    try {
      const std::string read = without_checksum(text, "x.json");
      EXPECT_EQ(read, text);
      EXPECT_EQ(read.find("\n  \"checksum\": \"crc32:"), std::string::npos) << text;
    } catch (const InputError& e) {
      EXPECT_TRUE(std::string(e.what()).starts_with("x.json: its ")) << e.what();
    }
  }
}

TEST(Checksum, TheErrorForAnEditedFileNamesTheLineToDelete) {
  std::string text = with_checksum(json);
  text[text.find("8,", 40)] = '9';
  try {
    without_checksum(text, "x.json");
    ADD_FAILURE();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("delete the line with \"checksum\""), std::string::npos) << e.what();
  }
  for (const std::string& broken : {std::string("{\"checksum\""), std::string("{\n  \"checksum\": \"crc32:12"),
                                    std::string("{ \"checksum\": 3}")})
    EXPECT_THROW(without_checksum(broken, "x.json"), InputError) << broken;
}

}  // namespace qkv::checksum_test
