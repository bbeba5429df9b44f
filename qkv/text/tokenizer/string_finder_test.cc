#include "qkv/text/tokenizer/string_finder.h"

#include <gtest/gtest.h>

#include "qkv/base/random.h"

namespace qkv::string_finder_test {

std::string random_text(Random& random, uint64_t longest) {
  std::string text(random.below(longest + 1), ' ');
  for (char& c : text) c = static_cast<char>('a' + random.below(2));
  return text;
}

TEST(StringFinder, FindsTheLongestStringAtEachByte) {
  Random random(1, 2);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::string> strings(random.below(6));
    for (std::string& text : strings) text = random_text(random, 5);
    const std::string text = random_text(random, 30);
    std::vector<int32_t> expected(text.size(), -1);
    for (size_t at = 0; at < text.size(); ++at) {
      size_t longest = 0;
      for (size_t i = 0; i < strings.size(); ++i)
        if (!strings[i].empty() && strings[i].size() >= longest && text.substr(at).starts_with(strings[i])) {
          longest = strings[i].size();
          expected[at] = static_cast<int32_t>(i);
        }
    }
    EXPECT_EQ(StringFinder(strings).longest(text), expected) << text;
  }
  EXPECT_EQ(StringFinder().longest("ab"), (std::vector<int32_t>{-1, -1}));
}

}  // namespace qkv::string_finder_test
