#include "qkv/measure/attention_growth.h"

#include <algorithm>
#include <charconv>

#include "qkv/base/error.h"
#include "qkv/model/describe_tables.h"

namespace qkv {
namespace {

constexpr int64_t largest_factor = 8;

int64_t number_of(std::string_view text, std::string_view sweep, std::string_view where) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require<UsageError>(error == std::errc() && end == text.data() + text.size() && value >= 1, where,
                      "a sweep is AXIS or AXIS=FROM..TO, such as length=512..4096, got {}", quoted_name(sweep));
  return value;
}

std::vector<int64_t> doubled(int64_t from, int64_t to) {
  std::vector<int64_t> values;
  for (; from <= to; from *= 2) values.push_back(from);
  return values;
}

std::string ratio(double value, double base) { return base > 0 ? fmt::format("{:.3g} x", value / base) : ""; }

}  // namespace

std::string title_of(AttentionAxis axis) {
  switch (axis) {
    case AttentionAxis::head_width: return "head width D";
    case AttentionAxis::heads: return "heads H";
    case AttentionAxis::queries: return "queries T";
    case AttentionAxis::keys: return "keys S";
    case AttentionAxis::length: return "length T = S";
  }
  return "";
}

int64_t size_of(const AttentionWorkload& work, AttentionAxis axis) {
  switch (axis) {
    case AttentionAxis::head_width: return work.layer.size().head_width;
    case AttentionAxis::heads: return work.layer.heads;
    case AttentionAxis::queries: return work.queries;
    case AttentionAxis::keys: return work.keys;
    case AttentionAxis::length: return std::max(work.queries, work.keys);
  }
  return 0;
}

AttentionWorkload with_size(AttentionWorkload work, AttentionAxis axis, int64_t value) {
  MultiHeadAttentionOptions& layer = work.layer;
  layer.head_width = layer.size().head_width;
  switch (axis) {
    case AttentionAxis::head_width: layer.head_width = value; break;
    case AttentionAxis::heads:
      layer.kv_heads = layer.kv_heads == layer.heads ? 0 : std::min(layer.kv_heads, value);
      layer.heads = value;
      break;
    case AttentionAxis::queries: work.queries = value; break;
    case AttentionAxis::keys: work.keys = value; break;
    case AttentionAxis::length: work.queries = work.keys = value; break;
  }
  layer.d_model = layer.heads * layer.head_width;
  return work;
}

AttentionSweep attention_sweep(std::string_view text, const AttentionWorkload& work, std::string_view where) {
  const size_t equals = std::min(text.find('='), text.size());
  AttentionSweep sweep = {value_named<AttentionAxis>(text.substr(0, equals), where, "the axis of a sweep")};
  const int64_t size = size_of(work, sweep.axis);
  int64_t from = std::max<int64_t>(1, size / 16), to = size;
  if (equals < text.size()) {
    const std::string_view range = text.substr(equals + 1);
    const size_t dots = std::min(range.find(".."), range.size());
    from = to = number_of(range.substr(0, dots), text, where);
    if (dots < range.size()) to = number_of(range.substr(dots + 2), text, where);
    require<UsageError>(from <= to, where, "a sweep goes from the smaller size to the larger one, got {}",
                        quoted_name(text));
  }
  constexpr int64_t largest = int64_t{1} << 24;
  require<UsageError>(to <= largest, where, "sizes must be 1 to {}, got {}", largest, to);
  sweep.values = doubled(from, to);
  return sweep;
}

std::vector<AttentionGrowth> attention_growth(const AttentionWorkload& work) {
  std::vector<AttentionGrowth> out;
  const AttentionCost cost = attention_cost(work);
  for (const auto& [axis, name] : names_of(AttentionAxis{})) {
    if (axis == AttentionAxis::length && work.queries != work.keys) continue;
    const int64_t size = size_of(work, axis);
    for (int64_t factor = 1; factor <= largest_factor; factor *= 2)
      out.push_back(
          {axis, factor, factor * size, factor == 1 ? cost : attention_cost(with_size(work, axis, factor * size))});
  }
  return out;
}

std::string growth_table(const AttentionWorkload& work, const std::vector<AttentionGrowth>& growth) {
  std::vector<TableRow> rows = {
      {"Growth", "", "visible pairs", "FLOPs", "", "bytes", "", "FLOP/byte", "KV cache", "weights, if stored"}};
  const AttentionCost base = attention_cost(work);
  const auto add = [&](const std::string& title, const std::string& value, const AttentionCost& cost,
                       bool is_base) {
    rows.push_back({title, value, with_commas(cost.visible_pairs), flops_text(cost.flops),
                    is_base ? "" : ratio(cost.flops, base.flops), bytes_text(cost.bytes()),
                    is_base ? "" : ratio(cost.bytes(), base.bytes()), intensity_text(cost.intensity()),
                    bytes_text(cost.cache_bytes), bytes_text(4 * static_cast<double>(cost.pairs))});
  };
  add("as given", "", base, true);
  for (const AttentionGrowth& row : growth)
    if (row.factor > 1) add(title_of(row.axis), with_commas(row.value), row.cost, false);
  return table(rows, {false, true, true, true, true, true, true, true, true, true});
}

std::string explain(const AttentionWorkload& work) {
  const AttentionCost cost = attention_cost(work);
  std::string out = attention_plan(work).text();
  const auto line = [&](std::string_view label, const std::string& text) {
    out += fmt::format("  {:11}{}\n", label, text);
  };
  line("backward", flops_text(2.5 * cost.flops) + ": five products instead of two");
  line("weights",
       work.stores_weights
           ? bytes_text(cost.weight_bytes) + ", stored"
           : fmt::format("{} if they were stored, instead of {} of a log-sum-exp for each query",
                         bytes_text(4 * static_cast<double>(cost.pairs)), bytes_text(cost.added_memory)));
  line("KV cache", bytes_text(cost.cache_bytes) + " of keys and values, all of which a decoding step reads");
  return out;
}

}  // namespace qkv
