#include "qkv/picture/page.h"

#include <map>

#include "qkv/base/json.h"
#include "qkv/picture/embedded_json.h"
#include "qkv/picture/head_summary.h"
#include "qkv/picture/label.h"
#include "qkv/picture/packed_weights.h"
#include "qkv/picture/page_parts.h"

namespace qkv {
namespace {

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

void add_summary(Json& entry, const Panel& panel) {
  const HeadSummary head = summarize_head(panel);
  entry["does"] = label_text(head.pattern);
  entry["entropy"] = head.entropy;
  entry["information"] = head.information;
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
    for (const Panel& panel : group.panels) {
      Json entry = {{"title", label_text(panel.title)},
                    {"rows", index_of(panel.rows)},
                    {"columns", index_of(panel.columns)},
                    {"max", largest_magnitude(panel.weights)},
                    {"step", step_of_8_bits(panel.weights, scale)}};
      if (group.heads > 0) add_summary(entry, panel);
      panels.push_back(std::move(entry));
    }
    groups.push_back({{"title", label_text(group.title)},
                      {"caption", label_text(group.caption)},
                      {"perLine", group.per_line},
                      {"heads", group.heads},
                      {"lineTitles", labels(group.line_titles)},
                      {"columnTitles", labels(group.column_titles)},
                      {"panels", std::move(panels)}});
  }
  PackedWeights weights = packed_weights(content, scale);
  return {{"low", scale.low},
          {"high", scale.high},
          {"bits", weights.bits},
          {"lines", content.lines},
          {"selected", content.selected_group},
          {"opened", opening_panel(content.groups[static_cast<size_t>(content.selected_group)])},
          {"caption", label_text(content.caption)},
          {"light", palette(scale, Theme::light)},
          {"dark", palette(scale, Theme::dark)},
          {"tokens", std::move(tokens)},
          {"weights", std::move(weights.base64)},
          {"groups", std::move(groups)}};
}

// An element whose text is cut at the end of the line; all of it is shown under the pointer and where it has the focus.
std::string one_line(std::string_view tag, const std::string& text) {
  return fmt::format("<{0} dir=\"auto\" tabindex=\"0\" title=\"{1}\">{1}</{0}>", tag,
                     xml_escaped(label_text(text)));
}

}  // namespace

std::string picture_page(const PictureContent& content, const ColorScale& scale) {
  const std::string name = content.title.empty() ? "Attention weights" : content.title;
  std::string facts;
  for (const auto& [key, value] : content.metadata)
    facts += fmt::format("<div><dt>{}</dt>{}</div>", xml_escaped(label_text(key)), one_line("dd", value));
  if (!facts.empty()) facts = "<dl>" + facts + "</dl>\n";
  return fmt::format(R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<title>{5}</title>
<style>
{1}</style>
</head>
<body>
<header>{0}
{2}</header>
<noscript><p>This page is drawn by its script. The same picture saved as .svg needs none.</p></noscript>
<main></main>
<script type="application/json" id="data">{3}</script>
<script>
{4}</script>
</body>
</html>
)",
                     one_line("h1", name), page_style, facts, embedded_json(page_data(content, scale)), page_script,
                     xml_escaped(label_text(name)));
}

}  // namespace qkv
