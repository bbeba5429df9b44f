#include "qkv/kernel/format/stored_format.h"

#include "qkv/kernel/format/iq4_nl.h"
#include "qkv/kernel/format/iq4_xs.h"
#include "qkv/kernel/format/q2_k.h"
#include "qkv/kernel/format/q3_k.h"
#include "qkv/kernel/format/q4_0.h"
#include "qkv/kernel/format/q4_1.h"
#include "qkv/kernel/format/q4_k.h"
#include "qkv/kernel/format/q5_0.h"
#include "qkv/kernel/format/q5_1.h"
#include "qkv/kernel/format/q5_k.h"
#include "qkv/kernel/format/q6_k.h"
#include "qkv/kernel/format/q8_0.h"

namespace qkv {
namespace {

struct Functions {
  bool (*encode)(const float*, BlockNumbers&);
  void (*put_together)(const BlockNumbers&, uint8_t*);
  void (*take_apart)(const uint8_t*, BlockNumbers&);
};
constexpr StoredFormat row_of(WeightFormat format, const char* name, const Functions& f) {
  const WeightBlock block = block_of(format);
  return {format, name, block.numbers, block.bytes, f.encode, f.put_together, f.take_apart};
}

constexpr StoredFormat stored_formats[] = {
    row_of(WeightFormat::q8_0, "q8_0", {encode_q8_0, put_together_q8_0, take_apart_q8_0}),
    row_of(WeightFormat::q4_0, "q4_0", {encode_q4_0, put_together_q4_0, take_apart_q4_0}),
    row_of(WeightFormat::q4_1, "q4_1", {encode_q4_1, put_together_q4_1, take_apart_q4_1}),
    row_of(WeightFormat::q5_0, "q5_0", {encode_q5_0, put_together_q5_0, take_apart_q5_0}),
    row_of(WeightFormat::q5_1, "q5_1", {encode_q5_1, put_together_q5_1, take_apart_q5_1}),
    row_of(WeightFormat::q2_k, "q2_k", {encode_q2_k, put_together_q2_k, take_apart_q2_k}),
    row_of(WeightFormat::q3_k, "q3_k", {encode_q3_k, put_together_q3_k, take_apart_q3_k}),
    row_of(WeightFormat::q4_k, "q4_k", {encode_q4_k, put_together_q4_k, take_apart_q4_k}),
    row_of(WeightFormat::q5_k, "q5_k", {encode_q5_k, put_together_q5_k, take_apart_q5_k}),
    row_of(WeightFormat::q6_k, "q6_k", {encode_q6_k, put_together_q6_k, take_apart_q6_k}),
    row_of(WeightFormat::iq4_nl, "iq4_nl", {encode_iq4_nl, put_together_iq4_nl, take_apart_iq4_nl}),
    row_of(WeightFormat::iq4_xs, "iq4_xs", {encode_iq4_xs, put_together_iq4_xs, take_apart_iq4_xs}),
};

void decode_block(const kernel::BlockLayout& layout, const BlockNumbers& from, float* y) {
  const float d = from.d.value(), minimum = from.minimum.value();
  for (int g = 0; g < layout.groups(); ++g) {
    const float scale = layout.group_scales ? d * static_cast<float>(from.scales[g]) : d;
    const float offset = layout.group_scales ? minimum * static_cast<float>(from.minimums[g]) : minimum;
    for (int j = g * layout.group; j < (g + 1) * layout.group; ++j) {
      const int q = layout.has_table ? kernel::iq4_nl_table[from.numbers[j]] : from.numbers[j] - layout.zero;
      y[j] = scale * static_cast<float>(q);
      if (layout.has_minimum) y[j] -= offset;
    }
  }
}

const StoredFormat* find_stored_format(WeightFormat format) {
  for (const StoredFormat& row : stored_formats)
    if (row.format == format) return &row;
  return nullptr;
}

}  // namespace

bool has_blocks(WeightFormat format) { return find_stored_format(format) != nullptr; }

const StoredFormat& stored_format(WeightFormat format) {
  const StoredFormat* found = find_stored_format(format);
  require(found != nullptr, "stored format", "the format must have blocks, got {}", name_of(format));
  return *found;
}

int64_t row_bytes(const StoredFormat& format, int64_t K) {
  require(K >= 0 && K % format.block == 0, "stored format", "a row of {} must be a multiple of {} numbers, got {}",
          format.name, format.block, K);
  return K / format.block * format.block_bytes;
}

bool encode_row(const StoredFormat& format, const float* x, int64_t K, uint8_t* to) {
  const int64_t blocks = row_bytes(format, K) / format.block_bytes;
  BlockNumbers numbers;
  for (int64_t b = 0; b < blocks; ++b) {
    if (!format.encode(x + b * format.block, numbers)) return false;
    format.put_together(numbers, to + b * format.block_bytes);
  }
  return true;
}

void decode_row(const StoredFormat& format, const uint8_t* from, int64_t K, float* y) {
  const int64_t blocks = row_bytes(format, K) / format.block_bytes;
  const kernel::BlockLayout& layout = kernel::layout_of(format.format);
  BlockNumbers numbers;
  for (int64_t b = 0; b < blocks; ++b, from += format.block_bytes, y += format.block) {
    format.take_apart(from, numbers);
    decode_block(layout, numbers, y);
  }
}

}  // namespace qkv
