// Products of int8: a scale for each row of activations and each column.
#include "qkv/kernel/isa/quantized/functions.h"
#include "qkv/kernel/isa/quantized/tiles.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

namespace {

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
        const auto w = weights_of_step<wide>(load_bytes(weights + (s + i) * step_bytes + p * part_bytes));
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r)
          chain[i][r][p] = dot(chain[i][r][p], w, four_bytes(a + r * a_stride + (s + i) * step_depth));
      }
  for (; s < count; ++s)
#pragma GCC unroll 4
    for (int p = 0; p < parts; ++p) {
      const auto w = weights_of_step<wide>(load_bytes(weights + s * step_bytes + p * part_bytes));
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

}  // namespace

void multiply_int8(const Int8Product& p) {
  for_each_row_tile<max_rows>(p.rows, [&]<int rows>(int64_t row) { int8_tile<rows>(p, row); });
}

QuantizedKernels quantized_kernels() {
  return {.quantize = quantize, .multiply_int8 = multiply_int8, .blocks = block_kernels()};
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
