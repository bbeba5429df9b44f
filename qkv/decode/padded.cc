#include "qkv/decode/padded.h"

#include "qkv/text/batches.h"

namespace qkv {

Padded padded(std::span<const std::vector<int32_t>> rows, const PaddedOptions& options) {
  const int32_t extra = (options.before ? 1 : 0) + (options.after ? 1 : 0);
  Padded out;
  std::vector<std::span<const int32_t>> views;
  for (const std::vector<int32_t>& row : rows) {
    views.emplace_back(row);
    out.lengths.push_back(static_cast<int32_t>(row.size()) + extra);
  }
  out.ids = pad_ids(views, options.before, options.after);
  return out;
}

}  // namespace qkv
