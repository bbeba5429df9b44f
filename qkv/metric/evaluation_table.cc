#include "qkv/metric/evaluation_table.h"

#include <algorithm>

#include <fmt/format.h>

#include "qkv/base/json.h"
#include "qkv/text/utf8.h"

namespace qkv {
namespace {

constexpr double significant = 0.05;

// Rows of cells, the first one the header, in columns that are as wide as their widest cell.
std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], static_cast<size_t>(utf8_length(row[i])));
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i)
      line += row[i] + std::string(widths[i] - static_cast<size_t>(utf8_length(row[i])) + 2, ' ');
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string interval_text(const Confidence& c) {
  return fmt::format(" (\u03bc = {:.2f} \u00b1 {:.2f})", c.mean, c.half_width);
}

// baseline: of the first system. Equal scores are never marked: both tests give identical systems the smallest p.
std::string cell(const MetricResult& result, const MetricResult& baseline) {
  std::string text = fmt::format("{:.2f}", result.score);
  if (result.confidence) text += interval_text(*result.confidence);
  if (!result.p_value) return text;
  const bool differs = *result.p_value < significant && result.score != baseline.score;
  return text + fmt::format(" (p = {:.4f}){}", *result.p_value, differs ? "*" : "");
}

std::vector<std::string> header(std::vector<std::string> cells, const SystemResult& result) {
  for (const MetricResult& metric : result.metrics) cells.push_back(metric.name);
  cells.push_back("exact match");
  return cells;
}

std::vector<std::string> row_of(std::vector<std::string> cells, const SystemResult& result,
                                const SystemResult& baseline) {
  cells.push_back(escape_controls(result.name));
  for (size_t i = 0; i < result.metrics.size(); ++i) cells.push_back(cell(result.metrics[i], baseline.metrics[i]));
  cells.push_back(fmt::format("{:.4f}", result.exact_share()));
  return cells;
}

Json scores_json(const SystemResult& result, Json json) {
  for (const MetricResult& metric : result.metrics) {
    Json scores = {{"score", metric.score}};
    if (metric.p_value) scores["p_value"] = *metric.p_value;
    if (metric.confidence) scores["mean"] = metric.confidence->mean, scores["ci"] = metric.confidence->half_width;
    if (!metric.signature.empty()) scores["signature"] = metric.signature;
    json[metric.name] = std::move(scores);
  }
  json["exact match"] = {
      {"score", result.exact_share()}, {"matches", result.exact_matches}, {"sentences", result.sentences}};
  return json;
}

}  // namespace

std::string metric_line(const MetricResult& result) {
  std::string text = fmt::format("{}|{} = {:.2f}", result.name, result.signature, result.score);
  if (result.confidence) text += interval_text(*result.confidence);
  return result.details.empty() ? text : text + " " + result.details;
}

Json metric_json(const MetricResult& result) {
  Json json = {{"name", result.name}, {"score", result.score}, {"signature", result.signature}};
  if (result.confidence)
    json["confidence_mean"] = result.confidence->mean, json["confidence_var"] = result.confidence->half_width;
  if (!result.details.empty()) json["verbose_score"] = result.details;
  return json;
}

std::string results_table(std::span<const SystemResult> results) {
  std::vector<std::vector<std::string>> rows = {header({"system"}, results.front())};
  for (const SystemResult& result : results) rows.push_back(row_of({}, result, results.front()));
  std::string text = aligned(rows) + "\n";
  bool tested = false;
  for (const MetricResult& metric : results.front().metrics)
    text += fmt::format("{}|{}\n", metric.name, metric.signature);
  for (const SystemResult& result : results)
    for (const MetricResult& metric : result.metrics) tested = tested || metric.p_value;
  if (tested)
    text += fmt::format(
        "p: the probability of such a difference from {} if both were equally good; *: below {}, and the scores "
        "differ\n",
        escape_controls(results.front().name), significant);
  return text;
}

Json results_json(std::span<const SystemResult> results) {
  Json all = Json::array();
  for (const SystemResult& result : results) all.push_back(scores_json(result, {{"system", result.name}}));
  return all;
}

std::string length_table(std::span<const LengthBucket> buckets, std::string_view measured) {
  std::vector<std::vector<std::string>> rows;
  for (const LengthBucket& bucket : buckets)
    for (const SystemResult& result : bucket.results) {
      if (rows.empty()) rows.push_back(header({std::string(measured), "sentences", "system"}, result));
      const bool first = &result == &bucket.results.front();
      rows.push_back(row_of({first ? bucket.label() : "", first ? fmt::to_string(result.sentences) : ""}, result,
                            bucket.results.front()));
    }
  return aligned(rows);
}

Json length_json(std::span<const LengthBucket> buckets) {
  Json all = Json::array();
  for (const LengthBucket& bucket : buckets) {
    Json systems = Json::array();
    for (const SystemResult& result : bucket.results)
      systems.push_back(scores_json(result, {{"system", result.name}}));
    all.push_back({{"length", bucket.label()},
                   {"sentences", bucket.results.front().sentences},
                   {"systems", std::move(systems)}});
  }
  return all;
}

}  // namespace qkv
