#include "qkv/picture/page.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "qkv/base/base64.h"
#include "qkv/base/json.h"
#include "qkv/picture/embedded_json.h"
#include "qkv/picture/label.h"
#include "qkv/picture/page_parts.h"

namespace qkv {
namespace {

// 16 bits per weight, little-endian: 0 is the low end of the scale, 65535 the high end.
std::string packed(const Tensor& weights, const ColorScale& scale) {
  std::string bytes;
  for (const float weight : weights.span<float>()) {
    const float share = std::clamp((weight - scale.low) / (scale.high - scale.low), 0.0f, 1.0f);
    const auto code = static_cast<uint16_t>(std::lround(share * 65535));
    bytes += static_cast<char>(code & 255);
    bytes += static_cast<char>(code >> 8);
  }
  return base64_encoded(bytes);
}

Json palette(const ColorScale& scale, Theme theme) {
  constexpr int steps = 128;
  Json colors = Json::array();
  for (int i = 0; i <= steps; ++i) {
    const float share = static_cast<float>(i) / steps;
    colors.push_back(hex(scale.color(scale.low + share * (scale.high - scale.low), theme)));
  }
  return colors;
}

Json labels(const std::vector<std::string>& texts) {
  Json out = Json::array();
  for (const std::string& text : texts) out.push_back(label_text(text));
  return out;
}

// The data of the script. Lists of tokens are written once and referred to by index.
Json page_data(const PictureContent& content, const ColorScale& scale) {
  std::map<std::vector<std::string>, size_t> known;
  Json tokens = Json::array();
  const auto index_of = [&](const std::vector<std::string>& texts) {
    const auto [entry, is_new] = known.emplace(texts, known.size());
    if (is_new) tokens.push_back(labels(texts));
    return entry->second;
  };
  Json groups = Json::array();
  for (const PanelGroup& group : content.groups) {
    Json panels = Json::array();
    for (const Panel& panel : group.panels)
      panels.push_back({{"title", label_text(panel.title)},
                        {"rows", index_of(panel.rows)},
                        {"columns", index_of(panel.columns)},
                        {"weights", packed(panel.weights, scale)}});
    groups.push_back({{"title", label_text(group.title)},
                      {"perLine", group.per_line},
                      {"lineTitles", labels(group.line_titles)},
                      {"columnTitles", labels(group.column_titles)},
                      {"panels", std::move(panels)}});
  }
  return {{"low", scale.low},
          {"high", scale.high},
          {"lines", content.lines},
          {"selected", content.selected_group},
          {"caption", label_text(content.caption)},
          {"light", palette(scale, Theme::light)},
          {"dark", palette(scale, Theme::dark)},
          {"tokens", std::move(tokens)},
          {"groups", std::move(groups)}};
}

}  // namespace

std::string picture_page(const PictureContent& content, const ColorScale& scale) {
  const std::string title =
      xml_escaped(label_text(content.title.empty() ? std::string("Attention weights") : content.title));
  std::string facts;
  for (const auto& [key, value] : content.metadata)
    facts += fmt::format("<div><dt>{}</dt><dd dir=\"auto\">{}</dd></div>", xml_escaped(label_text(key)),
                         xml_escaped(label_text(value)));
  if (!facts.empty()) facts = "<dl>" + facts + "</dl>\n";
  return fmt::format(R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<title>{0}</title>
<style>
{1}</style>
</head>
<body>
<header><h1 dir="auto">{0}</h1>
{2}</header>
<noscript><p>This page is drawn by its script. The same picture saved as .svg needs none.</p></noscript>
<main></main>
<script type="application/json" id="data">{3}</script>
<script>
{4}</script>
</body>
</html>
)",
                     title, page_style, facts, embedded_json(page_data(content, scale)), page_script);
}

}  // namespace qkv
