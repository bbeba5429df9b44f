#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

#include "qkv/base/error.h"
#include "qkv/picture/heatmap.h"
#include "qkv/picture/page_parts.h"
#include "qkv/picture/picture_test.h"

namespace qkv::page_test {

using nlohmann::json;
using namespace picture_test;

std::string unpacked(const std::string& base64) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int held = 0;
  for (const char c : base64) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(digits.find(c));
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held & 255);
  }
  std::string plain(1 << 20, '\0');
  uLongf size = plain.size();
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(plain.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                       static_cast<uLong>(bytes.size())),
            Z_OK);
  return plain.substr(0, size);
}

std::vector<int> codes_of(const std::string& bytes) {
  std::vector<int> codes;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2)
    codes.push_back(static_cast<unsigned char>(bytes[i]) + 256 * static_cast<unsigned char>(bytes[i + 1]));
  return codes;
}

TEST(Page, ThePageHoldsEveryWeightAndFetchesNothing) {
  const Tensor weights = random_weights({3, 5, 5});
  const Picture picture = heatmap(weights, {.rows = odd_tokens, .columns = odd_tokens, .title = "a </title> b"});
  const std::string page = picture.html();
  EXPECT_EQ(count(page, "</script>"), 2);
  EXPECT_EQ(count(page, "</title>"), 1);
  EXPECT_EQ(count(page, "http"), 2) << "http-equiv, and the name space in the script";
  EXPECT_EQ(count(page, " src=") + count(page, "<link") + count(page, "@import"), 0);
  EXPECT_NE(page.find("default-src 'none'"), page.npos);

  const json data = page_data(page);
  EXPECT_EQ(data["tokens"].size(), 1u) << "equal lists are written once";
  EXPECT_EQ(data["tokens"][0][1], "a\\tb\\x01");
  EXPECT_EQ(data["bits"], 16);
  const std::vector<int> codes = codes_of(unpacked(data["weights"]));
  ASSERT_EQ(codes.size(), 75u);
  for (size_t i = 0; i < 75; ++i)
    EXPECT_NEAR(codes[i] / 65535.0 * data["high"].get<double>(), weights.span<float>()[i], 1e-5);
}

TEST(Page, ManyWeightsHave8BitsEach) {
  const Tensor weights = random_weights({2, 500, 300});
  const json data = page_data(heatmap(weights).html());
  EXPECT_EQ(data["bits"], 8);
  const std::string codes = unpacked(data["weights"]);
  ASSERT_EQ(codes.size(), 300'000u);
  for (const size_t i : {0u, 7u, 149'999u, 150'000u, 299'999u}) {
    const double step = data["groups"][0]["panels"][i / 150'000]["step"].get<double>();
    EXPECT_LT(step, 0.004);
    EXPECT_NEAR(step * static_cast<unsigned char>(codes[i]), weights.span<float>()[i], 0.51 * step);
  }
  EXPECT_EQ(page_data(heatmap(weights.select(0, 0)).html())["bits"], 16);
  Tensor negative = random_weights({2, 500, 300});
  negative.span<float>()[5] = -1;
  EXPECT_EQ(page_data(heatmap(negative).html())["bits"], 16);
}

TEST(Page, ThePageOpensWithTheMostInformativeHead) {
  Tensor weights = Tensor::full({2, 3, 4, 4}, 0.25f);
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 4; ++j) weights.span<float>()[static_cast<size_t>(48 + 4 * i + j)] = i == j ? 1 : 0;
  const json data = page_data(heatmap(weights).html());
  EXPECT_EQ(data["opened"], 3);
  EXPECT_EQ(data["groups"][0]["heads"], 3);
  EXPECT_EQ(data["groups"][0]["panels"][3]["does"], "same token 100%");
  EXPECT_EQ(data["groups"][0]["panels"][0]["does"], "even");
  const json named = page_data(
      heatmaps({{"a", weights.select(0, 0).select(0, 0)}, {"b", weights.select(0, 1).select(0, 0)}}).html());
  EXPECT_EQ(named["opened"], 0) << "matrices that are not heads";
  EXPECT_EQ(named["groups"][0]["panels"][1].count("does"), 0u);
}

TEST(Page, ThePageOpensWithTheSelectedGroup) {
  const std::vector<AttentionGroup> groups = {{"encoder self-attention", {random_weights({2, 3, 3})}},
                                              {"decoder self-attention", {random_weights({2, 4, 4})}},
                                              {"cross-attention", {random_weights({2, 4, 3})}}};
  EXPECT_EQ(page_data(attention_picture(groups).html())["selected"], 2) << "the cross-attention";
  EXPECT_EQ(page_data(attention_picture(groups, {.selected_group = 1}).html())["selected"], 1);
  EXPECT_EQ(page_data(heatmap(random_weights({2, 3})).html())["selected"], 0);
  EXPECT_THROW(attention_picture(groups, {.selected_group = 3}), Error);
}

TEST(Page, ThePageHasItsWholeScript) {
  EXPECT_TRUE(page_script.starts_with("\"use strict\";\n"));
  EXPECT_NE(page_script.find("\nstart().catch("), page_script.npos);
  EXPECT_NE(page_style.find("\nbody {"), page_style.npos);
}

TEST(Page, StyleAndScriptCannotEndTheirElement) {
  for (const std::string_view part : {page_style, page_script}) {
    EXPECT_EQ(part.find("</"), part.npos);
    for (const char c : part) EXPECT_TRUE((c >= 0x20 && c < 0x7f) || c == '\n');
  }
}

}  // namespace qkv::page_test
