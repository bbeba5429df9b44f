#include "qkv/kernel/format/iq4_nl.h"

#include "qkv/kernel/format/five_bits.h"
#include "qkv/kernel/format/scale_search.h"
#include "qkv/kernel/format/table_search.h"

namespace qkv {
bool encode_iq4_nl(const float* x, BlockNumbers& to) {
  if (!fits_search(largest_magnitude(x, 32))) return false;
  if (!to.d.store(table_scale_for(x))) return false;
  const float inverse = inverse_or_zero(to.d.value());
  for (int j = 0; j < 32; ++j) to.numbers[j] = static_cast<uint8_t>(nearest_in_table(x[j] * inverse));
  return true;
}

void put_together_iq4_nl(const BlockNumbers& from, uint8_t* block) {
  auto& to = *reinterpret_cast<BlockIQ4_NL*>(block);
  to.d = from.d;
  store_four_bits(from.numbers, to.q);
}

void take_apart_iq4_nl(const uint8_t* block, BlockNumbers& to) {
  const auto& from = *reinterpret_cast<const BlockIQ4_NL*>(block);
  to.d = from.d;
  take_four_bits(from.q, to.numbers);
}

}  // namespace qkv
