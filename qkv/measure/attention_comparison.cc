#include "qkv/measure/attention_comparison.h"

#include <charconv>

#include "qkv/base/error.h"
#include "qkv/base/json.h"
#include "qkv/layer/attention_variant_text.h"
#include "qkv/model/describe_tables.h"

namespace qkv {
namespace {

constexpr const char* op = "compare_attention";

std::vector<std::string_view> items_of(std::string_view text) {
  std::vector<std::string_view> items;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('+', begin), text.size());
    items.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

std::string milliseconds(double seconds) { return fmt::format("{:.3g}", 1e3 * seconds); }

}  // namespace

std::vector<std::string> default_mechanisms(AttentionUse use) {
  if (use == AttentionUse::cross) return {"full", "stored", "kv-heads=1", "additive"};
  return {"full", "stored", "kv-heads=1", "window=256", "dilated=512:4", "longformer=256:1", "bigbird", "additive"};
}

AttentionWorkload with_mechanism(AttentionWorkload work, const std::string& mechanism, std::string_view where) {
  constexpr std::string_view kv_heads = "kv-heads=";
  std::string variant;
  for (const std::string_view item : items_of(mechanism)) {
    if (item == "stored") {
      work.stores_weights = true;
    } else if (item.starts_with(kv_heads)) {
      const std::string_view number = item.substr(kv_heads.size());
      const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), work.layer.kv_heads);
      require<UsageError>(error == std::errc() && end == number.data() + number.size() && work.layer.kv_heads >= 1,
                          where, "kv-heads must be an integer of at least 1, got {}", quoted_name(number));
    } else {
      variant += fmt::format("{}{}", variant.empty() ? "" : "+", item);
    }
  }
  if (!variant.empty() || mechanism.empty()) work.layer.variant = attention_variant(variant, where);
  return work;
}

AttentionComparison compare_attention(const CompareOptions& options) {
  AttentionComparison out = {.work = options.work,
                             .sweep = attention_sweep(options.sweep, options.work, op),
                             .mechanisms = options.mechanisms};
  if (out.mechanisms.empty()) out.mechanisms = default_mechanisms(options.work.layer.use);
  for (const int64_t value : out.sweep.values)
    for (const std::string& mechanism : out.mechanisms) {
      const std::string where = fmt::format("{}: '{}'", op, mechanism);
      const AttentionWorkload work =
          with_size(with_mechanism(options.work, mechanism, where), out.sweep.axis, value);
      check_variant(work.layer.variant, work.layer.size(), where);
      ComparedAttention row = {.mechanism = mechanism, .value = value, .cost = attention_cost(work)};
      if (options.measure) {
        if (options.progress) options.progress(fmt::format("{}, {} {}", mechanism, name_of(out.sweep.axis), value));
        row.time = measure_attention(work);
      }
      out.rows.push_back(std::move(row));
    }
  return out;
}

std::string comparison_table(const AttentionComparison& comparison) {
  const bool measured = !comparison.rows.empty() && comparison.rows.front().time.has_value();
  std::vector<TableRow> rows = {{title_of(comparison.sweep.axis), "mechanism", "visible", "FLOPs", "bytes",
                                 "FLOP/byte", "added memory", "KV cache"}};
  std::vector<bool> right = {true, false, true, true, true, true, true, true};
  if (measured) {
    for (const char* title : {"median ms", "fastest", "slowest"}) rows.front().emplace_back(title);
    right.resize(rows.front().size(), true);
  }
  int64_t before = 0;
  for (const ComparedAttention& row : comparison.rows) {
    const AttentionCost& cost = row.cost;
    const double share = 100 * static_cast<double>(cost.visible_pairs) / static_cast<double>(cost.pairs);
    TableRow cells = {row.value == before ? "" : with_commas(row.value),
                      row.mechanism,
                      fmt::format("{:.3g} %", share),
                      flops_text(cost.flops),
                      bytes_text(cost.bytes()),
                      intensity_text(cost.intensity()),
                      bytes_text(cost.added_memory),
                      bytes_text(cost.cache_bytes)};
    if (row.time)
      for (const double seconds : {row.time->median, row.time->fastest, row.time->slowest})
        cells.push_back(milliseconds(seconds));
    rows.push_back(std::move(cells));
    before = row.value;
  }
  return table(rows, right);
}

Json comparison_json(const AttentionComparison& comparison) {
  const AttentionWorkload& work = comparison.work;
  const AttentionSize size = work.layer.size();
  Json rows = Json::array();
  for (const ComparedAttention& row : comparison.rows) {
    const AttentionCost& cost = row.cost;
    Json one = {{"mechanism", row.mechanism},
                {std::string(name_of(comparison.sweep.axis)), row.value},
                {"pairs", cost.pairs},
                {"visible_pairs", cost.visible_pairs},
                {"flops", cost.flops},
                {"bytes", cost.bytes()},
                {"intensity", cost.intensity()},
                {"added_memory_bytes", cost.added_memory},
                {"cache_bytes", cost.cache_bytes}};
    if (row.time)
      one["seconds"] = {{"median", row.time->median},
                        {"fastest", row.time->fastest},
                        {"slowest", row.time->slowest},
                        {"calls", row.time->calls}};
    rows.push_back(std::move(one));
  }
  return {{"sweep", std::string(name_of(comparison.sweep.axis))},
          {"batch", work.batch},
          {"heads", size.heads},
          {"kv_heads", size.kv_heads},
          {"head_width", size.head_width},
          {"queries", work.queries},
          {"keys", work.keys},
          {"causal", size.use == AttentionUse::decoder},
          {"rows", std::move(rows)}};
}

}  // namespace qkv
