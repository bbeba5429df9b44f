// Products of quantised activations by unpacked weights (quantized_kernels.h).
#include "qkv/kernel/isa/quantized/columns.h"
#include "qkv/kernel/isa/quantized/functions.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

namespace {

// Rows that are computed at a time: their sums fit the registers.
constexpr int max_rows = lanes == 16 ? 8 : 4 / parts * 2;

// Row r of the result from its 16 sums.
QKV_INLINE void write_row(const QuantizedResult& out, int64_t r, vf (&y)[parts]) {
  float* const c = out.c + r * out.row_stride;
#pragma GCC unroll 4
  for (int p = 0; p < parts; ++p) {
    const int64_t left = out.columns - p * lanes;
    if (left <= 0) return;
    const bool whole = left >= lanes;
    const auto get = [&](const float* at) {
      return whole ? load(at + p * lanes) : load_part(at + p * lanes, static_cast<int>(left));
    };
    if (out.bias) y[p] += get(out.bias);
    if (out.accumulate) y[p] += get(c);
    if (out.relu) y[p] = max(vf{}, y[p]);
    if (whole)
      store(c + p * lanes, y[p]);
    else
      store_part(c + p * lanes, y[p], static_cast<int>(left));
  }
}

// sums[r][p] += the products of `count` steps. Few rows are summed in several chains, since an instruction waits for the
// one before it in its chain.
template <int rows, bool wide>
QKV_INLINE void add_steps(const int8_t* a, int64_t a_stride, const uint8_t* weights, int64_t count,
                          vi (&sums)[rows][parts]) {
  constexpr int chains = rows == 1 ? 4 : rows == 2 ? 2 : 1;
  vi chain[chains][rows][parts] = {};
  int64_t s = 0;
  for (; s + chains <= count; s += chains)
#pragma GCC unroll 4
    for (int i = 0; i < chains; ++i)
#pragma GCC unroll 4
      for (int p = 0; p < parts; ++p) {
        const auto w = weights_of_step<wide>(weights + (s + i) * step_bytes + p * part_bytes);
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r)
          chain[i][r][p] = dot(chain[i][r][p], w, four_bytes(a + r * a_stride + (s + i) * step_depth));
      }
  for (; s < count; ++s)
#pragma GCC unroll 4
    for (int p = 0; p < parts; ++p) {
      const auto w = weights_of_step<wide>(weights + s * step_bytes + p * part_bytes);
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r)
        chain[0][r][p] = dot(chain[0][r][p], w, four_bytes(a + r * a_stride + s * step_depth));
    }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int p = 0; p < parts; ++p)
#pragma GCC unroll 4
      for (int i = 0; i < chains; ++i) sums[r][p] += chain[i][r][p];
}

template <int rows>
void int8_tile(const Int8Product& p, int64_t row) {
  vi sums[rows][parts];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < parts; ++v)
      sums[r][v] = broadcast_i(wide_needs_offset ? p.a.offsets[(row + r) * p.a.group_stride] : 0);
  add_steps<rows, true>(p.a.numbers + row * p.a.stride, p.a.stride, p.panel, p.steps, sums);
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
    const vf scale = broadcast(p.a.scales[(row + r) * p.a.scale_stride]);
    vf y[parts];
#pragma GCC unroll 4
    for (int v = 0; v < parts; ++v)
      y[v] = __builtin_convertvector(sums[r][v], vf) * load(p.scales + v * lanes) * scale;
    write_row(p.result, row + r, y);
  }
}

template <int rows, int group, bool wide>
void block_tile(const BlockProduct& p, int64_t row) {
  constexpr int steps = group / step_depth, groups_of_scale = scale_depth / group;
  const bool needs_offset = !wide || wide_needs_offset;
  vf total[rows][parts];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < parts; ++v)
      total[r][v] = p.first ? vf{} : load(p.totals + (row + r) * quantized_width + v * lanes);
  const int8_t* a = p.a.numbers + row * p.a.stride;
  const uint8_t* numbers = p.chunk.numbers;
  const float* scales = p.chunk.scales;
  const float* minimums = p.chunk.minimums;
  for (int64_t g = 0; g < p.groups; ++g) {
    const int32_t* const offsets = p.a.offsets + row * p.a.group_stride + g;
    vi sums[rows][parts];
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < parts; ++v) sums[r][v] = needs_offset ? broadcast_i(offsets[r * p.a.group_stride]) : vi{};
#pragma GCC unroll 8
    for (int s = 0; s < steps; ++s)
#pragma GCC unroll 4
      for (int v = 0; v < parts; ++v) {
        const auto w = weights_of_step<wide>(numbers + s * step_bytes + v * part_bytes);
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r)
          sums[r][v] = dot(sums[r][v], w, four_bytes(a + r * p.a.stride + s * step_depth));
      }
    const float* const a_scales = p.a.scales + row * p.a.scale_stride + g / groups_of_scale;
#pragma GCC unroll 4
    for (int v = 0; v < parts; ++v) {
      const vf scale = load(scales + v * lanes);
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r)
        total[r][v] = fused_multiply_add(__builtin_convertvector(sums[r][v], vf) * scale,
                                         broadcast(a_scales[r * p.a.scale_stride]), total[r][v]);
    }
    if (minimums) {
      const float* const a_sums = p.a.sums + row * p.a.group_stride + g;
#pragma GCC unroll 4
      for (int v = 0; v < parts; ++v) {
        const vf minimum = load(minimums + v * lanes);
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r)
          total[r][v] = fused_multiply_add(minimum, broadcast(a_sums[r * p.a.group_stride]), total[r][v]);
      }
      minimums += quantized_width;
    }
    a += group, numbers += steps * step_bytes, scales += quantized_width;
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
    if (p.last) {
      write_row(p.result, row + r, total[r]);
      continue;
    }
#pragma GCC unroll 4
    for (int v = 0; v < parts; ++v) store(p.totals + (row + r) * quantized_width + v * lanes, total[r][v]);
  }
}

// tile(rows, first row) for all rows: tiles of max_rows, then of 4, 2 and 1.
template <class Tile>
QKV_INLINE void for_each_tile(int64_t rows, Tile tile) {
  int64_t row = 0;
  if constexpr (max_rows == 8)
    for (; rows - row >= 8; row += 8) tile.template operator()<8>(row);
  if constexpr (max_rows >= 4)
    for (; rows - row >= 4; row += 4) tile.template operator()<4>(row);
  for (; rows - row >= 2; row += 2) tile.template operator()<2>(row);
  if (row < rows) tile.template operator()<1>(row);
}

template <int group, bool wide>
void multiply_groups(const BlockProduct& p) {
  for_each_tile(p.rows, [&]<int rows>(int64_t row) { block_tile<rows, group, wide>(p, row); });
}

}  // namespace

void multiply_int8(const Int8Product& p) {
  for_each_tile(p.rows, [&]<int rows>(int64_t row) { int8_tile<rows>(p, row); });
}

void multiply_blocks(const BlockLayout& layout, const BlockProduct& p) {
  if (layout.group == 16) return multiply_groups<16, false>(p);
  if (layout.is_wide()) return multiply_groups<32, true>(p);
  multiply_groups<32, false>(p);
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
