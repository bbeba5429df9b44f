// Products of tiles of bf16 on AMX: C in two by two tile registers. Whole squares of A, B and C are used in place;
// edges, and an A that is read along columns, are copied into squares first.

#include "qkv/kernel/isa/amx_tiles.h"
#include "qkv/kernel/isa/bf16/functions.h"
#include "qkv/kernel/isa/tile_update.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {
namespace {

constexpr int64_t max_depth = 256;  // units: 512 columns
constexpr int64_t square_size = square * square;

struct Operand {
  const float* first;
  int64_t stride, step;  // of a row, and from a square to the next one along the depth
};

// Rows [0, rows) of A, at most 16, as squares along the depth.
Operand squares_of_a(const TileProduct& t, const float* a, int64_t rows, float* memory) {
  const bool along_rows = t.a_column_stride == 1;
  if (along_rows && rows == square && t.depth % square == 0) return {a, t.a_row_stride, square};
  for (int64_t k = 0; k < t.depth; k += square) {
    const int depth = static_cast<int>(t.depth - k < square ? t.depth - k : square);
    vf x[square];
    if (along_rows) {
      for (int r = 0; r < square; ++r) {
        const float* row = a + r * t.a_row_stride + k;
        x[r] = r >= rows ? vf{} : depth == square ? load(row) : load_part(row, depth);
      }
    } else {
      for (int r = 0; r < square; ++r) {
        const float* column = a + (k + r) * t.a_column_stride;
        x[r] = r >= depth ? vf{} : rows == square ? load(column) : load_part(column, static_cast<int>(rows));
      }
      transpose(x);
    }
    for (int r = 0; r < square; ++r) store(memory + k * square + r * square, x[r]);
  }
  return {memory, square, square_size};
}

// The last rows of sixteen columns of B as a square: zero after the last row, whatever the memory holds there.
void last_square_of_b(const TileProduct& t, const float* b, float* memory) {
  const int64_t from = t.depth / square * square;
  for (int64_t r = 0; r < square; ++r)
    store(memory + r * square, from + r < t.depth ? load(b + (from + r) * t.b_row_stride) : vf{});
}

// Adds sums to C if they cannot be stored from their registers.
template <Update update>
void write_square(const TileProduct& t, const float* sums, const float* factor, int64_t rows, float* c) {
  for (int64_t r = 0; r < rows; ++r) {
    float* to = c + r * t.c_row_stride;
    vf v = load(sums + r * square);
    if (update == Update::overwrite) v *= t.scale;
    if (update == Update::add) v += load(to);
    if (update == Update::rescale) v += load(to) * load(factor);
    store(to, v);
  }
}

// Two squares of rows by one or two of columns. If `whole`, C is loaded and stored as tiles: it has all rows, and
// is overwritten without a scale, or added to.
template <bool two_columns, Update update, bool whole>
void block(const TileProduct& t, const Operand (&a)[2], const float* b, int64_t rows, const float* factor,
           float* c) {
  const int64_t stride = t.c_row_stride;
  float* lower_c = c + square * stride;
  if (whole && update == Update::add) {
    tile_load<0>(c, stride);
    tile_load<1>(lower_c, stride);
    if (two_columns) tile_load<2>(c + square, stride);
    if (two_columns) tile_load<3>(lower_c + square, stride);
  } else {
    tile_zero<0>();
    tile_zero<1>();
    tile_zero<2>();
    tile_zero<3>();
  }
  alignas(64) float last[2][square_size];
  const int64_t squares = t.depth / square;
  if (t.depth % square) {
    last_square_of_b(t, b, last[0]);
    if (two_columns) last_square_of_b(t, b + square, last[1]);
  }
  for (int64_t k = 0; k * square < t.depth; ++k) {
    tile_load<4>(a[0].first + k * a[0].step, a[0].stride);
    tile_load<5>(a[1].first + k * a[1].step, a[1].stride);
    const bool inside = k < squares;
    const float* from = b + k * square * t.b_row_stride;
    tile_load<6>(inside ? from : last[0], inside ? t.b_row_stride : square);
    tile_multiply_add<0, 4, 6>();
    tile_multiply_add<1, 5, 6>();
    if (two_columns) {
      tile_load<7>(inside ? from + square : last[1], inside ? t.b_row_stride : square);
      tile_multiply_add<2, 4, 7>();
      tile_multiply_add<3, 5, 7>();
    }
  }
  if (whole) {
    tile_store<0>(c, stride);
    tile_store<1>(lower_c, stride);
    if (two_columns) tile_store<2>(c + square, stride);
    if (two_columns) tile_store<3>(lower_c + square, stride);
    return;
  }
  alignas(64) float sums[4][square_size];
  tile_store<0>(sums[0], square);
  tile_store<1>(sums[1], square);
  const int64_t upper = rows < square ? rows : square, lower = rows - upper;
  write_square<update>(t, sums[0], factor, upper, c);
  write_square<update>(t, sums[1], factor, lower, lower_c);
  if (!two_columns) return;
  tile_store<2>(sums[2], square);
  tile_store<3>(sums[3], square);
  const float* right = update == Update::rescale ? factor + square : nullptr;
  write_square<update>(t, sums[2], right, upper, c + square);
  write_square<update>(t, sums[3], right, lower, lower_c + square);
}

template <Update update, bool whole>
void two_rows(const TileProduct& t, const Operand (&a)[2], int64_t rows, const float* factor, float* c) {
  for (int64_t n = 0; n < t.width; n += 2 * square) {
    const float* f = update == Update::rescale ? factor + n : nullptr;
    if (n + square < t.width)
      block<true, update, whole>(t, a, t.b + n, rows, f, c + n);
    else
      block<false, update, whole>(t, a, t.b + n, rows, f, c + n);
  }
}

template <Update update>
void product(const TileProduct& t, const float* factor) {
  if (update == Update::overwrite && t.bias) {  // tiles are loaded with it
    for (int64_t m = 0; m < t.rows; ++m)
      for (int64_t n = 0; n < t.width; n += lanes) store(t.c + m * t.c_row_stride + n, load(t.bias + n));
    product<Update::add>(t, factor);
    return;
  }
  alignas(64) float memory[2][max_depth * square];
  for (int64_t m = 0; m < t.rows; m += 2 * square) {
    const int64_t rows = t.rows - m < 2 * square ? t.rows - m : 2 * square, upper = rows < square ? rows : square;
    const float* first = t.a + m * t.a_row_stride;
    const Operand a[2] = {squares_of_a(t, first, upper, memory[0]),
                          squares_of_a(t, rows > square ? first + square * t.a_row_stride : first,
                                       rows > square ? rows - square : upper, memory[1])};
    float* c = t.c + m * t.c_row_stride;
    const bool plain = update == Update::add || (update == Update::overwrite && t.scale == 1.0f);
    if (plain && rows == 2 * square)
      two_rows<update, update != Update::rescale>(t, a, rows, factor, c);
    else
      two_rows<update, false>(t, a, rows, factor, c);
  }
}

}  // namespace

void begin_products() { configure_tiles(); }
void end_products() { release_tiles(); }
TileProducts bf16_products() {
  return tile_products(
      []<Update update>(const TileProduct& t, const float* factor) { product<update>(t, factor); });
}
const bool columns_as_rows = true;

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
