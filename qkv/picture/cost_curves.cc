#include "qkv/picture/cost_curves.h"

#include <algorithm>
#include <string>
#include <utility>

namespace qkv {
namespace {

struct Quantity {
  const char* title;
  double value;
};
using Quantities = std::vector<Quantity>;

Quantities quantities(const AttentionCost& cost) {
  return {{"FLOPs of a forward", cost.flops},
          {"bytes read and written", cost.bytes()},
          {"FLOP per byte", cost.intensity()},
          {"added memory, bytes", cost.added_memory},
          {"KV cache, bytes", cost.cache_bytes}};
}

Quantities quantities(const ModelCost& cost) {
  return {{"FLOPs of a forward", cost.flops},
          {"bytes read and written", cost.bytes},
          {"FLOP per byte", cost.intensity()},
          {"bytes of the weights", cost.weight_bytes},
          {"KV cache, bytes", cost.cache_bytes}};
}

// A panel for each quantity.
class LogarithmicCurves {
 public:
  explicit LogarithmicCurves(const std::string& x_title) : content_{.x_title = x_title, .logarithmic = true} {}

  void add(const std::string& run, double x, const Quantities& values) {
    const auto at = std::ranges::find(content_.runs, run);
    const auto index = static_cast<size_t>(at - content_.runs.begin());
    if (at == content_.runs.end()) content_.runs.push_back(run);
    for (const Quantity& quantity : values) {
      std::vector<Curve>& curves = panel(quantity.title).curves;
      curves.resize(std::max(curves.size(), index + 1));
      curves[index].push_back({x, quantity.value});
    }
  }
  Curves curves() && { return Curves(std::move(content_)); }

 private:
  CurvePanel& panel(const char* title) {
    std::vector<CurvePanel>& panels = content_.panels;
    const auto at = std::ranges::find(panels, title, &CurvePanel::title);
    return at == panels.end() ? panels.emplace_back(CurvePanel{.title = title}) : *at;
  }

  CurvesContent content_;
};

}  // namespace

Curves comparison_curves(const AttentionComparison& comparison) {
  LogarithmicCurves curves(title_of(comparison.sweep.axis));
  for (const ComparedAttention& row : comparison.rows) {
    Quantities values = quantities(row.cost);
    if (row.time) values.push_back({"milliseconds", 1e3 * row.time->median});
    curves.add(row.mechanism, static_cast<double>(row.value), values);
  }
  return std::move(curves).curves();
}

Curves growth_curves(const std::vector<AttentionGrowth>& growth) {
  LogarithmicCurves curves("times the given size");
  for (const AttentionGrowth& row : growth)
    curves.add(title_of(row.axis), static_cast<double>(row.factor), quantities(row.cost));
  return std::move(curves).curves();
}

Curves growth_curves(const std::vector<ModelGrowth>& growth) {
  LogarithmicCurves curves("times the given size");
  for (const ModelGrowth& row : growth)
    curves.add(std::string(row.size), static_cast<double>(row.factor), quantities(row.cost));
  return std::move(curves).curves();
}

}  // namespace qkv
