#include "qkv/published/tensor_names.h"

#include <algorithm>
#include <numeric>

namespace qkv {

std::vector<int64_t> row_range(int64_t begin, int64_t end) {
  std::vector<int64_t> rows(static_cast<size_t>(end - begin));
  std::iota(rows.begin(), rows.end(), begin);
  return rows;
}

FusedRows fused_rows(int64_t groups, int64_t queries, int64_t width) {
  FusedRows rows;
  int64_t next = 0;
  const auto take = [&](std::vector<int64_t>& to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to.push_back(next++);
  };
  for (int64_t group = 0; group < groups; ++group) {
    take(rows.query, queries * width);
    take(rows.key, width);
    take(rows.value, width);
  }
  return rows;
}

void TensorNames::tensor(const std::string& parameter, const std::string& name, const TensorPart& part) {
  sources_[parameter] = {.name = name, .part = part};
}

void TensorNames::fused_attention(const std::string& layer, const std::string& name, const FusedRows& rows,
                                  bool transposed) {
  linear(layer + ".query", name, {.rows = rows.query, .transposed = transposed});
  linear(layer + ".key", name, {.rows = rows.key, .transposed = transposed});
  linear(layer + ".value", name, {.rows = rows.value, .transposed = transposed});
}

void TensorNames::ignore(const std::string& suffix) { ignored_.push_back(suffix); }

void TensorNames::linear(const std::string& layer, const std::string& name, const TensorPart& part) {
  tensor(layer + ".weight", name + ".weight", part);
  tensor(layer + ".bias", name + ".bias", {.rows = part.rows});
}

bool TensorNames::ignores(std::string_view name) const {
  return std::any_of(ignored_.begin(), ignored_.end(),
                     [&](const std::string& suffix) { return name.ends_with(suffix); });
}

}  // namespace qkv
