// Models in which the padding of a batch would change a row: their rows are batched by length.
#include <gtest/gtest.h>

#include "qkv/decode/embedder.h"
#include "qkv/decode/generator.h"
#include "qkv/decode/mask_filler.h"
#include "qkv/model/family/published_folder_test.h"

namespace qkv::row_in_batch_test {

using test::PublishedFolder;

// "5 12 19 ...": ids of the number tokenizer.
std::string numbers(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}{}", i == 0 ? "" : " ", 5 + i * 7 % 90);
  return text;
}

std::vector<float> first_row(const Tensor& vectors) {
  const auto row = vectors.span<float>().subspan(0, static_cast<size_t>(vectors.dim(1)));
  return {row.begin(), row.end()};
}

TEST(ARowDoesNotDependOnItsBatch, InEmbeddings) {
  for (const char* name : {"big-bird", "llama-dynamic", "phi3"}) {
    const PublishedFolder folder(name);
    folder.give_number_tokenizer();
    const Embedder embedder(folder.path());
    for (const int length : {1, 5, 30}) {
      const std::vector<std::string> both = {numbers(length), numbers(45), numbers(length)};
      EXPECT_EQ(first_row(embedder.embed(both).vectors),
                first_row(embedder.embed(std::span(both).subspan(0, 1)).vectors))
          << name << " " << length;
    }
  }
}

TEST(ARowDoesNotDependOnItsBatch, InScores) {
  for (const char* name : {"llama-dynamic", "phi3"}) {
    const PublishedFolder folder(name);
    folder.give_number_tokenizer();
    const Generator generator(folder.path());
    const std::vector<std::string> both = {numbers(5), numbers(40)};
    EXPECT_EQ(generator.score(both)[0].token_log_probabilities,
              generator.score(std::span(both).subspan(0, 1))[0].token_log_probabilities)
        << name;
  }
}

TEST(ARowDoesNotDependOnItsBatch, InFilledMasks) {
  const PublishedFolder folder("big-bird");
  folder.give_number_tokenizer();
  const MaskFiller filler(folder.path());
  const std::vector<std::string> both = {"[MASK] " + numbers(30), numbers(20) + " [MASK] " + numbers(25)};
  const FilledText alone = filler.fill(both[0]), together = filler.fill(both)[0];
  ASSERT_EQ(alone.masks.size(), 1u);
  for (size_t i = 0; i < alone.masks[0].size(); ++i) {
    EXPECT_EQ(alone.masks[0][i].id, together.masks[0][i].id);
    EXPECT_EQ(alone.masks[0][i].probability, together.masks[0][i].probability);
  }
}

}  // namespace qkv::row_in_batch_test
