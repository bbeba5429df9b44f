#include "qkv/decode/padded.h"

#include <algorithm>

#include "qkv/text/batches.h"

namespace qkv {

Padded padded(std::span<const std::vector<int32_t>> rows, const PaddedOptions& options) {
  const int32_t extra = (options.before ? 1 : 0) + (options.after ? 1 : 0);
  Padded out;
  std::vector<std::span<const int32_t>> views;
  // A row of nothing but padding makes the rectangle as wide as asked.
  const std::vector<int32_t> widest(static_cast<size_t>(std::max<int64_t>(0, options.at_least - extra)));
  for (const std::vector<int32_t>& row : rows) {
    views.emplace_back(row);
    out.lengths.push_back(static_cast<int32_t>(row.size()) + extra);
  }
  views.emplace_back(widest);
  out.ids = pad_ids(views, options.before, options.after).slice(0, 0, static_cast<int64_t>(rows.size()));
  return out;
}

}  // namespace qkv
