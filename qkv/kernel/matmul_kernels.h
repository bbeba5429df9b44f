// The kernels of matrix products. Callers use matmul.h.
//
// b (K x N) is packed into panels of `width` columns; a panel holds its K rows one after another, columns after
// the last one are zero. a (M x K) is read in place, or packed too: in tiles of at most `rows` rows, a tile holding
// its K columns one after another. An element of c is one chain of multiply-adds over k, in order, in any block: so
// the bits of a row do not depend on its neighbors.
//
// The elements of a panel are floats or bf16 (uint16_t). bf16 is widened to floats, in registers or, where many
// rows share it, once beforehand: a product has the same bits as one by the same numbers as floats. The bf16
// instructions of a processor (AVX512_BF16, AMX) are not used here: they would also round a to bf16, and sum in
// another order.
#pragma once

#include <cstdint>

namespace qkv::kernel {

// c (rows x columns) (+)= a (rows x depth) times a part of one panel, `depth` rows of it.
template <class Element>
struct PanelProduct {
  const float* a;
  int64_t a_row_stride, a_column_stride;
  bool a_packed;  // by pack_rows(): the strides are ignored
  int64_t rows, depth;
  const Element* panel;
  int64_t panel_stride;  // from row to row: `width` of a packed one
  const Element* next =
      nullptr;  // what the next product reads, as much as this one; null: nothing that is in memory
  float* c;
  int64_t c_row_stride;
  int64_t columns;    // 1 .. width
  bool accumulate;    // start from c, else from 0
  const float* bias;  // added at the end, unless null
  bool relu;
};

template <class Element>
struct PanelKernels {
  void (*multiply)(const PanelProduct<Element>& product);
  // One panel of b: its element (k, n) is b[k * row_stride + n * column_stride], n < columns <= width.
  void (*pack)(const Element* b, int64_t row_stride, int64_t column_stride, int64_t depth, int64_t columns,
               Element* panel);
};

// c (rows x columns) (+)= a (rows x depth) times the transpose of rows of a weight as they stand in memory: element (k, n)
// of b is weight[n * weight_stride + k], at any address that suits its type.
template <class Element>
struct WeightRowsProduct {
  const float* a;
  int64_t a_row_stride, a_column_stride;
  int64_t rows, depth;
  const Element* weight;
  int64_t weight_stride;
  float* c;
  int64_t c_row_stride;
  int64_t columns;    // any number: rows of the weight
  bool accumulate;    // start from c, else from 0
  const float* bias;  // added at the end, unless null
  bool relu;
};

template <class Element>
struct WeightRowKernels {
  // For few rows of a: numbers of the weight are transposed in registers.
  void (*multiply)(const WeightRowsProduct<Element>& product);
  // For many: an f32 panel of columns <= width rows of the weight.
  void (*transpose)(const Element* weight, int64_t weight_stride, int64_t columns, int64_t depth, float* panel);
};

struct MatmulKernels {
  int width;  // columns of a panel
  int rows;   // rows that are computed at a time: cut at multiples of it
  PanelKernels<float> f32;
  PanelKernels<uint16_t> bf16;
  // Rows of a transposed factor: its element (i, k) is a[i + k * column_stride]. Takes rows * depth floats.
  void (*pack_rows)(const float* a, int64_t column_stride, int64_t rows, int64_t depth, float* tiles);
  void (*widen)(const uint16_t* panel, int64_t depth,
                float* floats);  // rows of a bf16 panel as those of an f32 one
  WeightRowKernels<float> f32_rows;
  WeightRowKernels<uint16_t> bf16_rows;

  template <class Element>
  const PanelKernels<Element>& of() const {
    if constexpr (sizeof(Element) == 4)
      return f32;
    else
      return bf16;
  }
  template <class Element>
  const WeightRowKernels<Element>& rows_of() const {
    if constexpr (sizeof(Element) == 4)
      return f32_rows;
    else
      return bf16_rows;
  }
};

}  // namespace qkv::kernel
