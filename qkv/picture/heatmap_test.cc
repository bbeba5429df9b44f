#include "qkv/picture/heatmap.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <unistd.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/picture/picture_test.h"

namespace qkv::heatmap_test {

using nlohmann::json;
using namespace picture_test;

std::string message_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// Every element of an XML text is closed in its turn, and no '&' stands alone.
std::string xml_error(const std::string& text) {
  std::vector<std::string> open;
  for (size_t at = text.find('<'); at != text.npos; at = text.find('<', at + 1)) {
    const size_t end = text.find('>', at);
    if (end == text.npos) return "an unclosed tag at " + std::to_string(at);
    const std::string tag = text.substr(at + 1, end - at - 1);
    if (tag.starts_with('?')) continue;
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1)) return "unexpected <" + tag + ">";
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(tag.substr(0, tag.find_first_of(" \n")));
    }
  }
  for (size_t at = text.find('&'); at != text.npos; at = text.find('&', at + 1))
    if (text.find(';', at) > at + 6) return "a lone & at " + std::to_string(at);
  return open.empty() ? "" : "unclosed <" + open.back() + ">";
}

TEST(Heatmap, EveryCellHasTheColorOfItsWeight) {
  const Picture picture = heatmap(Tensor::from({1, 0, 0.5f, 0.5f, 0.5f, 0.25f}, {2, 3}));
  const std::string svg = picture.svg();
  const auto fill = [&](float weight) { return "<path fill=\"" + hex(picture.scale().color(weight)) + "\" d=\""; };
  EXPECT_NE(svg.find(fill(1) + "M0 0h1v1h-1z\""), svg.npos);
  // 0.5 is drawn as the nearest of 255 levels; its three cells are one path of two runs.
  EXPECT_NE(svg.find(fill(128.0f / 255) + "M2 0h1v1h-1zM0 1h2v1h-2z\""), svg.npos);
  EXPECT_NE(svg.find(fill(64.0f / 255) + "M2 1h1v1h-1z\""), svg.npos);
  EXPECT_EQ(count(svg, "h1v1") + count(svg, "h2v1"), 4) << "zero is the ground";
  EXPECT_NE(svg.find(">0.25</text>"), svg.npos);
}

