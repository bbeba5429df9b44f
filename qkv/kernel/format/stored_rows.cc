#include "qkv/kernel/format/stored_rows.h"

#include <algorithm>
#include <cstring>

namespace qkv {

StoredRows taken_rows(const StoredRows& from, const std::vector<int64_t>& rows) {
  StoredRows out{from.format, static_cast<int64_t>(rows.size()), from.K, {}};
  for (const int64_t row : rows)
    require(row >= 0 && row < from.rows, "stored rows", "a row must be 0 to {}, got {}", from.rows - 1, row);
  const auto apart = [](int64_t a, int64_t b) { return b != a + 1; };
  if (!rows.empty() && std::adjacent_find(rows.begin(), rows.end(), apart) == rows.end()) {
    out.bytes = std::shared_ptr<const std::byte>(from.bytes, from.bytes.get() + rows.front() * from.row_bytes());
    return out;
  }
  const auto size = static_cast<size_t>(from.row_bytes());
  const std::shared_ptr<std::byte[]> copy(new std::byte[rows.size() * size]);
  for (size_t i = 0; i < rows.size(); ++i) std::memcpy(copy.get() + i * size, from.row(rows[i]), size);
  out.bytes = std::shared_ptr<const std::byte>(copy, copy.get());
  return out;
}

}  // namespace qkv
