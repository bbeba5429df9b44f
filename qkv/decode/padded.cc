#include "qkv/decode/padded.h"

#include <algorithm>

namespace qkv {

Padded padded(std::span<const std::vector<int32_t>> rows, const PaddedOptions& options) {
  const int32_t extra = (options.before >= 0) + (options.after >= 0);
  Padded out;
  int32_t longest = 1;
  for (const std::vector<int32_t>& row : rows) {
    out.lengths.push_back(static_cast<int32_t>(row.size()) + extra);
    longest = std::max(longest, out.lengths.back());
  }
  out.ids = Tensor::zeros({static_cast<int64_t>(rows.size()), longest}, DType::i32);
  int32_t* to = out.ids.data<int32_t>();
  for (size_t b = 0; b < rows.size(); ++b, to += longest) {
    int32_t* at = to;
    if (options.before >= 0) *at++ = options.before;
    at = std::copy(rows[b].begin(), rows[b].end(), at);
    if (options.after >= 0) *at = options.after;
  }
  return out;
}

}  // namespace qkv
