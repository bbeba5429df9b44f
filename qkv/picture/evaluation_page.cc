#include "qkv/picture/evaluation_page.h"

#include <cmath>

#include <fmt/format.h>

#include "qkv/base/error.h"
#include "qkv/picture/embedded_json.h"
#include "qkv/picture/evaluation_page_parts.h"
#include "qkv/picture/label.h"

namespace qkv {
namespace {

Json shown_lines(std::span<const std::string> lines) {
  Json out = Json::array();
  for (const std::string& line : lines) out.push_back(label_text(line));
  return out;
}

// Two decimals are shown, and more would only make the file larger.
double shortened_score(double score) { return std::round(score * 100) / 100; }

Json systems_data(const Evaluation& evaluation) {
  Json systems = Json::array();
  for (size_t i = 0; i < evaluation.systems().size(); ++i) {
    Json bleu = Json::array(), chrf = Json::array();
    for (const SentenceScores& scores : evaluation.sentence_scores(i)) {
      bleu.push_back(shortened_score(scores.bleu));
      chrf.push_back(shortened_score(scores.chrf));
    }
    systems.push_back({{"name", label_text(evaluation.systems()[i].name)},
                       {"lines", shown_lines(evaluation.systems()[i].lines)},
                       {"bleu", std::move(bleu)},
                       {"chrf", std::move(chrf)}});
  }
  return systems;
}

Json page_data_of(const Evaluation& evaluation, const EvaluationPageOptions& options) {
  Json references = Json::array(), attention = Json::array();
  for (const auto& lines : evaluation.references()) references.push_back(shown_lines(lines));
  for (const SentencePage& page : options.attention)
    attention.push_back({{"sentence", page.sentence}, {"html", page.html}});
  return {{"systems", systems_data(evaluation)},
          {"references", std::move(references)},
          {"sources", shown_lines(options.sources)},
          {"attentionOf", label_text(options.attention_of)},
          {"attention", std::move(attention)}};
}

std::string score_cell(const MetricResult& metric) {
  std::string text = fmt::format("<b>{:.2f}</b>", metric.score);
  if (metric.confidence) text += fmt::format(" <small>&plusmn; {:.2f}</small>", metric.confidence->half_width);
  if (metric.p_value) text += fmt::format(" <small>p = {:.4f}</small>", *metric.p_value);
  return text;
}

std::string score_table(std::span<const SystemResult> results) {
  std::string text = "<table><thead><tr><th>system</th>";
  for (const MetricResult& metric : results.front().metrics)
    text += fmt::format("<th title=\"{}\">{}</th>", xml_escaped(metric.signature), xml_escaped(metric.name));
  text += "<th>exact match</th></tr></thead><tbody>\n";
  for (const SystemResult& result : results) {
    text += fmt::format("<tr><th dir=\"auto\">{}</th>", xml_escaped(label_text(result.name)));
    for (const MetricResult& metric : result.metrics) text += fmt::format("<td>{}</td>", score_cell(metric));
    text += fmt::format("<td>{} of {}</td></tr>\n", result.exact_matches, result.sentences);
  }
  return text + "</tbody></table>";
}

}  // namespace

std::string evaluation_page(const Evaluation& evaluation, const EvaluationPageOptions& options) {
  require<InputError>(options.sources.empty() || options.sources.size() == evaluation.sentences(),
                      "evaluation page", "{} sources, but {} sentences", options.sources.size(),
                      evaluation.sentences());
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
<div class="scores">{2}</div></header>
<noscript><p>The sentences of this page are drawn by its script.</p></noscript>
<main></main>
<script type="application/json" id="data">{3}</script>
<script>
{4}</script>
</body>
</html>
)",
                     xml_escaped(label_text(options.title)), evaluation_page_style,
                     score_table(evaluation.results()), embedded_json(page_data_of(evaluation, options)),
                     evaluation_page_script);
}

}  // namespace qkv
