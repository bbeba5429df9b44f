#include "qkv/picture/text_view.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/picture/heatmap.h"
#include "qkv/text/utf8.h"

namespace qkv::text_view_test {

Picture two_heads() {
  return attention_picture({{"self-attention",
                             {Tensor::from({1, 0, 0.5f, 0.5f, 0, 1, 0.5f, 0.5f}, {2, 2, 2})},
                             {"a", "\u2581word"},
                             {"x", "yz"}}});
}

int64_t widest_line(const std::string& text) {
  int64_t widest = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    widest = std::max(widest, utf8_length(text.substr(at, end - at)));
    at = end + 1;
  }
  return widest;
}

TEST(TextView, AHeadHasALineForEveryQueryAndTwoColumnsForEveryKey) {
  EXPECT_EQ(text_view(two_heads(), {.layer = 0, .head = 0}),
            "self-attention, layer 0, head 0\n"
            "\n"
            "        y\n"
            "      x z\n"
            "    a \u2588\u2588\n"
            "\u2581word \u2593\u2593\u2593\u2593\n"
            "\n"
            "\u2591 0.05  \u2592 0.25  \u2593 0.5  \u2588 0.75 to 1\n"
            "rows: queries, columns: keys\n");
}

TEST(TextView, HeadsThatAreLeftOpenAreAveraged) {
  const std::string all = text_view(two_heads());
  EXPECT_TRUE(all.starts_with("self-attention, mean of 2 heads\n")) << all;
  EXPECT_NE(all.find("    a \u2588\u2588\u2588\u2588\n"), all.npos) << all;
  EXPECT_TRUE(text_view(two_heads(), {.layer = 0}).starts_with("self-attention, layer 0, mean of 2 heads\n"));
  const Picture layers = heatmap(Tensor::full({3, 2, 2, 2}, 0.5f));
  EXPECT_TRUE(text_view(layers).starts_with("mean of 6 heads in 3 layers\n")) << text_view(layers);
  EXPECT_TRUE(text_view(layers, {.head = 1}).starts_with("head 1 of 3 layers, mean\n"))
      << text_view(layers, {.head = 1});
}

TEST(TextView, FitsTheTerminal) {
  for (const int64_t keys : {5, 30, 60, 200, 1000})
    for (const int64_t columns : {40, 80, 130}) {
      const std::string text = text_view(heatmap(Tensor::full({2, keys}, 1.0f / 7)), {.columns = columns});
      const std::string cells = text.substr(0, text.find("\n\n") + 1);
      EXPECT_LE(widest_line(cells), columns) << keys;
      EXPECT_GE(widest_line(cells), std::min<int64_t>(2 * keys, columns / 2 - 3)) << keys;
    }
}

TEST(TextView, KeysThatShareAColumnShowTheLargestWeight) {
  Tensor weights = Tensor::zeros({1, 200});
  weights.span<float>()[151] = 0.5f;
  const std::string text = text_view(heatmap(weights), {.columns = 52});
  EXPECT_NE(text.find("0 " + std::string(37, ' ') + "\u2588\n"), text.npos) << text;  // key 151: column 151 / 4
  EXPECT_NE(text.find("4 keys a column"), text.npos) << text;
}

TEST(TextView, WideAndControlCharactersKeepTheColumnsAligned) {
  const Picture picture =
      heatmap(Tensor::full({2, 2}, 0.5f), {.rows = {"\u6f22\u5b57", "\n"}, .columns = {"\u6f22", "e\u0301"}});
  const std::string text = text_view(picture);
  EXPECT_TRUE(text.starts_with("     \u6f22e\u0301\n\u6f22\u5b57 ")) << text;
  EXPECT_NE(text.find("\n  \\n \u2588\u2588\u2588\u2588\n"), text.npos) << text;
}

TEST(TextView, NamesTheLayersAndHeadsThereAre) {
  const auto message_of = [](const TextViewOptions& options) -> std::string {
    try {
      return text_view(two_heads(), options);
    } catch (const UsageError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(message_of({.layer = 1}), "text_view: layer 1: self-attention has 1, counted from 0");
  EXPECT_EQ(message_of({.head = 2}), "text_view: head 2: self-attention has 2, counted from 0");
  EXPECT_THROW(text_view(heatmap(Tensor::zeros({2, 2})), {.head = 0}), UsageError) << "a matrix alone has no heads";
}

}  // namespace qkv::text_view_test
