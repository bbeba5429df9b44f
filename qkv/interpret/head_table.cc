#include "qkv/interpret/head_table.h"

#include <algorithm>

#include <fmt/format.h>

#include "qkv/base/json.h"
#include "qkv/interpret/head_names.h"
#include "qkv/interpret/pattern/distance.h"
#include "qkv/model/describe_tables.h"

namespace qkv {
namespace {

struct Row {
  AttentionHead head;
  HeadPatterns patterns;
  std::optional<pattern::Distance> distance;
};

std::vector<Row> rows_of(std::span<const AttentionMaps> attention) {
  std::vector<Row> rows;
  for (const AttentionMaps& maps : attention) {
    int64_t layer = 0;
    for (const LayerPatterns& of_layer : pattern_strengths(maps)) {
      int64_t head = 0;
      for (const HeadPatterns& patterns : of_layer) {
        const Tensor weights = maps.layers[static_cast<size_t>(layer)].select(0, head).contiguous_copy();
        const HeadWeights one = {weights.span<float>(), maps.columns, maps.use != AttentionUse::cross};
        rows.push_back({{maps.use, layer, head++}, patterns, pattern::strongest_distance(one)});
      }
      ++layer;
    }
  }
  return rows;
}

}  // namespace

std::string head_table(std::span<const AttentionMaps> attention) {
  const std::vector<Row> rows = rows_of(attention);
  std::vector<TableRow> cells = {{"head", "kind"}};
  for (const Row& row : rows) cells.push_back({name_of(row.head), std::string(row.patterns.kind())});
  std::vector<bool> right = {false, false};
  for (size_t i = 0; i < head_patterns().size(); ++i) {
    const auto has = [&](const Row& row) { return row.patterns.strengths[i].has_value(); };
    if (std::none_of(rows.begin(), rows.end(), has)) continue;
    const std::string_view name = head_patterns()[i].name;
    cells[0].emplace_back(name);
    right.push_back(true);
    for (size_t r = 0; r < rows.size(); ++r) {
      std::string cell = has(rows[r]) ? fmt::format("{:.2f}", *rows[r].patterns.strengths[i]) : "";
      if (name == "distance" && rows[r].distance) cell += fmt::format(" ({:+d})", rows[r].distance->distance);
      cells[r + 1].push_back(std::move(cell));
    }
  }
  return table(cells, right);
}

Json head_json(std::span<const AttentionMaps> attention) {
  Json out = Json::array();
  for (const Row& row : rows_of(attention)) {
    Json one = {{"head", name_of(row.head)}, {"kind", row.patterns.kind()}};
    for (size_t i = 0; i < head_patterns().size(); ++i)
      if (row.patterns.strengths[i]) one[head_patterns()[i].name] = *row.patterns.strengths[i];
    if (row.distance) one["at"] = row.distance->distance;
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace qkv