TEST(Heatmap, TheColorBarHasAFewRoundTicks) {
  const auto bar = [](float smallest, float largest) {
    std::vector<double> ticks;
    const std::string svg = heatmap(Tensor::from({smallest, largest}, {1, 2})).svg();
    const std::string mark = "font-size=\"10\">";
    for (size_t at = svg.find(mark); at != svg.npos; at = svg.find(mark, at + 1))
      ticks.push_back(std::stod(svg.substr(at + mark.size())));
    std::sort(ticks.begin(), ticks.end());
    return ticks;
  };
  EXPECT_EQ(bar(0, 1), (std::vector<double>{0, 0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(bar(0, 0.88f), (std::vector<double>{0, 0.2, 0.4, 0.6, 0.88}));
  EXPECT_EQ(bar(0, 0.13f), (std::vector<double>{0, 0.05, 0.1, 0.13}));
  EXPECT_EQ(bar(-0.96f, 0), (std::vector<double>{-0.96, -0.5, 0, 0.5, 0.96}));
  EXPECT_EQ(bar(0, 7), (std::vector<double>{0, 2, 4, 6, 7}));
}

TEST(Heatmap, SvgIsWellFormedAndRefersToNothing) {
  for (const Picture& picture :
       {heatmap(random_weights({5, 5}), {.rows = odd_tokens, .columns = odd_tokens, .title = "<&>"}),
        head_view(random_weights({3, 5, 5}), {.rows = odd_tokens, .columns = odd_tokens}),
        heatmap(random_weights({2, 3, 4, 5}))}) {
    const std::string svg = picture.svg();
    EXPECT_EQ(xml_error(svg), "");
    EXPECT_EQ(count(svg, "http"), 1) << "the name space";
    EXPECT_EQ(count(svg, "<script") + count(svg, "<style") + count(svg, "url(") - count(svg, "url(#scale)"), 0);
    for (const char c : svg) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n');
  }
}

std::vector<std::string> numbered(const std::string& prefix, int64_t count) {
  std::vector<std::string> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(fmt::format("{}{}", prefix, i));
  return out;
}

// How many of the labels are shown, and that those are spread evenly from the first on.
int64_t shown(const std::string& svg, const std::vector<std::string>& labels) {
  std::vector<size_t> at;
  for (size_t i = 0; i < labels.size(); ++i)
    if (svg.find(">" + labels[i] + "</text>") != svg.npos) at.push_back(i);
  for (size_t i = 0; i < at.size(); ++i) EXPECT_EQ(at[i], i * (at.size() > 1 ? at[1] : 1));
  return static_cast<int64_t>(at.size());
}

TEST(Heatmap, UpTo80TokensHaveALabelEachAndMoreEveryFew) {
  for (const Shape& heads : {Shape{1}, Shape{4}, Shape{2, 3}})
    for (const int64_t n : {1, 5, 24, 25, 60, 80, 81, 150, 1000}) {
      Shape shape = heads;
      shape.push_back(n);
      shape.push_back(2);
      const HeatmapOptions tokens = {.rows = numbered("row", n)};
      for (const Picture& picture :
           {heatmap(random_weights(shape), tokens), head_view(random_weights(shape), tokens)}) {
        const int64_t labels = shown(picture.svg(), tokens.rows);
        if (n <= 80) {
          EXPECT_EQ(labels, n);
        } else {
          EXPECT_GE(labels, 20);
          EXPECT_LE(labels, n);
        }
      }
    }
}

TEST(Heatmap, AGridHasLayersDownAndHeadsAcross) {
  const Picture picture = heatmap(random_weights({2, 3, 4, 5}));
  const PanelGroup& group = picture.content().groups.at(0);
  EXPECT_EQ(group.panels.size(), 6u);
  EXPECT_EQ(group.per_line, 3);
  EXPECT_EQ(group.panels[5].title, "layer 1, head 2");
  EXPECT_EQ(group.panels[5].columns, (std::vector<std::string>{"0", "1", "2", "3", "4"}));
  const std::string svg = picture.svg();
  EXPECT_EQ(count(svg, ">layer 1<"), 1);
  EXPECT_EQ(count(svg, ">head 2<"), 1);
}

TEST(Heatmap, TheCaptionSaysWhatRowsAndColumnsAre) {
  const std::string default_caption = ">rows: queries, columns: keys<", own = "rows: positions, columns: <width>";
  EXPECT_EQ(count(heatmap(random_weights({2, 3})).svg(), default_caption), 1);
  for (const Picture& picture : {heatmap(random_weights({2, 3}), {.caption = own}),
                                 heatmaps({{"", random_weights({2, 3})}}, {.caption = own})}) {
    EXPECT_EQ(count(picture.svg(), ">rows: positions, columns: &lt;width&gt;<"), 1);
    EXPECT_EQ(count(picture.svg(), default_caption), 0);
    EXPECT_EQ(page_data(picture.html())["caption"], own);
  }
  const auto width = [](const Picture& picture) {
    const std::string svg = picture.svg(), mark = " width=\"";
    return std::stod(svg.substr(svg.find(mark) + mark.size()));
  };
  const std::string longer = own + own + own + own;
  EXPECT_GT(width(heatmap(random_weights({2, 3}), {.caption = longer})),
            width(heatmap(random_weights({2, 3}), {.caption = own})) + 200)
      << "the picture is as wide as its caption";
  EXPECT_EQ(count(head_view(random_weights({2, 3})).svg(), ">left: queries, right: keys<"), 1);
}

TEST(Heatmap, ALongTitleEndsInAnEllipsis) {
  std::string text = "first";
  for (int i = 0; i < 100; ++i) text += " word";
  const Picture picture = heatmap(random_weights({5, 5}), {.title = text + "\n"});
  const std::string svg = picture.svg(), mark = " width=\"";
  EXPECT_LT(std::stod(svg.substr(svg.find(mark) + mark.size())), 800);
  EXPECT_EQ(count(svg, "<title>" + text + "\\n</title>first word"), 1);
  EXPECT_EQ(count(svg, "\u2026</text>"), 1);
  const std::string page = picture.html();
  EXPECT_EQ(count(page, "title=\"" + text + "\\n\">"), 1);
  EXPECT_EQ(count(heatmap(random_weights({5, 5}), {.title = "short"}).svg(), ">short</text>"), 1);
}

TEST(Heatmap, AGroupMayHaveACaptionOfItsOwn) {
  const Picture picture = attention_picture(
      {{"a", {random_weights({1, 2, 2})}, {}, {}, "rows: x"}, {"b", {random_weights({1, 2, 2})}}});
  EXPECT_EQ(count(picture.svg(), ">rows: x<"), 1);
  EXPECT_EQ(count(picture.svg(), ">rows: queries, columns: keys<"), 1);
  EXPECT_EQ(page_data(picture.html())["groups"][0]["caption"], "rows: x");
  const json data = json::parse(picture.json());
  EXPECT_EQ(data["groups"][0]["caption"], "rows: x");
  EXPECT_EQ(data["groups"][1].count("caption"), 0u);
}

TEST(Heatmap, LongTextsStaySmallFiles) {
  // Heads as real ones are: most of the weight on a few keys, in a layer of 4 heads.
  Tensor weights = random_weights({1, 4, 200, 200});
  for (float& w : weights.span<float>()) w = std::pow(w, 40.0f);
  const Picture picture = heatmap(weights);
  EXPECT_LT(picture.html().size(), 230'000u);
  EXPECT_LT(picture.svg().size(), 230'000u);
  EXPECT_EQ(xml_error(picture.svg()), "");
  EXPECT_EQ(count(picture.svg(), "<image "), 4);
}

TEST(Heatmap, JsonGivesTheNumbersBack) {
  const Tensor weights = random_weights({2, 1, 3, 5});
  const Picture picture =
      attention_picture({{"self", {weights.select(0, 0), weights.slice(0, 1, 2)}, {"a", "b", "\xff"}, odd_tokens}},
                        {.title = "t", .metadata = {{"model", "x"}}});
  const json data = json::parse(picture.json());
  EXPECT_EQ(data["format"], "qkv-attention");
  EXPECT_EQ(data["metadata"]["model"], "x");
  const json& panel = data["groups"][0]["panels"][1];
  EXPECT_EQ(panel["title"], "layer 1, head 0");
  EXPECT_EQ(panel["rows"], json({"a", "b", "\ufffd"}));
  EXPECT_EQ(panel["columns"][1], "a\tb\x01");
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 5; ++j)
      EXPECT_NEAR(panel["weights"][static_cast<size_t>(i)][static_cast<size_t>(j)].get<float>(),
                  weights.at<float>({1, 0, i, j}), 1e-6);
}

TEST(Heatmap, AnyRealTypeAndStridesAreSeenAsTheyAre) {
  const Tensor weights = random_weights({3, 3});
  EXPECT_EQ(heatmap(weights.transpose(0, 1)).json(), heatmap(weights.transpose(0, 1).clone()).json());
  EXPECT_EQ(heatmap(Tensor::full({2, 2}, 0.5f).to(DType::bf16)).json(), heatmap(Tensor::full({2, 2}, 0.5f)).json());
  EXPECT_EQ(
      json::parse(heatmap(Tensor::zeros({1, 1}, DType::u8)).json())["groups"][0]["panels"][0]["weights"][0][0], 0);
}

TEST(Heatmap, ErrorsSayWhatIsWrongAndWhere) {
  Tensor bad = random_weights({1, 2, 2, 3});
  bad.span<float>()[10] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(message_of([&] {
              heatmap(bad, {.rows = {"a", "b"}, .columns = {"x", "y", "z"}});
            }),
            "picture: 'layer 0, head 1': weight nan at query 1 'b', key 1 'y'");
  EXPECT_EQ(message_of([&] {
              heatmap(random_weights({2, 3}), {.rows = {"a"}});
            }),
            "picture: weights: 1 query tokens (rows) for weights of shape (T 2, S 3), expected 2");
  EXPECT_EQ(message_of([&] {
              heatmap(random_weights({2, 3}), {.columns = {"a", "b"}});
            }),
            "picture: weights: 2 key tokens (columns) for weights of shape (T 2, S 3), expected 3");
  EXPECT_EQ(message_of([&] { heatmap(random_weights({3})); }),
            "heatmap: expected weights (T, S), (H, T, S) or (N, H, T, S), got (3)");
  EXPECT_EQ(message_of([&] {
              heatmap(random_weights({2, 0}));
            }),
            "picture: weights: expected a matrix (T, S), got (2, 0)");
  EXPECT_EQ(message_of([&] { heatmap(random_weights({0, 2, 2})); }), "picture: there must be at least one panel");
  EXPECT_EQ(
      message_of([&] {
        attention_picture({{"cross", {random_weights({2, 1, 3, 3})}, {}, {}}});
      }),
      "attention_picture: cross: expected weights (H, T, S) or (1, H, T, S) of one sequence, got (2, 1, 3, 3)");
}

TEST(Heatmap, SavesByExtension) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  const std::string name = "qkv-heatmap-test-" + std::to_string(::getpid());
  const Picture picture = heatmap(random_weights({2, 2}));
  for (const std::string extension : {".svg", ".html", ".json"}) {
    const std::filesystem::path path = folder / (name + extension);
    picture.save(path);
    const std::string bytes = read_file(path);
    std::filesystem::remove(path);
    EXPECT_EQ(bytes, extension == ".svg" ? picture.svg() : extension == ".html" ? picture.html() : picture.json());
  }
  EXPECT_THROW(picture.save(folder / (name + ".gif")), UsageError);
  EXPECT_EQ(message_of([&] { picture.save("/dev/null/x.svg"); }), "write: /dev/null/x.svg: Not a directory");
}

TEST(Heatmap, AHundredHeadsStayAReasonableFile) {
  Tensor weights = random_weights({8, 8, 60, 60});
  for (float& w : weights.span<float>()) w = std::pow(w, 8.0f);  // few large ones, as in real heads
  const Picture picture = heatmap(weights);
  EXPECT_LT(picture.svg().size(), 800'000u);
  EXPECT_LT(picture.html().size(), 600'000u);
  EXPECT_EQ(count(picture.svg(), "<image "), 64);
  EXPECT_EQ(xml_error(picture.svg()), "");
}

TEST(Heatmap, AFewLayersOfShortTextsAreVectors) {
  EXPECT_EQ(count(heatmap(random_weights({3, 4, 40, 40})).svg(), "<image "), 0);
  EXPECT_EQ(count(heatmap(random_weights({60, 60})).svg(), "<image "), 0);
}

TEST(Picture, HasATitleForEveryColumnOrNone) {
  const auto picture = [](int64_t per_line, std::vector<std::string> titles) {
    PanelGroup group{.title = "", .panels = std::vector<Panel>(3), .per_line = per_line};
    for (Panel& panel : group.panels) panel.weights = Tensor::zeros({2, 2});
    group.column_titles = std::move(titles);
    return Picture({.title = "", .groups = {group}}).svg();
  };
  EXPECT_THROW(picture(3, {"a", "b"}), Error);
  EXPECT_THROW(picture(2, {"a"}), Error);
  EXPECT_NE(picture(2, {"a", "b"}).find(">b</text>"), std::string::npos);
  EXPECT_EQ(picture(int64_t{1} << 60, {}), picture(3, {})) << "no memory for columns that are not there";
}

}  // namespace qkv::heatmap_test
