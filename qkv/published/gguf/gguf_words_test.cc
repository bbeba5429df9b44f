#include "qkv/published/gguf/gguf_words.h"

#include <gtest/gtest.h>

namespace qkv::gguf_words_test {
namespace {

TEST(GgufWords, TheNameOfWordsIsFound) {
  for (const char* name :
       {"default", "gpt-2", "olmo", "llama-bpe", "dbrx", "qwen2", "stablelm2", "tekken", "gpt-4o", "falcon",
        "starcoder", "bloom", "viking", "deepseek-llm", "deepseek-coder", "deepseek-v3"}) {
    const GgufWords words = gguf_words(name, "test");
    EXPECT_EQ(gguf_words_name(words.normalizer, words.pre_tokenizer, words.ignore_merges), name);
  }
}

TEST(GgufWords, OtherStepsHaveNoName) {
  const Json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  EXPECT_EQ(gguf_words_name({}, bytes, false), "gpt-2");
  EXPECT_FALSE(gguf_words_name({}, bytes, true)) << "none ignores merges";
  EXPECT_FALSE(gguf_words_name(Json{{"type", "Lowercase"}}, bytes, false));
  EXPECT_FALSE(gguf_words_name({}, Json{{"type", "ByteLevel"}, {"add_prefix_space", true}}, false));
  EXPECT_FALSE(gguf_words_name({}, Json{{"type", "Whitespace"}}, false));
  EXPECT_FALSE(gguf_words_name({}, {}, false));
  const Json split = {{"type", "Split"}, {"pattern", {{"Regex", "a+"}}}, {"behavior", "Isolated"}};
  EXPECT_FALSE(
      gguf_words_name({}, Json{{"type", "Sequence"}, {"pretokenizers", Json::array({split, bytes})}}, false));
}

}  // namespace
}  // namespace qkv::gguf_words_test
