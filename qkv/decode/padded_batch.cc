#include "qkv/decode/padded_batch.h"

#include <algorithm>

#include "qkv/text/batches.h"

namespace qkv {

PaddedBatch pad_batch(std::span<const std::vector<int32_t>> rows, const PadBatchOptions& options) {
  const int32_t added = (options.prepend ? 1 : 0) + (options.append ? 1 : 0);
  PaddedBatch out;
  std::vector<std::span<const int32_t>> views;
  // An additional row of min_length, which is cut off again.
  const std::vector<int32_t> shortest(static_cast<size_t>(std::max<int64_t>(0, options.min_length - added)));
  for (const std::vector<int32_t>& row : rows) {
    views.emplace_back(row);
    out.lengths.push_back(static_cast<int32_t>(row.size()) + added);
  }
  views.emplace_back(shortest);
  TextFrame frame;
  if (options.prepend) frame.before.push_back(*options.prepend);
  if (options.append) frame.after.push_back(*options.append);
  out.ids = pad_ids(views, frame, Tokenizer::pad).slice(0, 0, static_cast<int64_t>(rows.size()));
  return out;
}

}  // namespace qkv
